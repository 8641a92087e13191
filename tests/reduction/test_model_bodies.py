"""Flexible bodies of model files: what is refused, with its place, and choices of mesh nodes."""

import h5py
import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.reduction_input import FlexibleBodies
from mbsim_cli.errors import ModelError
from mbsim_cli.model.layout import STEP
from mbsim_cli.reduction.reduce import derivative, reduced
from mbsim_cli.reduction.sid_text import sid_text
from tests.reduction.bodies import dot
from tests.reduction.reduced import reduce_body
from tests.spec.example import write

from .conftest import FILES

PLATE = """\
mbsim: 1
parameters: {L: 0.4}
materials: {steel: {youngs_modulus: 2.1e11, poisson_ratio: 0.3, density: 7850}}
bodies:
  crank:
    flexible:
      mesh: {type: rectangle, size: [L, 0.08], origin: [0, -0.04], thickness: 0.01, elements: [8, 2]}
      material: steel
      sets: {hub: {x: 0}, pin: {x: L}, line: {y: 0}}
      frame: {fixed: hub}
      modes: {count: 3}
      nodes: {pin: {set: pin}}
"""


def loaded(tmp_path, *changes):
    text = PLATE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return spec.load(write(tmp_path, text))


def said(tmp_path, *changes):
    with pytest.raises(ModelError) as error:
        reduce_body(loaded(tmp_path, *changes), "crank")
    return [str(issue).partition("bodies.crank.flexible.")[2] or str(issue) for issue in error.value.issues]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("material: steel", "material: steal", "material: unknown material 'steal'; did you mean 'steel'?"),
        ("poisson_ratio: 0.3", "poisson_ratio: 0.5", "must lie between -1 and 0.5, is 0.5"),
        ("density: 7850", "density: 0", "must be greater than zero, is 0"),
        ("thickness: 0.01", "thickness: -0.01", "mesh.thickness: must be greater than zero, is -0.01"),
        ("hub: {x: 0}", "hub: {x: 0.01}", "sets.hub: no node of the mesh lies there; it spans x 0 to 0.4"),
        ("hub: {x: 0}", "hub: {x: [0.1, 0]}", "sets.hub.x: the range ends at 0, below its start 0.1"),
        (
            "hub: {x: 0}",
            "hub: {x: 0, group: hub}",
            "sets.hub: a set is chosen in one way, not by coordinates and group",
        ),
        ("hub: {x: 0}", "hub: {group: hub}", "sets.hub.group: the mesh has no group 'hub'"),
        ("hub: {x: 0}", "hub: {nearest: [0, 0, 0]}", "frame: the frame leaves the body 1 rigid motion (turn about z)"),
        ("fixed: hub", "fixed: hob", "frame.fixed: unknown set 'hob'; did you mean 'hub'?"),
        ("fixed: hub", "chord: [pin, pin]", "frame.chord: the nodes of the chord are at one place"),
        ("{fixed: hub}", "{}", "frame: the frame follows one thing"),
        ("count: 3", "count: 0", "modes.count: the body has no shape to deform in"),
        ("count: 3", "count: 900", "modes: mode 900 is asked for, of a mesh that has 48"),
        ("count: 3", "keep: [2, 1]", "modes.keep: the modes are to stand in increasing order"),
        ("count: 3", "count: 3, static: [tip]", "modes.static[0]: unknown node 'tip'"),
        ("count: 3", "count: 3, static: [pin, pin]", "modes.static[1]: 'pin' stands twice"),
        (
            "nodes: {pin: {set: pin}}",
            "nodes: {pin: {set: pin}}\n      stiffening: [pin, rotation, pin]",
            "stiffening[2]: 'pin' stands twice",
        ),
        ("nodes: {pin: {set: pin}}", "stiffening: [speed]", "stiffening[0]: unknown load 'speed'"),
        ("set: pin", "set: pinn", "nodes.pin.set: unknown set 'pinn'; did you mean 'pin'?"),
        ("pin: {set", "origin: {set", "nodes.origin: 'origin' exists already and cannot be defined"),
        ("pin: {set", "a.b: {set", "nodes.a.b: 'a.b' cannot be a name of a node; letters, digits, _ and -"),
        ("line: {y: 0}", "line: {nearest: [0.2, 0, 0]}", None),
        ("    flexible:\n", "    mass: 1\n    flexible:\n", "stands beside 'flexible', whose mesh or file gives it"),
        (
            "nodes: {pin: {set: pin}}",
            "nodes: {pin: {set: pin}}\njoints: {J: {type: revolute, bodies: [ground, crank], point: origin, "
            "axis: [z, pin.z]}}",
            "joints.J.axis[1]: 'pin.z' is no vector of 'crank'; write z, which turns with the joint's point",
        ),
        ("elements: [8, 2]", "elements: [80000, 200]", "mesh.elements: 16000000 elements are more than 2000000"),
    ],
)
def test_what_is_refused(tmp_path, old, new, sentence):
    if sentence is None:
        reduce_body(loaded(tmp_path, (old, new)), "crank")
    else:
        assert any(sentence in issue for issue in said(tmp_path, (old, new)))


