"""Bodies that deform in a mechanism: tangent, variations and sensitivities, and limits in which the answer is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.elastic import Supplied
from mbsim_cli.errors import ModelError
from mbsim_cli.kernels.integrators.predictor import ADDED, TERMS
from mbsim_cli.model.layout import NONE
from mbsim_cli.reduction.data import turned
from mbsim_cli.solve.equilibrium import equilibrium
from mbsim_cli.solve.forward import start
from mbsim_cli.study.reduced_bodies import standard_input
from tests.kernels.differentiate import assert_agree, simulate
from tests.kernels.instant import EPS, Instant
from tests.kernels.random_flexible import random_chain
from tests.reduction.slider_crank import SliderCrank

MODELS = Path(__file__).parents[3] / "models/flexible"

# one of the two beams hangs on a node that is not its frame, both stand in a loop; elements act at nodes on all sides
BEAMS = """\
mbsim: 1
gravity: [0.3, -2, -9.81]
parameters: {E: 7e7, rho: 2700, L: 1.2, b: 0.03, beta: 1e-3, reach: 0.5, m: 0.7, k: 40}
materials: {soft: {youngs_modulus: E, poisson_ratio: 0.3, density: rho}}
points:
  P: {link: [0, 0, 0], ground: [1.3, 0.8, 0.2]}
  Q: {link: [reach, 0, 0]}
  hook: {ground: [0.2, 0.4, 1]}
vectors: {z: {all: [0.1, 0.2, 1]}}
bodies:
  boom:
    flexible:
      mesh: {type: beam, length: L, section: {type: rectangle, size: [b, 0.02]}, elements: 2}
      material: soft
      sets: {root: {x: 0}, tip: {x: L}}
      frame: {fixed: root}
      modes: {count: 2}
      nodes: {tip: {set: tip}}
      stiffening: [rotation]
      damping: {beta: beta}
      initial: {position: [0.01, -0.02], velocity: [0.1, 0.2]}
  arm:
    flexible:
      mesh: {type: beam, length: 0.9, section: {type: rectangle, size: [0.02, 0.025]}, elements: 1}
      material: soft
      sets: {a: {x: 0}, b: {x: 0.9}}
      frame: free
      modes: {count: 1}
      nodes: {a: {set: a}, b: {set: b}}
  link: {mass: m, center_of_mass: [0.2, 0.03, 0.01], inertia: {xx: 0.01, yy: 0.02, zz: 0.025, xy: 0.001}}
joints:
  O: {type: universal, bodies: [ground, boom], point: origin, axes: [y, x],
      initial: {angles: [0.3, -0.2], angle_rates: [1, -2]}}
  tip: {type: revolute, bodies: [boom, arm], point: [tip, b], axis: z}
  P: {type: spherical, bodies: [ground, link], point: P}
  Q: {type: spherical, bodies: [arm, link], point: [a, Q]}
forces:
  spring: {type: spring_damper, points: [ground.hook, boom.tip], stiffness: k, damping: 0.3, natural_length: 0.5}
  push: {type: force, point: arm.b, value: [1, 2, -1], axes: body}
  twist: {type: torque, body: boom.tip, value: [0.1, 0.2, 0.3]}
  wind: {type: drag, point: arm.a, area: 0.2, coefficient: 0.5, wind: [1, 2, 3]}
sensors:
  rush: {type: acceleration, point: boom.tip}
  slope: {type: direction, vector: boom.tip.z}
  turning: {type: angular_velocity, body: arm.a}
  U: {type: strain_energy, body: boom}
  T: {type: kinetic_energy}
  W: {type: potential_energy}
  q: {type: elastic_coordinate, body: arm, number: 1, derivative: 1}
  u: {type: deformation, point: boom.tip}
analysis: {step: 1e-3, duration: 0.002}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def assembled(folder, text, source=standard_input, **options):
    path = folder / "m.yaml"
    path.write_text(text)
    return build(spec.load(path), standard_input=source, **options).problem


def bent(model_file, name, numbers):
    """Standard input data whose nodes products of elastic coordinates move in every way, and along parameters."""
    given, random = standard_input(model_file, name, numbers), np.random.default_rng(len(name))
    changes = random.normal(size=(2, given.sid.n, given.sid.n, 3))

    def add(path, term):
        size = {"phi": 2.0, "psi": 5.0}.get(path.partition(".")[2])
        if size is None:
            return term
        first = size * changes[int(path.endswith("psi"))]
        return term._replace(M1=(first + first.swapaxes(0, 1)) / 2 + (0.0 if term.M1 is None else term.M1))

    return given._replace(sid=given.sid.map(add), along=lambda: given.along().map(add))


