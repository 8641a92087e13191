"""What is drawn of a model, and where."""

from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.scene import in_natural_coordinates, moving_scene, outline, wheel, wire_frame
from mbsim_cli.assembly.tree.kinematics import poses
from mbsim_cli.reduction.mesh import drawn_edges, grid
from mbsim_cli.study.pictures.motion import StartModel
from mbsim_cli.study.reduced_bodies import standard_input

ROOT = Path(__file__).resolve().parents[2]
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def scene_of(tmp_path, text):
    path = tmp_path / "m.yaml"
    path.write_text(f"mbsim: 1\n{text}")
    return moving_scene(spec.load(path))


def initial(moving):
    first = moving.tree.initial[0]
    return moving.theta[first : first + len(moving.coordinates)]


def test_the_fivebar_is_four_bars_and_two_springs():
    moving = moving_scene(spec.load(ROOT / "models/fivebar.yaml"))
    scene, at = moving.scene, moving.positions(initial(moving))
    assert [line.kind for line in scene.lines] == ["spring"] * 2 + ["body"] * 4
    assert scene.up == (1, 1) and len(scene.joints) == 5
    places = {"bar_12.P2": (0.5, -2, 0), "bar_23.P2": (0.5, -2, 0), "bar_A1.P1": (-1, -1, 0), "ground.B": (1, 0, 0)}
    for name, place in places.items():
        np.testing.assert_allclose(at[scene.names[name]], place, atol=1e-12)
    assert {tuple(scene.local[k]) for k in scene.ground} == {(0, 0, 0), (1, 0, 0)}
    lengths = [np.linalg.norm(np.diff(at[list(line.points)], axis=0)) for line in scene.lines[2:]]
    np.testing.assert_allclose(lengths, np.sqrt([2, 3.25, 3.25, 2]))


RIGID = sorted(set((ROOT / "models").glob("**/*.yaml")) - set((ROOT / "models/flexible").glob("*.yaml")))


@pytest.mark.parametrize("model", RIGID, ids=lambda path: path.stem)
def test_every_model_can_be_drawn(model):
    moving = moving_scene(spec.load(model))
    at = moving.positions(initial(moving))
    drawn = moving.scene.lines or "\nbodies:" not in model.read_text()  # states alone have no shape
    assert drawn and np.isfinite(at).all()
    for line in moving.scene.lines:
        assert line.kind != "body" or np.linalg.norm(np.diff(at[list(line.points)], axis=0), axis=1).min() > 0


def natural_coordinates(moving, system, z):
    """Natural coordinates (n,) of the poses at coordinates z of the tree."""
    at = poses(moving.tree, moving.theta.tolist(), z.tolist())
    fields = system.fields(system.problem.theta[None] + 0j)
    wanted = np.array([[*r, *np.array(R).T.ravel()] for r, R in zip(at.r, at.R, strict=True)]).ravel()
    maps = np.concatenate([fields.poses[i][0].real for i in range(len(at.r))])
    found, *_ = np.linalg.lstsq(maps[:, 1:], wanted - maps[:, 0])
    found = found[np.argsort(system.order)]
    ours, theirs = system.elastic
    found[ours] = z[theirs]
    return found


DRAWN = ["fivebar", "buggy", "benchmarks/a04_bricard", "benchmarks/steady_top", "flexible/pendulum"]


@pytest.mark.parametrize("name", DRAWN)
def test_natural_coordinates_move_the_same_scene(name):
    model = spec.load(ROOT / "models" / f"{name}.yaml")
    moving = moving_scene(model, standard_input, 3.0)
    system = build(model, formulation="ali3p-natural", standard_input=standard_input).problem.system
    z = initial(moving) + np.array([0.01 * (text.partition(".q")[1] != "") for text in moving.coordinates])
    natural, q = in_natural_coordinates(moving, system), natural_coordinates(moving, system, z)
    wanted = moving.positions(z)
    np.testing.assert_allclose(natural.positions(q), wanted, atol=1e-9)
    for body in moving.meshes:
        np.testing.assert_allclose(natural.deformed(body, q), moving.deformed(body, z), atol=1e-9)
        assert np.abs(natural.deformed(body, q)[1]).max() > 1e-4
    rough = natural.positions(0.98 * q)
    for line in moving.scene.lines:
        if line.kind == "body":  # keeps its length, where coordinates between two instants would shrink it
            lengths = [np.linalg.norm(np.diff(at[list(line.points)], axis=0)) for at in (rough, wanted)]
            assert lengths[0] == pytest.approx(lengths[1])


