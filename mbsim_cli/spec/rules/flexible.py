"""Flexible bodies: names that exist, sizes and materials that exist in nature, choices that say one thing."""

from math import prod
from typing import Any

from mbsim_cli.spec.base import walk
from mbsim_cli.spec.densities import Field
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import names, parse
from mbsim_cli.spec.flexible import FlexibleFile, FlexibleTerms, NodeSet
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path

LOADS = ("rotation", "acceleration")  # that stiffen, beside forces at nodes
_RIGID = ("mass", "center_of_mass", "inertia", "shape")
_NOT_NEGATIVE = ("alpha", "beta", "ratio", "inner_radius")
PLACES = ("x", "y", "z")
MOST_ELEMENTS = 2_000_000
_ANY_SIGN = ("initial", "design", "origin", "x", "y", "z", "nearest", "poisson_ratio")


def check(review: Review) -> None:
    """Report what no flexible body can be made of."""
    for name, material in review.model.materials.items():
        _sizes(review, ("materials", name), material)
        ratio = review.value(material.poisson_ratio)
        if ratio is not None and not -1 < ratio < 0.5:
            review.report(("materials", name, "poisson_ratio"), f"must lie between -1 and 0.5, is {ratio:g}")
    for name, given in review.model.fields.items():
        _field(review, ("fields", name), given)
    for name, sensor in review.model.sensors.items():
        if sensor.type in ("strain_energy", "elastic_coordinate"):
            _deforming(review, ("sensors", name, "body"), sensor.body)
        elif sensor.type == "deformation":
            _deforming(review, ("sensors", name, "point"), sensor.point.partition(".")[0])
    for name, body in review.model.bodies.items():
        if body.flexible is not None:
            _body(review, name, body)


def _body(review: Review, name: str, body: Any) -> None:
    path, given = ("bodies", name, "flexible"), body.flexible
    _alone(review, name, body)
    if isinstance(given, FlexibleTerms):
        _sizes(review, (*path, "damping"), given.damping)
        _terms(review, path, given)
        return
    _sizes(review, path, given)
    if isinstance(given, FlexibleFile):
        _increasing(review, (*path, "modes"), given.modes)
    elif review.intact("bodies", name):
        _meshed(review, path, given)


def _deforming(review: Review, path: Path, name: str) -> None:
    body = review.model.bodies.get(name)
    if body is None and "." in name:
        review.report(path, f"{name!r} is no body that deforms", "name the body, not a node of it")
    elif body is not None and body.flexible is None:
        review.report(path, f"body {name!r} is rigid", "name a body that has 'flexible'")


def _field(review: Review, path: Path, given: Field) -> None:
    _sizes(review, path, given.filter)
    if (given.value is None) == (given.file is None):
        review.report(path, "a field has a value or a file", "give value: EXPRESSION, or file: NAME.h5", key=True)
    if given.dataset is not None and given.file is None:
        review.report((*path, "dataset"), "stands without 'file'", "name the HDF5 file that holds it", key=True)
    bounds = review.vector(given.bounds)
    if bounds is not None and bounds[0] > bounds[1]:
        review.report((*path, "bounds"), "the lower bound is greater than the upper bound")
    known = {*PLACES, *review.names("parameters"), *review.names("constants")}
    for name, offset in names(parse(given.value)).items() if given.value is not None else ():
        if name not in known:
            hint = review.suggest(name, known) or "x, y and z are the places of an element's centre"
            review.report((*path, "value"), f"unknown parameter or constant {name!r}", hint, offset)


def _alone(review: Review, name: str, body: Any) -> None:
    for key in _RIGID:
        if getattr(body, key) is not None:
            message = "stands beside 'flexible', whose mesh or file gives it"
            review.report(("bodies", name, key), message, "leave it out", key=True)


def _sizes(review: Review, path: Path, part: Any) -> None:
    """Report numbers that are not positive, but for places and factors."""
    for place, number in walk(part, path, Number):
        names = [key for key in place if isinstance(key, str)]
        value = review.value(number)
        if value is None or any(key in _ANY_SIGN for key in names[len(path) :]):
            continue
        if value < 0 or (value == 0 and names[-1] not in _NOT_NEGATIVE):
            wanted = "be negative" if names[-1] in _NOT_NEGATIVE else "be greater than zero"
            review.report(place, f"must {'not ' * (wanted == 'be negative')}{wanted}, is {value:g}")


