"""Flexible bodies of model files: what is refused, with its place, and choices of mesh nodes."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.study.reducing import reduce_body
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
        ("nodes: {pin: {set: pin}}", "stiffening: [speed]", "stiffening[0]: unknown load 'speed'"),
        ("set: pin", "set: pinn", "nodes.pin.set: unknown set 'pinn'; did you mean 'pin'?"),
        ("line: {y: 0}", "line: {nearest: [0.2, 0, 0]}", None),
        ("    flexible:\n", "    mass: 1\n    flexible:\n", "stands beside 'flexible', whose mesh or file gives it"),
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
    assert "a rigid set wants mesh nodes that are not on one line" in said(tmp_path, alone, tip)[0]


def test_the_frame(tmp_path):
    """Held at the hub, on the chord, and free: three bodies of one plate."""
    held = reduce_body(loaded(tmp_path), "crank").frequencies()
    loose = reduce_body(loaded(tmp_path, ("{fixed: hub}", "free")), "crank").frequencies()
    nodes = ("nodes: {pin: {set: pin}}", "nodes: {pin: {set: pin}, hub: {set: hub}}")
    chord = reduce_body(loaded(tmp_path, ("fixed: hub", "chord: [hub, pin]"), nodes), "crank").frequencies()
    assert held[0] < chord[0] < loose[0]


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