def test_a_body_of_one_point_shows_its_centre_of_mass(tmp_path):
    moving = scene_of(
        tmp_path,
        """\
points: {O: {ground: [0, 0, 0], bob: [0, 0, 0]}}
bodies: {bob: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {zz: 1, xx: 1, yy: 1}}}
joints: {A: {type: revolute, bodies: [ground, bob], point: O, axis: z, initial: {angle: 90 deg}}}
""",
    )
    (line,) = moving.scene.lines
    np.testing.assert_allclose(
        moving.positions(initial(moving))[list(line.points)], [[0, 0, 0], [0, 0.5, 0]], atol=1e-12
    )


def test_a_free_body_is_a_cross_of_its_radius_of_gyration(tmp_path):
    moving = scene_of(
        tmp_path,
        """\
gravity: [0, 0, 9.81]
bodies: {stone: {mass: 2, inertia: {xx: 4, yy: 4, zz: 4}}}
joints: {free: {type: floating, bodies: [ground, stone], initial: {position: [1, 2, 3]}}}
""",
    )
    at = moving.positions(initial(moving))
    assert len(moving.scene.lines) == 3 and not moving.scene.joints and moving.scene.up == (2, -1)
    for line in moving.scene.lines:
        ends = at[list(line.points)]
        np.testing.assert_allclose(ends.mean(axis=0), [1, 2, 3])
        assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(2 * 3**0.5)


@pytest.mark.parametrize(
    ("stated", "kinds"), [("", ["body"]), (", center_of_mass: [1, 0, 0], inertia: {zz: 1}", ["shape", "body"])]
)
def test_a_rod_that_gives_a_body_nothing_is_drawn(tmp_path, stated, kinds):
    text = f"""
points: {{A: {{a: [0, 0, 0]}}, B: {{a: [2, 0, 0]}}}}
bodies: {{a: {{mass: 1, shape: {{type: rod, length: 2}}{stated}}}}}
joints: {{A: {{type: revolute, bodies: [ground, a], point: origin, axis: z}}}}
"""
    assert [line.kind for line in scene_of(tmp_path, text).scene.lines] == kinds


def test_distances_are_rods(tmp_path):
    moving = scene_of(
        tmp_path,
        """\
points: {O: {ground: [0, 0, 0], a: [0, 0, 0]}, E: {a: [1, 0, 0]}, Q: {ground: [3, 0, 0]}}
bodies: {a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {A: {type: spherical, bodies: [ground, a], point: O}}
constraints: {link: {type: distance, points: [a.E, ground.Q]}}
""",
    )
    assert [line.kind for line in moving.scene.lines] == ["rod", "body"]


def edges(points):
    hull, inner = outline(np.array(points, dtype=float))
    return {frozenset(edge) for edge in hull}, [tuple(edge) for edge in inner]


def test_a_cube_has_twelve_edges():
    hull, inner = edges(CUBE)
    assert len(hull) == 12 and not inner
    assert all(np.abs(CUBE[a] - CUBE[b]).sum() == 1 for a, b in map(tuple, hull))


def test_outlines_in_a_plane_and_on_a_line():
    square = [[0, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0]]
    assert edges(square) == ({frozenset(e) for e in ((0, 1), (1, 2), (2, 3), (3, 0))}, [])
    assert edges([[0, 0, 0], [2, 2, 2], [1, 1, 1]]) == ({frozenset((0, 2)), frozenset((2, 1))}, [])
    assert edges([[0, 0, 0]]) == (set(), [])


def test_points_inside_are_joined_to_the_nearest_corner():
    hull, inner = edges([*CUBE, [0.9, 0.9, 0.8]])
    assert len(hull) == 12 and inner == [(8, 7)]