def test_rigid_sets(tmp_path):
    rigid = (
        "nodes: {pin: {set: pin}}",
        "nodes: {pin: {set: pin, coupling: rigid}, more: {set: line, coupling: rigid}}",
    )
    assert said(tmp_path, rigid) == ["nodes.more: its set has mesh nodes in common with another rigid one"]
    alone = ("nodes: {pin: {set: pin}}", "nodes: {pin: {set: tip, coupling: rigid}}")
    tip = ("line: {y: 0}", "tip: {nearest: [0.4, 0, 0]}")
    assert "a rigid set needs mesh nodes that are not on one line" in said(tmp_path, alone, tip)[0]


def test_the_frame(tmp_path):
    """Held at the hub, on the chord, and free: three bodies of one plate."""
    held = reduce_body(loaded(tmp_path), "crank").frequencies()
    loose = reduce_body(loaded(tmp_path, ("{fixed: hub}", "free")), "crank").frequencies()
    nodes = ("nodes: {pin: {set: pin}}", "nodes: {pin: {set: pin}, hub: {set: hub}}")
    chord = reduce_body(loaded(tmp_path, ("fixed: hub", "chord: [hub, pin]"), nodes), "crank").frequencies()
    assert held[0] < chord[0] < loose[0]


@pytest.mark.parametrize("name", ["L", "b"])
def test_the_chord_of_a_brick_whose_ends_are_symmetric(tmp_path, name):
    """Entries of its constraints are equal: round-off must not choose other dependent displacements for derivatives."""
    values = {"L": 0.7, "b": 0.03}

    def reduced_at(change=0.0):
        moved = values | {name: values[name] + change}
        brick = (
            ("{L: 0.4}", f"{{L: {moved['L']!r}, b: {moved['b']!r}}}"),
            ("rectangle, size: [L, 0.08], origin: [0, -0.04], thickness: 0.01, elements: [8, 2]",
             "brick, size: [L, 0.1, b], elements: [2, 1, 1]"),
            ("line: {y: 0}", "line: {x: [0, L]}"), ("fixed: hub", "chord: [hub, pin]"),
            ("nodes: {", "nodes: {hub: {set: hub}, "),
        )  # fmt: skip
        body = reduce_body(loaded(tmp_path, *brick), "crank")
        return np.linalg.slogdet(np.linalg.solve(body.Me.M0, body.Ke.M0))[1], body

    body, h = reduced_at()[1], 1e-5 * values[name]
    along = body.design[name]
    found = np.trace(np.linalg.solve(body.Ke.M0, along.Ke.M0)) - np.trace(np.linalg.solve(body.Me.M0, along.Me.M0))
    assert found == pytest.approx((reduced_at(h)[0] - reduced_at(-h)[0]) / (2 * h), rel=1e-6)


def test_sets_by_ranges_and_places(tmp_path):
    """The pin by its coordinate, by a range, by half of the range, and the node nearest to it."""

    def phi(selection):
        return reduce_body(loaded(tmp_path, ("pin: {x: L}", f"pin: {selection}")), "crank").nodes[0]

    whole, ranged = phi("{x: L}"), phi("{x: [L - 0.01, 1]}")
    assert np.array_equal(whole.phi.M0, ranged.phi.M0)
    half, nearest = phi("{x: L, y: [0, 1]}"), phi("{nearest: [1, 0, 0]}")
    assert pytest.approx([0.4, 0.02, 0]) == half.origin.M0 and pytest.approx([0.4, 0, 0]) == nearest.origin.M0
    # bending turns the end as one: all rotations are nearly the same
    for node in (half, nearest):
        assert node.psi.M0[0, 2] == pytest.approx(whole.psi.M0[0, 2], rel=2e-2)