def with_state(problem):
    """A problem with a state that satisfies nothing: z, zd, zdd, lam."""
    rng = np.random.default_rng(1)
    n, m = len(problem.names.coordinates), len(problem.names.constraints)
    first = problem.model.tree.initial[0]
    state = problem.theta[first : first + n] + 0.1 * rng.normal(size=n), *rng.normal(size=(2, n)), rng.normal(size=m)
    state[0][-int(np.diff(problem.model.tree.elastic).sum()) :] *= 0.2
    return problem, state


@pytest.fixture(scope="module")
def beams(folder):
    geared = BEAMS.replace("point: [tip, b], axis: z}", "point: [tip, b], axis: z, armature: 0.02*m}")
    problem, state = with_state(assembled(folder, geared, bent, sensitivity="ddm"))
    assert problem.model.armatures.coordinate.size and (problem.model.tree.bend != NONE).all()
    return problem, state


def assert_rows_agree(found, exact):
    """Row by row: stiff ones are larger by far."""
    size = np.maximum(1.0, np.abs(exact).reshape(len(exact), -1).max(axis=1))
    error = np.abs(found - exact).reshape(len(exact), -1).max(axis=1)
    assert (error <= 1e-11 * size).all(), error / size


def test_tangent_and_mass_are_derivatives_of_the_residual(beams):
    assert_tangent(*beams, at_center=False)


def assert_tangent(problem, state, at_center):
    z, zd, zdd, lam = state
    beta, gamma = 0.15, 0.0225
    found = Instant(problem, z, zd, zdd, lam, factors=(beta, gamma), at_center=at_center)
    T, M = np.empty_like(found.T), np.empty_like(found.M)
    for c, one in enumerate(np.eye(z.size) * 1j * EPS):
        T[:, c] = Instant(problem, z + gamma * one, zd + beta * one, zdd + one, lam, at_center=at_center).G.imag / EPS
        M[:, c] = Instant(problem, z, zd, zdd + one, lam, at_center=at_center).G.imag / EPS
    assert_rows_agree(found.T, T)
    assert_rows_agree(found.M, M)


def test_variations_along_every_parameter(beams):
    assert_variations(*beams)


def assert_variations(problem, state):
    directions = problem.theta_rho.T
    d_state = np.random.default_rng(3).normal(size=(3, state[0].size, len(directions)))
    found = Instant(problem, *state, directions=(directions, *d_state))
    for k, direction in enumerate(directions):
        moved = [value + 1j * EPS * d[:, k] for value, d in zip(state, d_state, strict=False)]
        exact = Instant(problem, *moved, state[3], theta=problem.theta + 1j * EPS * direction)
        assert_rows_agree(found.dG[:, k], exact.G.imag / EPS)
        for variation, value in zip(found.dphi[..., k], exact.phi, strict=True):
            assert_rows_agree(variation, value.imag / EPS)


def test_sensitivities_are_those_of_the_discrete_motion(beams):
    assert_sensitivities(beams[0])


def extrapolated(values, least, most, weight):
    """The next value by ``least`` to ``most`` terms: as many as the next difference is least of."""
    rows = [values[0]] * most + values
    differences = [np.diff(rows, k, axis=0)[-1] for k in range(most + 1)]
    k = min(range(least, most + 1), key=lambda k: 2.0 ** (k - least) * (weight @ differences[k] ** 2))
    return sum(differences[:k], np.zeros_like(values[0]))


def test_predicted_accelerations_count_on_the_projection(beams):
    simulation = start(replace(beams[0], options=replace(beams[0].options, sensitivity="none")))
    simulation.first_block()
    work, motion, added = simulation.work, [simulation.state.zdd.copy()], [np.zeros(simulation.state.z.size)]
    for _ in range(9):
        simulation.advance(1)
        motion.append(simulation.state.zdd.copy())
        added.append(work.corrections[1].copy())
    weight = work.tangent.weight.copy()
    ahead, less = extrapolated(motion, 1, TERMS, weight), extrapolated(added, 0, ADDED, weight)
    assert np.linalg.norm(less) > 1e-9 * np.linalg.norm(ahead), "to the test it would not matter"
    simulation.advance(1)
    assert work.expected == pytest.approx(ahead - less, rel=1e-9, abs=1e-9 * np.abs(ahead).max())