@pytest.mark.parametrize(
    "shape, lines, low, high",
    [
        ("{type: rod, length: 2, axis: y}", 1, [0, 0, 0], [0, 2, 0]),
        ("{type: cylinder, length: 4, radius: 1}", 6, [0, -1, -1], [4, 1, 1]),
        ("{type: cylinder, length: 0.2, radius: 1, axis: y, center: [0, 0, 0]}", 4, [-1, -0.1, -1], [1, 0.1, 1]),
        ("{type: box, size: [2, 4, 6]}", 12, [-1, -2, -3], [1, 2, 3]),
        ("{type: sphere, radius: 2, center: [1, 0, 0]}", 3, [-1, -2, -2], [3, 2, 2]),
    ],
)
def test_wire_frames(tmp_path, shape, lines, low, high):
    path = tmp_path / "m.yaml"
    joints = "{f: {type: floating, bodies: [ground, b]}}"
    path.write_text(f"mbsim: 1\nbodies: {{b: {{mass: 1, shape: {shape}}}}}\njoints: {joints}\n")
    model = spec.load(path)
    drawn = wire_frame(Numbers(model.expressions), model.bodies["b"].shape)
    assert len(drawn) == lines
    points = np.concatenate(drawn)
    np.testing.assert_allclose(points.min(axis=0), low, atol=1e-12)
    np.testing.assert_allclose(points.max(axis=0), high, atol=1e-12)


def test_a_wheel_is_round_about_its_axis():
    axis, center = np.array([0.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])
    tread, rim, *spokes = (line - center for line in wheel(center, axis, 0.3))
    np.testing.assert_allclose(np.concatenate([tread, rim, *spokes]) @ axis, 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(tread, axis=1), 0.3)
    np.testing.assert_allclose(np.linalg.norm(np.concatenate([rim, *spokes]), axis=1), 0.18)
    assert [len(spoke) for spoke in spokes] == [2, 2]
    np.testing.assert_allclose([spoke.sum(axis=0) for spoke in spokes], 0, atol=1e-12)
    assert np.dot(spokes[0][0], spokes[1][0]) == pytest.approx(0, abs=1e-12)


def test_places_on_a_body_that_deforms_have_the_names_of_the_file():
    moving = moving_scene(spec.load(ROOT / "models/flexible/pendulum.yaml"), standard_input)
    assert set(moving.scene.names) == {"ground.origin", "plate.origin", "plate.end"}
    z = np.zeros(len(moving.coordinates))
    z[0], z[1:] = np.pi / 2, 1e-3
    end = moving.positions(z)[moving.scene.names["plate.end"]]
    still = moving.positions(np.eye(len(z))[0] * np.pi / 2)[moving.scene.names["plate.end"]]
    np.testing.assert_allclose(still, [0, 0.4, 0], atol=1e-12)
    assert np.linalg.norm(end - still) > 1e-4  # it moves as the plate bends


@pytest.mark.parametrize("exaggeration", [1.0, 20.0])
def test_meshes_are_drawn_deformed(exaggeration):
    """The mean of the pin's edge is where the node is, but for what is drawn larger: by the node's own shapes."""
    file = spec.load(ROOT / "models/flexible/slider_crank.yaml")
    moving = moving_scene(file, standard_input, exaggeration)
    z = initial(moving).copy()
    z[0] = 0.7  # angle of the crank
    own = [i for i, name in enumerate(moving.coordinates) if name.startswith("crank.q")]
    z[own] = q = 1e-4 * np.arange(1, 7)
    (mesh,) = moving.deforming
    local, places = moving.scene.local[mesh.points], moving.positions(z)[mesh.points]
    edge = np.isclose(local[:, 0], 0.4)
    weights = np.where(np.isclose(np.abs(local[edge, 1]), 0.04), 0.5, 1.0)
    mean = weights @ places[edge] / weights.sum()
    pin = standard_input(file, "crank", Numbers(file.expressions)).sid.nodes[0]
    x, y, _ = pin.origin.M0 + exaggeration * q @ pin.phi.M0
    turned = np.array([x * np.cos(0.7) - y * np.sin(0.7), x * np.sin(0.7) + y * np.cos(0.7), 0.0])
    np.testing.assert_allclose(mean, turned, atol=1e-12)
    held = np.isclose(local[:, 0], 0)  # the hub does not deform
    np.testing.assert_allclose(np.linalg.norm(places[held], axis=1), np.abs(local[held, 1]), atol=1e-12)
    lines = [line for line in moving.scene.lines if line.kind == "mesh"]
    assert len(lines) == 20 * 5 + 21 * 4
    marker = moving.positions(z)[moving.scene.names["rod.A"]]
    assert (np.linalg.norm(marker - mean) < 1e-12) == (exaggeration == 1.0)