def test_files(tmp_path):
    body = "mbsim: 1\nparameters: {r: 0.01}\nbodies: {crank: {flexible: {sid: %s%s}}}\n"

    def reduce(sid, options=""):
        return reduce_body(spec.load(write(tmp_path, body % (sid, options))), "crank")

    whole = reduce(FILES / "Beam_3m.SID_FEM")
    part = reduce(FILES / "Beam_3m.SID_FEM", ", modes: [1, 3], damping: {ratio: r, beta: 1e-4*r}")
    assert part.frequencies() == pytest.approx(whole.frequencies()[[0, 2]])
    w = 2 * np.pi * part.frequencies()
    assert np.diag(part.De.M0) == pytest.approx(0.02 * w + 1e-6 * w**2)
    assert np.diag(part.design["r"].De.M0) == pytest.approx(2 * w + 1e-4 * w**2)
    assert not part.design["r"].Ke.M0.any()
    millimetres = reduce(FILES / "example.sid_fem", ", length_unit: mm")
    assert pytest.approx([0.5, 0, 0]) == millimetres.nodes[2].origin.M0
    for sid, options, sentence in (
        ("nothing.SID_FEM", "", "there is no file"),
        (FILES / "Beam_3m.SID_FEM", ", modes: [7]", "mode 7 is asked for, of a file that has 4"),
        (FILES / "LICENSE.pymbs", "", "holds no standard input data"),
    ):
        with pytest.raises(ModelError, match=sentence):
            reduce(sid, options)


def test_design_variables_of_a_file(tmp_path):
    """Data go linearly with them; what takes the place of the file's damping follows."""
    body = "mbsim: 1\nparameters: {w: 0.3, r: 0.01, L: 1}\nbodies: {crank: {flexible: {sid: b.SID_FEM%s}}}\n"
    plate = reduce_body(loaded(tmp_path, ("thickness: 0.01", "thickness: L/40")), "crank")
    (tmp_path / "b.SID_FEM").write_text(sid_text(plate))

    def reduce(options=""):
        return reduce_body(spec.load(write(tmp_path, body % options)), "crank")

    rate = plate.design["L"]
    same, there = reduce(", design: {L: 0*w}"), reduce(", design: {L: w/100}")
    assert np.array_equal(same.Ke.M0, plate.Ke.M0) and not same.warnings
    for (path, found), (_, one), (_, d) in zip(there.items(), plate.items(), rate.items(), strict=True):
        for order, (x, m, dm) in enumerate(zip(found, one, d, strict=True)):
            if x is not None:
                assert x == pytest.approx(m + 0.003 * dm, rel=1e-12, abs=1e-15 * np.abs(x).max()), (path, order)
    assert set(there.design) == {"w"}  # in place of that by L
    assert pytest.approx(rate.Ke.M0 / 100) == there.design["w"].Ke.M0
    assert there.warnings == ("design variable 'L' is 0.003 from where the data were made; they go linearly with it",)
    damped = reduce(", design: {L: w/100}, damping: {alpha: r, beta: 1e-4}")
    assert pytest.approx(0.01 * there.Me.M0 + 1e-4 * there.Ke.M0) == damped.De.M0
    expected = (0.01 * rate.Me.M0 + 1e-4 * rate.Ke.M0) / 100
    assert pytest.approx(expected, abs=1e-9 * np.abs(expected).max()) == damped.design["w"].De.M0
    assert pytest.approx(there.Me.M0, abs=1e-12) == damped.design["r"].De.M0
    # a parameter of the design variable's name that nothing binds to it
    assert np.array_equal(reduce().design["L"].Ke.M0, rate.Ke.M0)
    for options, sentence in (
        (", design: {l: w}", r"design\.l: the file has no derivatives by 'l'; did you mean 'L'"),
        (", design: {L: -9}", r"design: too far from where the data were made: the mass is -"),
    ):
        with pytest.raises(ModelError, match=sentence):
            reduce(options)


WAVES = "fields: {rho: {value: '0.7 + a*sin(2*pi*(2*x/0.4 + y/0.08 + 0.5))'%s}}\nbodies:"