def _meshed(review: Review, path: Path, body: Any) -> None:
    elements = getattr(body.mesh, "elements", 1)
    count = prod(elements) if isinstance(elements, list) else elements
    if count > MOST_ELEMENTS:
        review.report((*path, "mesh", "elements"), f"{count} elements are more than {MOST_ELEMENTS}")
    _material(review, path, body)
    if body.density is not None:
        review.known((*path, "density", "field"), body.density.name, "fields", "field")
        if body.mesh.type == "matrices":
            review.report((*path, "density"), "matrices have no elements", "leave it out", key=True)
    for name, given in body.sets.items():
        _set(review, (*path, "sets", name), given)
    for name, node in body.nodes.items():
        _named(review, (*path, "nodes", name, "set"), node.set, body.sets, "set")
        if name in LOADS:
            review.report((*path, "nodes", name), f"{name!r} means something else under stiffening", key=True)
    if not isinstance(body.frame, str):
        _frame(review, (*path, "frame"), body)
    _modes(review, (*path, "modes"), body)
    for index, what in enumerate(body.stiffening):
        _named(review, (*path, "stiffening", index), what, (*LOADS, *body.nodes), "load")


def _terms(review: Review, path: Path, body: FlexibleTerms) -> None:
    """Report sizes that do not fit the number of shapes, which Me tells."""
    n, terms = len(body.terms.Me), body.terms
    review.positive((*path, "terms", "mass"), terms.mass)
    first, coupling = getattr(terms.J, "M1", None), getattr(terms.Cr, "M1", None)
    second = getattr(terms.J, "M2", None)
    lists: dict[tuple[str | int, ...], Any] = {
        ("terms", "Ct"): terms.Ct,
        ("terms", "Cr"): terms.Cr if isinstance(terms.Cr, list) else terms.Cr.M0,
        ("terms", "Ke"): terms.Ke,
        ("terms", "J", "M1"): first,
        ("terms", "J", "M2"): second,
        ("terms", "Cr", "M1"): coupling,
    }
    lists |= {("terms", name, i): row for name in ("Me", "Ke") for i, row in enumerate(getattr(terms, name))}
    lists |= {("terms", "J", "M2", i): row for i, row in enumerate(second or ())}
    lists |= {("terms", "Cr", "M1", i): rows for i, rows in enumerate(coupling or ())}
    for name, node in body.nodes.items():
        lists |= {("nodes", name, key): getattr(node, key) for key in ("phi", "psi")}
    for place, entries in lists.items():
        if entries is not None and len(entries) != n:
            review.report((*path, *place), f"has {len(entries)} entries, not {n} as Me has rows")


def _material(review: Review, path: Path, body: Any) -> None:
    if body.mesh.type == "matrices":
        if body.material is not None:
            review.report((*path, "material"), "matrices have no material", "leave it out")
    elif body.material is None:
        review.report(path, "key 'material' is missing", key=True)
    else:
        review.known((*path, "material"), body.material, "materials", "material")


def _named(review: Review, path: Path, name: str, known: Any, what: str) -> None:
    if name not in known:
        review.report(path, f"unknown {what} {name!r}", review.suggest(name, known))


def _set(review: Review, path: Path, given: NodeSet) -> None:
    coordinates = [key for key in "xyz" if getattr(given, key) is not None]
    ways = [*(["coordinates"] if coordinates else []), *(key for key in ("group", "nearest") if getattr(given, key))]
    if len(ways) != 1:
        hint = "coordinates (x, y, z), a group of the mesh file, or the place that one node is nearest to"
        review.report(path, f"a set is chosen in one way, not by {' and '.join(ways) or 'nothing'}", hint, key=True)
    for key in coordinates:
        span = review.vector(value) if isinstance(value := getattr(given, key), list) else None
        if span is not None and span[0] > span[1]:
            review.report((*path, key), f"the range ends at {span[1]:g}, below its start {span[0]:g}")


def _increasing(review: Review, path: Path, modes: list[int] | None) -> None:
    if modes is not None and sorted(set(modes)) != modes:
        review.report(path, "the modes are to stand in increasing order, each once")


def _frame(review: Review, path: Path, body: Any) -> None:
    frame = body.frame
    if (frame.fixed is None) == (frame.chord is None):
        review.report(path, "the frame follows one thing", "give fixed: SET, chord: [NODE, NODE], or free", key=True)
    if frame.fixed is not None:
        _named(review, (*path, "fixed"), frame.fixed, body.sets, "set")
    for index, name in enumerate(frame.chord or ()):
        _named(review, (*path, "chord", index), name, body.nodes, "node")


def _modes(review: Review, path: Path, body: Any) -> None:
    modes = body.modes
    if (modes.count is None) == (modes.keep is None):
        review.report(path, "give count or keep", "the number of modes, or the list of those to keep", key=True)
    elif modes.count == 0 and not modes.static:
        review.report((*path, "count"), "the body has no shape to deform in", "more modes, or static shapes")
    _increasing(review, (*path, "keep"), modes.keep)
    for index, name in enumerate(modes.static):
        _named(review, (*path, "static", index), name, body.nodes, "node")