def test_what_is_drawn_of_many_cells():
    """Of a plate its border, of a brick its twelve edges."""
    plate, brick = grid([0, 0], [4, 1], [60, 40]), grid([0, 0, 0], [1, 1, 1], [12, 12, 12])
    assert len(drawn_edges(plate.points, plate.cells, plate.kind)) == 200
    edges = drawn_edges(brick.points, brick.cells, brick.kind)
    assert len(edges) == 12 * 12
    middle = brick.points[edges].mean(1)
    assert ((np.isclose(middle, 0) | np.isclose(middle, 1)).sum(1) == 2).all()


SLIDERS = """
points:
  O: {ground: [0, 0, 0], block: [0, 0, 0], arm: [0, 0, 0]}
  P: {ground: [1, 0, 0], other: [0, 0, 0]}
bodies: {block: {mass: 1}, other: {mass: 1}, arm: {mass: 1, inertia: {zz: 1}, center_of_mass: [0.1, 0, 0]}}
joints:
  guide: {type: prismatic, bodies: [ground, block], point: O, axis: x}
  rail: {type: prismatic, bodies: [ground, other], point: P, axis: y}
  turn: {type: revolute, bodies: [block, arm], point: O, axis: z}
forces:
  spring: {type: spring_damper, coordinate: guide.displacement, stiffness: 1, natural_length: 0}
  torsion: {type: rotational_spring_damper, coordinate: turn.angle, stiffness: 1}
analysis: {type: forward_dynamics, step: 1e-3, duration: 1}
"""


def test_springs_on_coordinates_and_sliders_are_attached(tmp_path):
    scene = scene_of(tmp_path, SLIDERS).scene
    named = {number: name for name, number in scene.names.items()}
    drawn = [(line.kind, *(named[k] for k in line.points)) for line in scene.lines if line.body < 0]
    assert drawn == [
        ("spring", "ground.O", "block.O"),
        ("spiral", "block.O", "arm.O"),
        ("slide", "ground.P", "other.P"),
    ]


def test_roads_have_their_heights_and_tyres():
    moving = moving_scene(spec.load(ROOT / "models/benchmarks/quarter_car.yaml"))
    (road,) = moving.roads
    x = np.array([-1.0, 0.0, 0.5, 3.0])
    assert len(road.centers) == 1 and road.radius > 0.1 and np.isfinite(moving.heights(road, x)).all()
    buggy = moving_scene(spec.load(ROOT / "models/buggy.yaml"))
    (track,) = buggy.roads
    assert len(track.centers) == 4 and np.ptp(buggy.heights(track, np.linspace(0.0, 20.0, 50))) > 1e-3
    assert not moving_scene(spec.load(ROOT / "models/fivebar.yaml")).roads


SLIDER = """\
mbsim: 1
points:
  A: {crank: [0.25, 0, 0], rod: [0, 0, 0]}
  B: {rod: [0.6, 0, 0], slider: [0, 0, 0]}
bodies:
  crank: {mass: 2, center_of_mass: [0.12, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.08}}
  rod: {mass: 1.5, center_of_mass: [0.3, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
  slider: {mass: 0.8, inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
joints:
  O: {type: revolute, bodies: [ground, crank], point: origin, axis: z, initial: {angle: 1.1, independent: true}}
  A: {type: revolute, bodies: [crank, rod], point: A, axis: z, friction: {dynamic: 0.2, radius: 0.05}}
  B: {type: revolute, bodies: [rod, slider], point: B, axis: z}
  S: {type: prismatic, bodies: [ground, slider], point: origin, axis: x, friction: {dynamic: 0.2, velocity: 0.3}}
analysis: {step: 0.01, duration: 0.03}
"""


@pytest.mark.interpreted
def test_joints_are_held_along_the_axes_of_the_run(tmp_path):
    """Constraints that would repeat others are left out of the run, and so are their coordinates."""
    path = tmp_path / "m.yaml"
    path.write_text(SLIDER)
    assembled = build(file := spec.load(path))
    names = assembled.problem.names.coordinates
    moving = moving_scene(file, coordinates=names)
    assert moving.coordinates == names != moving_scene(file).coordinates
    start = StartModel(path, file, assembled)
    assert start.z.shape == (1, len(names))
    assert np.allclose(start.positions[0][start.moving.scene.names["slider.B"]][1:], 0.0, atol=1e-9)