def with_field(*changes, more=""):
    return (
        ("{L: 0.4}", "{L: 0.4, a: 0.25}"),
        ("\nbodies:", "\n" + WAVES % more),
        ("material: steel", "material: steel\n      density: {field: rho}"),
        *changes,
    )


def test_uneven_density(tmp_path):
    """Case A2 of the slider-crank's references; the derivative by the field's amplitude, against differences."""
    fine = with_field(("[8, 2]", "[20, 4]"), ("count: 3", "count: 6"))
    sid = reduce_body(loaded(tmp_path, *fine), "crank")
    assert sid.frequencies()[0] == pytest.approx(286.972486, rel=2e-9)
    assert pytest.approx(1.7584) == sid.mass.M0

    def first(a):
        changed = tuple((old, new.replace("a: 0.25", f"a: {a}")) for old, new in with_field())
        body = reduce_body(loaded(tmp_path, *changed), "crank")
        return np.linalg.det(np.linalg.solve(body.Me.M0, body.Ke.M0)), body

    det, body = first(0.25)
    above, below = first(0.25 + 1e-6)[0], first(0.25 - 1e-6)[0]
    design = body.design["a"]
    along = np.trace(np.linalg.solve(body.Ke.M0, design.Ke.M0)) - np.trace(np.linalg.solve(body.Me.M0, design.Me.M0))
    assert along * det == pytest.approx((above - below) / 2e-6, rel=1e-6)


def test_the_law_of_mass(tmp_path):
    """Below the threshold c p^q: half of the crank's elements, each of its own density."""
    law = ("{field: rho}", "{field: rho, law: {threshold: 0.7, factor: 0.5, exponent: 2}}")
    changes = [(old, new.replace(*law)) for old, new in with_field()]
    sid = reduce_body(loaded(tmp_path, *changes), "crank")
    plain = reduce_body(loaded(tmp_path, *with_field()), "crank")
    x, y = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(2) + 0.5) / 2 - 0.5, indexing="ij")
    p = 0.7 + 0.25 * np.sin(2 * np.pi * (2 * x + y + 0.5))
    assert pytest.approx(2.512 * p.mean()) == plain.mass.M0
    assert pytest.approx(2.512 * np.where(p < 0.7, 0.5 * p**2, p).mean()) == sid.mass.M0


def test_filter_evens_out(tmp_path):
    plain, filtered = (
        reduce_body(loaded(tmp_path, *with_field(more=more)), "crank") for more in ("", ", filter: {radius: 1}")
    )
    even = reduce_body(loaded(tmp_path, *with_field(("a: 0.25", "a: 0"))), "crank")
    gap = abs(plain.frequencies()[0] / even.frequencies()[0] - 1)
    assert abs(filtered.frequencies()[0] / even.frequencies()[0] - 1) < gap / 2


@pytest.mark.parametrize("name", ["L", "r"])
def test_weights_of_a_filter_follow_sizes_and_its_radius(tmp_path, name):
    """Against differences of reductions; the determinant does not ask how shapes are mixed."""

    def reduced_at(change, radius=0.13):
        values = {"L": 0.4, "r": radius} | {name: {"L": 0.4, "r": radius}[name] + change}
        text = ("{L: 0.4, a: 0.25}", f"{{L: {values['L']!r}, a: 0.25, r: {values['r']!r}}}")
        body = reduce_body(loaded(tmp_path, *with_field(text, more=", filter: {radius: r}")), "crank")
        return np.linalg.slogdet(np.linalg.solve(body.Me.M0, body.Ke.M0))[1], body

    body, h = reduced_at(0.0)[1], 1e-5
    along = body.design[name]
    found = np.trace(np.linalg.solve(body.Ke.M0, along.Ke.M0)) - np.trace(np.linalg.solve(body.Me.M0, along.Me.M0))
    assert found == pytest.approx((reduced_at(h)[0] - reduced_at(-h)[0]) / (2 * h), rel=1e-6)
    # elements that are 0.1 apart
    with pytest.raises(ModelError, match=r"fields\.rho\.filter\.radius: it is just the distance of some elements"):
        reduced_at(0.0, radius=0.1)


