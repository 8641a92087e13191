"""Bodies, rigid and flexible: masses, sizes, inertia tensors and directions that exist in nature."""

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from mbsim_cli.spec.bodies import SURFACES, Body, DesignVector, Inertia, Orientation
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import names, parse
from mbsim_cli.spec.families import Field, Flexible
from mbsim_cli.spec.geometry import Geometry, Vector, carries, cross, dot, mass_properties
from mbsim_cli.spec.joints import Joint
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.sensors import AngleSensor

if TYPE_CHECKING:
    from mbsim_cli.spec.constraints import Angle
    from mbsim_cli.spec.contacts import Bushing
    from mbsim_cli.spec.flexible import FlexibleMeshed, FlexibleTerms, NodeSet

_TOLERANCE = 1e-9
Matrix = list[list[float]]
Rows = Sequence[Sequence[Number]]


class _Known:
    """Values of numbers for a ``Geometry``; raises LookupError where one has none."""

    def __init__(self, review: Review):
        self._review = review

    def __call__(self, number: Number) -> float:
        if (value := self._review.value(number)) is None:
            raise LookupError
        return value

    def vector(self, numbers: Sequence[Number]) -> Vector:
        """Values of several numbers."""
        return tuple(map(self, numbers))


def _found(review: Review, read: Callable[[Geometry], tuple]) -> tuple | None:
    """Return a result of the geometry of the file, or None if a part that it needs is missing or wrong."""
    try:
        return read(Geometry(_Known(review), review.model))
    except (LookupError, ArithmeticError):
        return None


def local_point(review: Review, body: str, name: str) -> Vector | None:
    """Return a point's coordinates in the axes of a body; None where something is missing or wrong."""
    center = review.model.bodies[body].center_of_mass if name == "center_of_mass" else None
    if isinstance(center, str):
        return local_point(review, body, center) if center != name else None
    if name not in ("origin", "center_of_mass") and not carries(review.model.points.get(name), body):
        return None
    return _found(review, lambda geometry: geometry.point(body, name))


def local_vector(review: Review, body: str, name: str) -> Vector | None:
    """Return a vector's components in the axes of a body, as given; None where something is missing or wrong."""
    return _found(review, lambda geometry: geometry.vector(body, name))


def parallel(a: Vector, b: Vector) -> bool:
    """Whether two vectors are parallel, or one of them is zero."""
    return math.hypot(*cross(a, b)) <= _TOLERANCE * math.hypot(*a) * math.hypot(*b)