def assert_sensitivities(problem):
    size = np.maximum(1e-3, np.abs([problem.theta_rho]).max(axis=(0, 1)))
    mixed = np.random.default_rng(5).normal(size=(2, size.size)) / size @ problem.theta_rho.T
    assert_agree(problem, dict(zip("ab", mixed, strict=True)), 2)


@pytest.mark.parametrize(("seed", "count"), [(5, 2), pytest.param(11, 2, marks=pytest.mark.slow)])
def test_random_chains(folder, seed, count):
    problem, state = with_state(assembled(folder, random_chain(seed, count), sensitivity="ddm"))
    assert_tangent(problem, state, at_center=True)
    assert_variations(problem, state)
    assert_sensitivities(problem)


def test_another_basis_of_the_shapes_changes_elastic_coordinates_alone(folder):
    text = BEAMS.replace("initial: {position: [0.01, -0.02], velocity: [0.1, 0.2]}", "")

    def in_another_basis(model_file, name, numbers):
        given = standard_input(model_file, name, numbers)
        T = np.random.default_rng(2).normal(size=(given.sid.n, given.sid.n))
        return Supplied(turned(given.sid, T), lambda: turned(given.along(), T))

    found = [
        simulate(assembled(folder, text, source, sensitivity="ddm", sensitivity_parameters=["E", "b"]), 2)
        for source in (standard_input, in_another_basis)
    ]
    q = 12  # what shows an elastic coordinate
    for what, floor in (("sensors", 1e-8), ("d_sensors", 1e-7)):
        one, other = (outputs[what] for outputs in found)
        assert np.abs(one[:, q] - other[:, q]).max() > 1e-3 * np.abs(one[:, q]).max()
        one, other = (np.delete(array, q, 1) for array in (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=floor * np.abs(one).max(axis=(0, 1)).min())


SWING = """\
mbsim: 1
gravity: [0, -9.81, 0]
materials: {{steel: {{youngs_modulus: {E}, poisson_ratio: 0.3, density: 7850}}}}
bodies:
{bodies}
joints:
  O: {{type: revolute, bodies: [ground, one], point: origin, axis: z}}
{joints}
sensors:
  tip: {{type: position, point: {tip}}}
analysis: {{step: {step}, duration: {duration}}}
"""
BEAM = """\
  {name}:
    flexible:
      mesh: {{type: beam, length: {length}, section: {{type: rectangle, size: [0.02, 0.02]}}, elements: {elements},
             planar: true}}
      material: steel
      sets: {{root: {{x: 0}}, end: {{x: {length}}}}}
      frame: {{fixed: root}}
      modes: {{count: {modes}}}
      nodes: {{end: {{set: end}}}}
"""
ROD = "  one: {mass: 3.14, center_of_mass: [0.5, 0, 0], inertia: {zz: 3.14*(1/12 + 0.02**2/12)}}"


def tip_of(folder, bodies, tip, joints="", E=2e11, step=0.01, steps=5):
    text = SWING.format(E=E, bodies=bodies, joints=joints, tip=tip, step=step, duration=steps * step)
    if "flexible" not in bodies:
        text = text.replace("sensors:", "points: {end: {one: [1, 0, 0]}}\nsensors:")
    return simulate(assembled(folder, text, sensitivity="none"), steps)["sensors"]


def test_a_stiff_body_moves_as_a_rigid_one(folder):
    """The difference goes with the compliance."""
    rigid = tip_of(folder, ROD, "one.end")
    beam = BEAM.format(name="one", length=1, elements=4, modes=3)
    softer, stiffer = (np.abs(tip_of(folder, beam, "one.end", E=E) - rigid).max() for E in (1e13, 1e14))
    assert 1e-9 < softer < 1e-4
    assert stiffer == pytest.approx(softer / 10, rel=0.05)


def test_a_beam_is_its_two_halves_welded(folder):
    """With all shapes of the mesh; what deforms little deforms linearly."""
    whole = BEAM.format(name="one", length=1, elements=2, modes=6)
    halves = "".join(BEAM.format(name=name, length=0.5, elements=1, modes=3) for name in ("one", "two"))
    weld = "  weld: {type: fixed, bodies: [one, two], point: [end, origin]}"
    one = tip_of(folder, whole, "one.end", step=2e-4)
    two = tip_of(folder, halves, "two.end", weld, step=2e-4)
    rigid = tip_of(folder, ROD, "one.end", step=2e-4)
    bent = np.abs(one - rigid).max()
    assert bent > 1e-8
    assert np.abs(two - one)[:, 1].max() < 1e-7 * bent
    assert np.abs(two - one)[:, 0].max() < 1e-3 * bent  # the outer half's frame turns with the inner one's end


def test_the_driven_slider_crank(folder):
    """Against its equations by hand, over a short time; the rule is of second order."""
    (folder / "m.yaml").write_text((MODELS / "slider_crank.yaml").read_text().replace("count: 6", "count: 2"))
    model_file = spec.load(folder / "m.yaml")
    problem = build(model_file, standard_input=standard_input, sensitivity="none").problem
    sid = standard_input(model_file, "crank", Numbers(model_file.expressions)).sid
    exact, found = SliderCrank([sid]).psi(0.1, 500)[0], []
    for steps in (8, 16):
        h = 0.1 / steps
        twice = 2.0 * simulate(replace(problem, options=replace(problem.options, step=h)), steps)["sensors"][:, 0]
        found.append(h * (twice.sum() - 0.5 * twice[-1]))
    assert found[1] + (found[1] - found[0]) / 3.0 == pytest.approx(exact, rel=3e-4)


REST = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {E: 2e9, L: 1, m: 0.5}
materials: {soft: {youngs_modulus: E, poisson_ratio: 0.3, density: 7850}}
bodies:
  beam:
    flexible:
      mesh: {type: beam, length: L, section: {type: rectangle, size: [0.02, 0.03]}, elements: 2, planar: true}
      material: soft
      sets: {root: {x: 0}, tip: {x: L}}
      frame: {fixed: root}
      modes: {count: 6}
      nodes: {tip: {set: tip}}
  load: {mass: m}
joints:
  root: {type: fixed, bodies: [ground, beam], point: origin}
  hook: {type: fixed, bodies: [beam, load], point: [tip, origin]}
sensors: {tip: {type: position, point: load.origin}}
analysis: {type: equilibrium, sensitivity: {method: ddm}}
"""


def test_sag_at_rest(folder):
    """Deflection and its derivatives by beam theory: elements of beams are exact at their nodes."""
    (block,) = equilibrium(assembled(folder, REST, sensitivity="ddm"))
    EI, by_weight = 2e9 * 0.03 * 0.02**3 / 12, 7850 * 6e-4 * 9.81 / 8
    load = 0.5 * 9.81 / 3
    assert block.sensors[0, 1] == pytest.approx(-(by_weight + load) / EI, rel=1e-9)
    exact = (by_weight + load) / EI / 2e9, -(4 * by_weight + 3 * load) / EI, -9.81 / 3 / EI
    assert block.d_sensors[0, 1] == pytest.approx(exact, rel=1e-9)


TENSION = """\
mbsim: 1
parameters: {T: 40, F: 0.5}
materials: {soft: {youngs_modulus: 2e9, poisson_ratio: 0.3, density: 1000}}
bodies:
  beam:
    flexible:
      mesh: {type: beam, length: 1, section: {type: rectangle, size: [0.02, 0.03]}, elements: 12, planar: true}
      material: soft
      sets: {root: {x: 0}, tip: {x: 1}}
      frame: {fixed: root}
      modes: {count: 8, static: [tip]}
      nodes: {tip: {set: tip}}
      stiffening: [tip]
joints:
  root: {type: fixed, bodies: [ground, beam], point: origin}
forces: {pull: {type: force, point: beam.tip, value: [T, F, 0]}}
sensors:
  tip: {type: position, point: beam.tip}
  u: {type: deformation, point: beam.tip}
  U: {type: strain_energy, body: beam}
analysis: {type: equilibrium, sensitivity: {method: ddm}}
"""


@pytest.mark.parametrize("T", [40.0, -40.0])
def test_a_beam_in_tension(folder, T):
    """Its tip moves across as the tanh says, and back as what is bent gets shorter; either load moves both alike."""
    (block,) = equilibrium(assembled(folder, TENSION.replace("T: 40", f"T: {T}"), sensitivity="ddm"))
    F, EI, EA = 0.5, 2e9 * 0.03 * 0.02**3 / 12, 2e9 * 6e-4
    k, x = np.sqrt(T / EI + 0j), np.linspace(0, 1, 2001)
    slope = (F / T * (1 - np.cosh(k * (1 - x)) / np.cosh(k))).real
    along, across = T / EA - np.trapezoid(slope**2, x) / 2, (F / T * (1 - np.tanh(k) / k)).real
    curvature = (F * np.sinh(k * (1 - x)) / (k * EI * np.cosh(k))).real
    energy = EI * np.trapezoid(curvature**2, x) / 2 + T**2 / EA / 2
    assert block.sensors[0, 6] == pytest.approx(energy, rel=1e-3)
    np.testing.assert_allclose(block.sensors[0, 3:6], [along, across, 0.0], rtol=5e-5, atol=1e-15)
    np.testing.assert_allclose(block.sensors[0, :3], block.sensors[0, 3:6] + [1.0, 0.0, 0.0], rtol=1e-12)
    by_T, by_F = block.d_sensors[0, 3:6, 0], block.d_sensors[0, 3:6, 1]
    assert by_T[1] == pytest.approx(by_F[0], rel=1e-9) and by_T[1] < 0.0


def test_nodes_that_no_place_moves_like(folder):
    def aslant(model_file, name, numbers):
        given = standard_input(model_file, name, numbers)
        (node,) = given.sid.nodes
        return given._replace(sid=replace(given.sid, nodes=(replace(node, AP=node.AP._replace(M0=np.eye(3)[::-1])),)))

    with pytest.raises(ModelError, match=r"bodies\.beam\.flexible: node 'tip' has axes of its own"):
        assembled(folder, TENSION, aslant)

    def skew(model_file, name, numbers):
        given = standard_input(model_file, name, numbers)
        twist = np.zeros((given.sid.n, given.sid.n, 3))
        twist[0, 1, 0] = 1.0
        (node,) = given.sid.nodes
        return given._replace(sid=replace(given.sid, nodes=(replace(node, phi=node.phi._replace(M1=twist)),)))

    with pytest.raises(ModelError, match=r"phi of first order of node 'tip' is not symmetric .* by 1 of the largest"):
        assembled(folder, TENSION, skew)


def test_places_that_bodies_do_not_have(folder):
    free = REST.replace("frame: {fixed: root}", "frame: free").replace("modes: {count: 6}", "modes: {count: 3}")
    with pytest.raises(ModelError, match=r"joints\.root\.point: the frame of body 'beam' follows its mean motion"):
        assembled(folder, free)
    chord = REST.replace("frame: {fixed: root}", "frame: {chord: [root, tip]}").replace(
        "nodes: {", "nodes: {root: {set: root}, "
    )
    chord = chord.replace("count: 6", "count: 3")
    with pytest.raises(ModelError, match=r"joints\.root\.point: the body 'beam' turns against its frame.*'root'"):
        assembled(folder, chord)
    away = REST.replace("sensors:", "points: {P: {beam: [0.5, 0, 0]}}\nsensors:").replace("load.origin", "beam.P")
    with pytest.raises(ModelError, match=r"sensors\.tip\.point: 'P' is no node of body 'beam', which deforms"):
        assembled(folder, away)
    long = REST.replace("nodes: {tip", "initial: {position: [1, 2]}\n      nodes: {tip")
    with pytest.raises(ModelError, match=r"initial\.position: has 2 entries, and the body 6 elastic coordinates"):
        assembled(folder, long)


FLOATING = """\
mbsim: 1
gravity: [0.5, -2, -9.81]
materials: {soft: {youngs_modulus: 1e7, poisson_ratio: 0.3, density: 1000}}
bodies:
  block:
    flexible:
      mesh: {type: brick, size: [0.5, 0.1, 0.08], origin: [-0.2, 0, 0], elements: [2, 1, 1]}
      material: soft
      sets: {end: {x: 0.3}}
      frame: free
      modes: {count: 3}
      nodes: {end: {set: end}}
      initial: {position: [0.002, 0.001, 0.001], velocity: [0.1, 0.2, 0.3]}
  ball: {mass: 0.3, inertia: {xx: 0.001, yy: 0.001, zz: 0.002}}
joints:
  free: {type: floating, bodies: [ground, block], initial: {velocity: [1, 2, 3], angular_velocity: [3, -2, 1]}}
  hook: {type: spherical, bodies: [block, ball], point: [end, origin], initial: {angular_velocity: [1, 2, 0]}}
analysis: {step: 2e-3, duration: 0.02}
"""


def test_energy_of_what_tumbles_and_swings(folder):
    """It drifts by the square of the step, also where products of elastic coordinates move the ball."""
    problem, drifts = assembled(folder, FLOATING, bent, sensitivity="none"), []
    for steps in (10, 20):
        options = replace(problem.options, step=0.02 / steps)
        energy = simulate(replace(problem, options=options), steps)["energy"][:, :2].sum(axis=1)
        drifts.append(np.abs(energy - energy[0]).max())
    assert drifts[0] < 1e-4 * energy[0]
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.05)