def from_file(tmp_path, values, more):
    """Changes to a density that a file holds."""
    with h5py.File(tmp_path / "rho.h5", "w") as file:
        file["p"] = values
    first, _, *others = with_field()
    return first, ("\nbodies:", f"\nfields: {{rho: {{file: rho.h5{more}}}}}\nbodies:"), *others


def test_a_field_from_a_file(tmp_path):
    by_value = reduce_body(loaded(tmp_path, *with_field()), "crank")
    x, y = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(2) + 0.5) / 2 - 0.5, indexing="ij")
    p = (0.7 + 0.25 * np.sin(2 * np.pi * (2 * x + y + 0.5))).ravel()
    changes = from_file(tmp_path, p, ", dataset: p")
    found = reduce_body(loaded(tmp_path, *changes), "crank")
    assert found.frequencies() == pytest.approx(by_value.frequencies(), rel=1e-12)
    for values, more, sentence in (
        (p[:-1], ", dataset: p", "rho.h5 has 15 under p, not a number for each of 16 elements"),
        (np.where(p > 0.8, np.nan, p), ", dataset: p", "has no finite number for element 0"),
        (p, "", "there is no dataset of numbers 'rho'; it has p"),
        (p, ", dataset: q", "there is no dataset of numbers 'q'; it has p"),
    ):
        changes = from_file(tmp_path, values, more)
        assert any(sentence in issue for issue in said(tmp_path, *changes))
    (tmp_path / "rho.h5").unlink()
    assert any("there is no file" in issue for issue in said(tmp_path, *changes))


@pytest.mark.parametrize("more", ["", ", filter: {radius: 0.1}"])
def test_gradients_by_a_field_are_those_by_what_moves_it(tmp_path, more):
    """Law and filter included: the derivative by the field's amplitude, element by element and as a parameter."""
    law = ("{field: rho}", "{field: rho, law: {threshold: 0.7, factor: 1, exponent: 2}}")
    model = loaded(tmp_path, *((old, new.replace(*law)) for old, new in with_field(more=more)))
    numbers = Numbers(model.expressions)
    bodies = FlexibleBodies(model, numbers, None)
    found = reduced(bodies.body("crank"))
    adjoint = found.sid.map(lambda _, term: term.map(np.cos))
    gradient = bodies.by_field("crank", found, adjoint)
    x, y, _ = found.body.structure.mesh.centres.T
    numbers.step_along("a")
    along = derivative(found, bodies.body("crank"), STEP)
    assert gradient @ np.sin(2 * np.pi * (2 * x / 0.4 + y / 0.08 + 0.5)) == pytest.approx(dot(along, adjoint), rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("a*sin", "b*sin", "unknown parameter or constant 'b'"),
        ("a*sin", "norm([x, y, a])*sin", "fields.rho.value: unknown function 'norm'"),
        ("a*sin", "(x > a)*sin", "fields.rho.value: character '>' cannot stand in an expression"),
        ("a*sin", "x.y*sin", "fields.rho.value: unknown name 'x.y'"),
        ("a*sin", "1e400*sin", "fields.rho.value: value is too large"),
        ("a: 0.25}", "a: 0.25, x: 1}", "'x', the place of an element's centre, is also one of the parameters"),
        ("{value:", "{filter: {radius: -1}, value:", "fields.rho.filter.radius: must be greater than zero, is -1"),
        ("0.7 +", "-0.7 +", "the density of element"),
        ("0.7 +", "1/(x - x) +", "division by zero"),
        ("0.7 +", "log(x - 0.2) +", "log(-0.175) is not a real number, at the centre of element 0"),
        ("field: rho", "field: roh", "unknown field 'roh'; did you mean 'rho'?"),
        (
            "{value:",
            "{bounds: [0.01, 0.8], value:",
            "the number of element 0 is 0.876777, outside the bounds 0.01 and 0.8",
        ),
        ("{value:", "{bounds: [1, 0.01], value:", "the lower bound is greater than the upper bound"),
        ("{value:", "{file: rho.h5, value:", "fields.rho: a field has a value or a file"),
        ("{value:", "{dataset: p, value:", "fields.rho.dataset: stands without 'file'"),
    ],
)
def test_what_is_refused_of_fields(tmp_path, old, new, sentence):
    changes = tuple((a, b.replace(old, new)) for a, b in with_field())
    assert any(sentence in issue for issue in said(tmp_path, *changes))