def positive_semidefinite(m: Matrix, scale: float) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue beyond round-off at ``scale``."""
    if scale == 0:
        return True
    a = [[entry / scale + (_TOLERANCE if i == j else 0.0) for j, entry in enumerate(row)] for i, row in enumerate(m)]
    # with the small shift every pivot of the elimination must stay positive
    for k in range(3):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, 3):
            factor = a[i][k] / a[k][k]
            for j in range(k, 3):
                a[i][j] -= factor * a[k][j]
    return True


_SYMMETRY = 1e-9
MEASURED = 0.1  # excess of a moment over the sum of the others that errors of measurement explain


def check(review: Review) -> None:
    """Report incomplete shapes and impossible inertias, and surfaces that cannot be drawn."""
    for name, body in review.model.bodies.items():
        path = ("bodies", name)
        if body.inertia is not None:
            _inertia(review, path, name, body)
        for number, visual in enumerate(body.visuals):
            if not visual.mesh.lower().endswith(SURFACES):
                place = (*path, "visuals", number, "mesh")
                hint = "a file .stl or .obj, to which others convert"
                review.report(place, f"pictures do not read {visual.mesh}", hint)
        if body.visuals and body.flexible is not None:
            review.report((*path, "visuals"), "a flexible body is drawn by its own mesh", "leave visuals out")
        if review.intact("bodies", name):
            _complete(review, path, body)


def _complete(review: Review, path: Path, body: Body) -> None:
    if body.shape is not None and body.shape.mass is None and body.mass is None:
        review.report((*path, "shape"), "key 'mass' is missing", "give it in the shape or in the body", key=True)
    if body.inertia is None and body.inertia_about != "center_of_mass":
        review.report((*path, "inertia_about"), "stands without an inertia")
    if body.shape is not None and None not in (body.shape.mass, body.mass, body.inertia):
        message = "mass and inertia of the body stand beside it, so nothing uses it"
        review.report((*path, "shape", "mass"), message, "a shape is drawn without a mass")


def _inertia(review: Review, path: Path, name: str, body: Body) -> None:
    place = (*path, "inertia")
    tensor = None if body.inertia is None else _tensor(review, place, body.inertia)
    if tensor is None:
        return
    scale = max(abs(entry) for row in tensor for entry in row)
    for i, key in enumerate(("xx", "yy", "zz")):
        if (entry := tensor[i][i]) < 0:
            at = (*place, key) if isinstance(body.inertia, Inertia) else place
            review.report(at, f"the moment of inertia {key} is negative: {entry:g} kg m^2")
            return
    if body.inertia_about != "center_of_mass":
        tensor = _moved(review, name, body)
    if tensor is None:
        return
    where = "" if body.inertia_about == "center_of_mass" else " about the centre of mass"
    if not positive_semidefinite(tensor, scale):
        review.report(place, f"the inertia{where} is not positive semi-definite", "no body has it")
    elif _all_moments_given(body.inertia):
        half_trace = sum(tensor[i][i] for i in range(3)) / 2 + MEASURED / 2 * scale
        distribution = [[(half_trace if i == j else 0.0) - tensor[i][j] for j in range(3)] for i in range(3)]
        if not positive_semidefinite(distribution, scale):
            hint = "no principal moment may exceed the sum of the other two"
            review.report(place, f"the inertia{where} violates the triangle inequalities", hint)


def _tensor(review: Review, place: Path, given: Inertia | Rows) -> list[list[float]] | None:
    if isinstance(given, Inertia):
        xx, yy, zz, xy, xz, yz = (
            0.0 if number is None else review.value(number)
            for number in (given.xx, given.yy, given.zz, given.xy, given.xz, given.yz)
        )
        tensor: Any = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    else:
        tensor = [review.vector(row) or [None] * 3 for row in given]
    if any(entry is None for row in tensor for entry in row):
        return None
    scale = max(abs(entry) for row in tensor for entry in row)
    if any(abs(tensor[i][j] - tensor[j][i]) > _SYMMETRY * scale for i in range(3) for j in range(i)):
        review.report(place, "the inertia is not symmetric")
        return None
    return tensor


def _all_moments_given(given: Inertia | Rows | None) -> bool:
    # a planar model states zz alone: what it leaves out is not checked
    return not isinstance(given, Inertia) or None not in (given.xx, given.yy, given.zz)


def _moved(review: Review, name: str, body: Body) -> Matrix | None:
    """The inertia about the centre of mass of a body that states it about another point."""
    places = (local_point(review, name, point) for point in ("center_of_mass", body.inertia_about))
    if not _all_moments_given(body.inertia) or not review.intact("bodies", name) or None in places:
        return None
    found = _found(review, lambda geometry: mass_properties(geometry.numbers, geometry, name)[2])
    if found is None:
        return None
    xx, yy, zz, xy, xz, yz = found
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


_UNIT_TOLERANCE = 1e-6


def check_vectors(review: Review) -> None:
    """Report vectors of length zero, references along their axis, and orientations that are no rotations."""
    for name, given in review.model.vectors.items():
        entries = {"design": given.design} if isinstance(given, DesignVector) else given
        for key, numbers in entries.items():
            _has_length(review, ("vectors", name, key), numbers)
    for name, body in review.model.bodies.items():
        if body.orientation is not None:
            _is_rotation(review, ("bodies", name, "orientation"), body.orientation)
    for section in ("constraints", "sensors"):
        for name, item in getattr(review.model, section).items():
            if item.type == "angle":
                _measurable(review, (section, name), item)
    for name, force in review.model.forces.items():
        if force.type == "bushing":
            _across(review, ("forces", name), force, [point.partition(".")[0] for point in force.points])
    for name, joint in review.model.joints.items():
        _across(review, ("joints", name), joint, joint.bodies)
        orientation = getattr(getattr(joint, "initial", None), "orientation", None)
        if orientation is not None:
            _is_rotation(review, ("joints", name, "initial", "orientation"), orientation)


def _has_length(review: Review, path: Path, numbers: Sequence[Number]) -> None:
    values = review.vector(numbers)
    if values is not None and not any(values):
        review.report(path, "the vector has length zero and gives no direction")


def _across(review: Review, path: Path, item: "Joint | Bushing", bodies: Sequence[str]) -> None:
    """Report references that are parallel to the axes of a joint or bushing."""
    axes = getattr(item, "axis", None) or getattr(item, "axes", None)
    references = getattr(item, "reference", None)
    if references is None:
        return
    if axes is None:
        message = "it says how the bodies stand about the axis, and there is no axis"
        review.report((*path, "reference"), message, "give the axis too", key=True)
        return
    for index, body in enumerate(bodies):
        axis, reference = (given if isinstance(given, str) else given[index] for given in (axes, references))
        u, v = (local_vector(review, body, vector.removeprefix(f"{body}.")) for vector in (axis, reference))
        if u and v and any(u) and any(v) and parallel(u, v):
            message = f"reference {reference!r} is parallel to the axis {axis!r} in body {body!r}"
            review.report((*path, "reference"), message, "it must stand across the axis")
            return


def _measurable(review: Review, path: Path, item: "Angle | AngleSensor") -> None:
    body, _, axis = item.axis.partition(".")
    n = local_vector(review, body, axis)
    for index, text in enumerate(item.vectors):
        other, _, name = text.partition(".")
        u = local_vector(review, other, name) if other == body else None
        if n and u and any(n) and any(u) and parallel(n, u):
            review.report((*path, "vectors", index), f"{text!r} is parallel to the axis {item.axis!r} of the angle")


def _is_rotation(review: Review, path: Path, given: Orientation) -> None:
    if given.axis is not None:
        _has_length(review, (*path, "axis"), given.axis)
    if given.euler_parameters is not None:
        values = review.vector(given.euler_parameters)
        if values is not None and abs(sum(x * x for x in values) - 1) > _UNIT_TOLERANCE:
            norm = sum(x * x for x in values) ** 0.5
            review.report((*path, "euler_parameters"), f"have length {norm:.6g}, must have length 1")
    if given.rotation_matrix is not None:
        rows = review.matrix(given.rotation_matrix)
        if rows is not None and not _orthonormal(rows):
            hint = "rows of length 1, perpendicular, right-handed"
            review.report((*path, "rotation_matrix"), "is not a rotation", hint)


def _orthonormal(m: list) -> bool:
    if any(abs(dot(m[i], m[j]) - (i == j)) > _UNIT_TOLERANCE for i in range(3) for j in range(i + 1)):
        return False
    return dot(cross(m[0], m[1]), m[2]) > 0


# Flexible bodies: names that exist, sizes and materials that exist in nature, choices that say one thing.


LOADS = ("rotation", "acceleration")  # that stiffen, beside forces at nodes
_RIGID = ("mass", "center_of_mass", "inertia", "shape")
PLACES = ("x", "y", "z")
MOST_ELEMENTS = 2_000_000


def check_flexible(review: Review) -> None:
    """Report what no flexible body can be made of."""
    for name, material in review.model.materials.items():
        ratio = review.value(material.poisson_ratio)
        if ratio is not None and not -1 < ratio < 0.5:
            review.report(("materials", name, "poisson_ratio"), f"must lie between -1 and 0.5, is {ratio:g}")
    for name, field in review.model.fields.items():
        _field(review, ("fields", name), field)
    for name, sensor in review.model.sensors.items():
        if sensor.type in ("strain_energy", "elastic_coordinate"):
            _deforming(review, ("sensors", name, "body"), sensor.body)
        elif sensor.type == "deformation":
            _deforming(review, ("sensors", name, "point"), sensor.point.partition(".")[0])
    for name, body in review.model.bodies.items():
        if body.flexible is not None:
            _flexible(review, name, body, body.flexible)


def _flexible(review: Review, name: str, body: Body, given: Flexible) -> None:
    from mbsim_cli.spec.flexible import FlexibleFile, FlexibleTerms

    path = ("bodies", name, "flexible")
    for key in _RIGID:
        if getattr(body, key) is not None:
            message = "stands beside 'flexible', whose mesh or file gives it"
            review.report(("bodies", name, key), message, "leave it out", key=True)
    if isinstance(given, FlexibleTerms):
        _terms(review, path, given)
    elif isinstance(given, FlexibleFile):
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
    if (given.value is None) == (given.file is None) and review.intact("fields", str(path[1])):
        review.report(path, "a field has a value or a file", "give value: EXPRESSION, or file: NAME.h5", key=True)
    if given.dataset is not None and given.file is None:
        review.report((*path, "dataset"), "stands without 'file'", "name the HDF5 file that holds it", key=True)
    bounds = review.vector(given.bounds)
    if bounds is not None and bounds[0] > bounds[1]:
        review.report((*path, "bounds"), "the lower bound is greater than the upper bound")
    numbers = {*review.names("parameters"), *review.names("constants")}
    for name, offset in names(parse(given.value)).items() if given.value is not None else ():
        if name in PLACES and name in numbers:
            message = f"{name!r}, the place of an element's centre, is also one of the parameters or constants"
            review.report((*path, "value"), message, "give the parameter or constant another name", offset)
        elif name not in PLACES and name not in numbers:
            hint = review.suggest(name, {*PLACES, *numbers}) or "x, y and z are the places of an element's centre"
            review.report((*path, "value"), f"unknown parameter or constant {name!r}", hint, offset)


def _meshed(review: Review, path: Path, body: "FlexibleMeshed") -> None:
    elements, frame, modes = getattr(body.mesh, "elements", 1), body.frame, body.modes
    count = prod(elements) if isinstance(elements, tuple) else elements
    if count > MOST_ELEMENTS:
        review.report((*path, "mesh", "elements"), f"{count} elements are more than {MOST_ELEMENTS}")
    if body.mesh.type == "matrices":
        if body.material is not None:
            review.report((*path, "material"), "matrices have no material", "leave it out")
    elif body.material is None:
        review.report(path, "key 'material' is missing", key=True)
    if body.density is not None and body.mesh.type == "matrices":
        review.report((*path, "density"), "matrices have no elements", "leave it out", key=True)
    for name, given in body.sets.items():
        _set(review, (*path, "sets", name), given)
    for name in body.nodes:
        if name in LOADS:
            review.report((*path, "nodes", name), f"{name!r} means something else under stiffening", key=True)
    if not isinstance(frame, str) and (frame.fixed is None) == (frame.chord is None):
        hint = "give fixed: SET, chord: [NODE, NODE], or free"
        review.report((*path, "frame"), "the frame follows one thing", hint, key=True)
    if (modes.count is None) == (modes.keep is None):
        hint = "the number of modes, or the list of those to keep"
        review.report((*path, "modes"), "give count or keep", hint, key=True)
    elif modes.count == 0 and not modes.static:
        review.report((*path, "modes", "count"), "the body has no shape to deform in", "more modes, or static shapes")
    _increasing(review, (*path, "modes", "keep"), modes.keep)
    review.each_once((*path, "modes", "static"), modes.static)
    review.each_once((*path, "stiffening"), body.stiffening)


def _terms(review: Review, path: Path, body: "FlexibleTerms") -> None:
    """Report sizes that do not fit the number of shapes, which Me tells."""
    n, terms = len(body.terms.Me), body.terms
    first, coupling = getattr(terms.J, "M1", None), getattr(terms.Cr, "M1", None)
    second = getattr(terms.J, "M2", None)
    lists: dict[tuple[str | int, ...], Any] = {
        ("terms", "Ct"): terms.Ct,
        ("terms", "Cr"): terms.Cr if isinstance(terms.Cr, tuple) else terms.Cr.M0,
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


def _set(review: Review, path: Path, given: "NodeSet") -> None:
    coordinates = [key for key in "xyz" if getattr(given, key) is not None]
    ways = [*(["coordinates"] if coordinates else []), *(key for key in ("group", "nearest") if getattr(given, key))]
    if len(ways) != 1:
        hint = "coordinates (x, y, z), a group of the mesh file, or the place that one node is nearest to"
        review.report(path, f"a set is chosen in one way, not by {' and '.join(ways) or 'nothing'}", hint, key=True)
    for key in coordinates:
        span = review.vector(value) if isinstance(value := getattr(given, key), tuple) else None
        if span is not None and span[0] > span[1]:
            review.report((*path, key), f"the range ends at {span[1]:g}, below its start {span[0]:g}")


def _increasing(review: Review, path: Path, modes: Sequence[int] | None) -> None:
    if modes is not None and sorted(set(modes)) != list(modes):
        review.report(path, "the modes are to stand in increasing order, each once")


def with_densities_of(review: Review, field: str) -> list[str]:
    """Bodies whose densities a field gives."""
    densities = {name: getattr(body.flexible, "density", None) for name, body in review.model.bodies.items()}
    return [name for name, density in densities.items() if density is not None and density.name == field]
