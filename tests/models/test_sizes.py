"""The same mechanism in all sizes and units: numbers without unit do not depend on those of length, time and mass."""

import re
from math import comb

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import assembly, spec
from mbsim_cli.assembly.elements.unsmooth_laws import event_times_of, jumps_of
from mbsim_cli.errors import ModelError
from mbsim_cli.model.coordinates import are_elastic
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve.initial import assemble_closed
from mbsim_cli.solve.natural.start import natural_start
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.reduced_bodies import standard_input
from tests.marks import COMPILED

MECHANISM = """
mbsim: 1
parameters: {{L: {size}}}
gravity: [0, -9.81*L, 0]
points:
  A: {{ground: [0, 0, 0], a: [0, 0, 0]}}
  B: {{a: [0.3*L, 0, 0], b: [0, 0, 0]}}
  C: {{b: [0.8*L, 0, 0], c: [{tip}*L, 0, 0]}}
  D: {{ground: [0.7*L, 0.1*L, 0], c: [0, 0, 0]}}
bodies:
  a: {{mass: 1, center_of_mass: [0.15*L, 0, 0], inertia: {{zz: 0.01*L**2}}}}
  b: {{mass: 2, center_of_mass: [0.4*L, 0, 0], inertia: {{zz: 0.1*L**2}}}}
  c: {{mass: 1, center_of_mass: [{tip}*L/2, 0, 0], inertia: {{zz: 0.03*L**2}}}}
joints:
  A: {{type: revolute, bodies: [ground, a], point: A, axis: z, initial: {{angle: 1, independent: true}}}}
  B: {{type: revolute, bodies: [a, b], point: B, axis: z, initial: {{angle: {b}}}}}
  C: {{type: revolute, bodies: [b, c], point: C, axis: z, cut: true}}
  D: {{type: {last}}}
sensors: {{r: {{type: position, point: b.C}}}}
objectives:
  end: {{final: r.x/L}}
  way: {{integral: "dot(r, r)/L**2"}}
analysis: {{step: 1e-3, duration: 0.5}}
"""
FOUR_BAR = "revolute, bodies: [ground, c], point: D, axis: z, initial: {angle: 1.2}", 0.5, -0.6
SLIDER_CRANK = "prismatic, bodies: [ground, c], point: D, axis: x, initial: {displacement: 0.2*L}", 0, -1.2


def values(tmp_path, kind, size, formulation):
    """Objectives of a mechanism of some size, m."""
    last, tip, angle = kind
    path = tmp_path / f"{size}.yaml"
    path.write_text(MECHANISM.format(size=size, last=last, tip=tip, b=angle))
    built = assembly.build(spec.load(path), formulation=formulation, sensitivity="none")
    return [found.value for found in evaluate(built.problem, built.objectives).values()]


@pytest.mark.parametrize("size", ["1e-8", "2e-2", "1e5"])
@pytest.mark.parametrize("kind", [FOUR_BAR, SLIDER_CRANK], ids=["four_bar", "slider_crank"])
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", pytest.param("ali3p-natural", marks=COMPILED)])
def test_motions_do_not_depend_on_the_size(tmp_path, kind, size, formulation):
    """Natural coordinates failed at 1e-5 m and 1e5 m, and were off by 4e-6 at 1e-4 m; joint ones were off by 5e-9.

    A unit vector counted for 1 m, inertias of angles were compared with masses, and constraints in m with those without
    a unit.
    """
    expected = values(tmp_path, kind, "1", formulation)
    assert values(tmp_path, kind, size, formulation) == pytest.approx(expected, rel=1e-10)


UNITS = """
mbsim: 1
constants: {m: 1, s: 1, kg: 1, N: kg*m/s**2}
parameters: {L: 0.4*m, k: 400*N/m, M: 2*kg}
gravity: [0, -9.81*m/s**2, 0]
materials: {steel: {youngs_modulus: 2.1e11*N/m**2, poisson_ratio: 0.3, density: 7850*kg/m**3}}
points: {P: {crank: [0.15*m, 0, 0]}}
bodies:
  crank: {mass: 1*kg, center_of_mass: [0.07*m, 0, 0], inertia: {xx: 0.01*kg*m**2, yy: 0.01*kg*m**2, zz: 0.01*kg*m**2}}
  rod:
    flexible:
      mesh: {type: beam, length: L, section: {type: circle, radius: 0.005*m}, elements: 8}
      material: steel
      sets: {a: {x: 0}, b: {x: L}}
      frame: {chord: [a, b]}
      modes: {count: 4}
      nodes: {a: {set: a}, b: {set: b}}
  slider: {mass: M}
joints:
  A:
    type: revolute
    bodies: [ground, crank]
    point: origin
    axis: z
    initial: {angle: 1, angular_velocity: 10/s, independent: true}
  P: {type: revolute, bodies: [crank, rod], point: [P, a], axis: z, initial: {angle: -1.3}}
  S: {type: prismatic, bodies: [ground, slider], point: origin, axis: x, initial: {displacement: 0.46*m}}
  B: {type: spherical, bodies: [rod, slider], point: [b, origin], cut: true}
forces:
  spring: {type: spring_damper, coordinate: S.displacement, stiffness: k, damping: 2*N*s/m, natural_length: 0.4*m}
  air: {type: drag, point: slider.origin, area: 0.1*m**2, coefficient: 1.1, density: 1.2*kg/m**3}
  floor:
    type: contact
    center: crank.P
    radius: 0.05*m
    plane: {point: ground.origin, normal: ground.y}
    stiffness: 1e4*N/m**1.5
    impact: {damping: 5*N*s/m, depth: 1e-3*m}
    friction: 0.1
    friction_speed: 0.05*m/s
sensors:
  x: {type: coordinate, coordinate: S.displacement}
  u: {type: strain_energy, body: rod}
objectives: {end: {final: x/m}, strain: {final: u/(N*m)}}
analysis: {step: 2e-4*s, duration: 0.25*s, sensitivity: {method: ddm, parameters: [k, M]}}
"""
NUMBER = re.compile(r"[\d.e-]+")


@pytest.mark.slow  # bodies that deform, and modes of other units: kernels of their own
@pytest.mark.parametrize("m, s, kg", [(1e-5, 1e-6, 1e-12), (1e3, 1e5, 1e6)], ids=["micromechanism", "large_and_slow"])
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
def test_nothing_depends_on_units(tmp_path, formulation, m, s, kg):
    """A flexible crank in natural coordinates was refused at the first size, and in joint coordinates wrong by 1 %.

    Drag had a floor in m/s: slow motions were damped a thousandfold. Small motions were taken for rest in estimates.
    """
    (path := tmp_path / "m.yaml").write_text(UNITS)
    expected, found = (
        mbsim.run(path, formulation=formulation, m=m, s=s, kg=kg) for m, s, kg in ((1.0, 1.0, 1.0), (m, s, kg))
    )
    assert [NUMBER.sub("", text) for text in found.warnings] == [NUMBER.sub("", text) for text in expected.warnings]
    for name in ("end", "strain"):
        assert found.objectives[name].value == pytest.approx(expected.objectives[name].value, rel=1e-7)
        gradient = np.array(found.objectives[name].gradient) * [kg / s**2, kg]
        np.testing.assert_allclose(gradient, expected.objectives[name].gradient, rtol=1e-6)


ROCKER = """
mbsim: 1
constants: {m: 1, kg: 1}
materials: {steel: {youngs_modulus: 2.1e11*kg/m, poisson_ratio: 0.3, density: 7850*kg/m**3}}
points: {C: {rod: [0.8*m, 0, 0], end: [0.6*m, 0, 0]}, D: {ground: [0.8*m, 0.1*m, 0], end: [0, 0, 0]}}
bodies:
  rocker:
    flexible:
      mesh: {type: beam, length: 1*m, section: {type: rectangle, size: [0.03*m, 0.02*m]}, elements: 8}
      material: steel
      sets: {hub: {x: 0.375*m}, tip: {x: 1*m}}
      frame: {fixed: hub}
      modes: {count: 7}
      nodes: {hub: {set: hub}, tip: {set: tip}}
  rod: {mass: 1*kg, center_of_mass: [0.4*m, 0, 0], inertia: {zz: 0.1*kg*m**2}}
  end: {mass: 1*kg, center_of_mass: [0.3*m, 0, 0], inertia: {zz: 0.1*kg*m**2}}
joints:
  A: {type: revolute, bodies: [ground, rocker], point: [origin, hub], axis: z, initial: {angle: 1, independent: true}}
  B: {type: revolute, bodies: [rocker, rod], point: [tip, origin], axis: z, initial: {angle: -0.91}}
  D: {type: revolute, bodies: [ground, end], point: D, axis: z, initial: {angle: 0.98}}
  C: {type: revolute, bodies: [rod, end], point: C, axis: z, cut: true}
analysis: {step: 1e-3, duration: 0.01}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
def test_round_off_of_modes_that_move_no_node_determines_nothing(tmp_path, formulation):
    """Modes of the arm without a node move that of the other by 1e-14: redundant constraints counted as independent."""
    (path := tmp_path / "m.yaml").write_text(ROCKER)
    problem = assembly.build(spec.load(path), formulation=formulation, standard_input=standard_input).problem
    initial = natural_start(problem)[1] if problem.options.natural else assemble_closed(problem)
    assert initial.redundant.size == 1


def test_units_of_modes_are_motions_of_nodes_or_else_of_the_body(tmp_path):
    """Modes that move no node had units of 1e14, or without any node of joints of one, whatever the body's size."""
    (path := tmp_path / "m.yaml").write_text(ROCKER)
    found = []
    for m, kg in ((1.0, 1.0), (2.0**-20, 2.0**-30)):
        loaded = spec.load(path, {"m": repr(m), "kg": repr(kg)})
        problem = assembly.build(loaded, standard_input=standard_input).problem
        found.append(units_of(problem.model, problem.theta)[0][are_elastic(problem.model.tree)])
    assert found[0].max() < 1e3 * found[0].min()
    assert found[1] / (m * np.sqrt(kg)) == pytest.approx(found[0], rel=1e-6)


SPATIAL = """
mbsim: 1
constants: {m: SIZE}
gravity: [0.3*m, -9.81*m, 0.2*m]
points:
  A: {ground: [0, 0, 0], a: [0, 0, 0]}
  B: {a: [0.3*m, 0, 0], b: [0, 0, 0]}
  C: {b: [0.8*m, 0, 0], c: [0.5*m, 0, 0]}
  D: {ground: [0.7*m, 0.1*m, 0], c: [0, 0, 0]}
bodies:
  a: {mass: 1, center_of_mass: [0.15*m, 0, 0.1*m], inertia: {xx: 0.01*m**2, yy: 0.01*m**2, zz: 0.01*m**2}}
  b: {mass: 2, center_of_mass: [0.4*m, 0, 0], inertia: {xx: 0.1*m**2, yy: 0.1*m**2, zz: 0.1*m**2}}
  c: {mass: 1, center_of_mass: [0.25*m, 0, 0], inertia: {xx: 0.03*m**2, yy: 0.03*m**2, zz: 0.03*m**2}}
joints:
  A: {type: revolute, bodies: [ground, a], point: A, axis: z, initial: {angle: 1}}
  B: {type: universal, bodies: [a, b], point: B, axes: [z, y], initial: {angles: [-0.6, 0]}}
  C: {type: spherical, bodies: [b, c], point: C, cut: true}
  D: {type: revolute, bodies: [ground, c], point: D, axis: z, initial: {angle: 1.2}}
sensors: {R: {type: reaction, joint: A}}
analysis: {step: 1e-3, duration: 5e-3}
"""


def test_reactions_do_not_depend_on_the_size():
    """At 1e-9 m the equations of the loop counted as met by all positions, and its forces as undetermined."""
    found = []
    for size in (1e-10, 1.0):
        result = mbsim.loads(SPATIAL.replace("SIZE", str(size))).run()
        found.append([result["R.force"] / size, result["R.moment"] / size**2])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)


SLIDER_CRANK_OF_SLIDES = """
mbsim: 1
constants: {m: SIZE}
gravity: [0, -9.81*m, 0]
points: {B: {crank: [0.3*m, 0, 0], rod: [0, 0, 0]}, C: {rod: [0.8*m, 0, 0], slider: [0, 0, 0]}}
bodies:
  crank: {mass: 1, center_of_mass: [0.15*m, 0, 0], inertia: {zz: 0.01*m**2}}
  rod: {mass: 2, center_of_mass: [0.4*m, 0, 0], inertia: {zz: 0.1*m**2}}
  slider: {mass: 1}
joints:
  A: {type: revolute, bodies: [ground, crank], point: origin, axis: z, initial: {angle: 1}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: -1.3}}
  C: {type: revolute, bodies: [slider, rod], point: C, axis: z, cut: true}
  D: {type: prismatic, bodies: [ground, slider], point: origin, axis: x, initial: {displacement: 0.94*m}}
analysis: {step: 1e-3, duration: 5e-3}
"""


def test_sliding_coordinates_do_not_hide_equations_of_small_loops():
    """At 1e-12 m one of both equations counted as met by all positions: these had sliding coordinates of a metre."""
    for size in (1e-12, 1.0):
        problem = assembly.build(mbsim.loads(SLIDER_CRANK_OF_SLIDES.replace("SIZE", str(size))).file).problem
        assert problem.model.constraints.measure.size == 2


SLIDER = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {{start: 0.3123}}
bodies: {{cart: {{mass: 1}}}}
joints: {{x: {{type: prismatic, bodies: [ground, cart], point: origin, axis: x}}}}
laws: {{way: {law}}}
{driven}: {{drive: {{type: {kind}, coordinate: x.displacement, law: way}}}}
analysis: {{formulation: {formulation}, step: {duration}/1000, duration: {duration}, sensitivity: {{method: ddm}}}}
"""


def driven(law, duration="1", formulation="recursive", driven="constraints", kind="motion"):
    """The assembled problem of a body whose displacement, or force, is a law."""
    text = SLIDER.format(law=law, duration=duration, formulation=formulation, driven=driven, kind=kind)
    return assembly.build(mbsim.loads(text).file).problem


@pytest.mark.parametrize("size", [1e-7, 1, 1e4])
def test_rates_of_laws_of_any_size_may_not_jump(size):
    """Below 1e-6 m/s open trees took such laws, and their motion lacked the impulse."""
    with pytest.raises(ModelError, match="the rate of the law jumps"):
        driven(f"{{type: spline, between: linear, times: [0, 0.5, 1], values: [0, 0, {size}]}}")


@pytest.mark.parametrize("size", [1e-7, 1, 1e4])
def test_laws_of_any_size_may_not_jump(size):
    with pytest.raises(ModelError, match="the law is not continuous"):
        constants = f"{{type: constant, value: {size}}}, {{type: constant, value: {1.1 * size}}}"
        driven(f"{{type: piecewise, breaks: [0.5], laws: [{constants}]}}")


PUSHED = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {start: 0.3123}
constants: {s: DURATION, N: SIZE}
bodies: {cart: {mass: 1}}
joints: {x: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}
forces: {push: {type: force, point: cart.origin, value: ["N*if(t > start*s, FORCE, 0)", 0, 0]}}
analysis: {step: s/1000, duration: s, sensitivity: {method: ddm}}
"""


@pytest.mark.parametrize("duration", [1e-6, 1, 1e5])
@pytest.mark.parametrize("size", [1e-10, 1, 1e10])
@pytest.mark.parametrize(("force", "bends"), [("1", False), ("t/s - start", True), ("(t/s - start)**1.5", True)])
def test_forces_of_any_size_jump_or_bend(force, bends, size, duration):
    """Below 1e-9 N jumps counted as bends, and derivatives by their times were halved."""
    text = PUSHED.replace("FORCE", force).replace("SIZE", str(size)).replace("DURATION", str(duration))
    problem = assembly.build(mbsim.loads(text).file).problem
    assert len(event_times_of(problem, problem.theta_rho)) == bends


@pytest.mark.parametrize("time", [1e-8, 1, 1e6])
def test_laws_may_change_within_any_time(time):
    """Where they change within 2e-5 s they were refused: as jumps counted their changes within 1e-10 s."""
    pulse = f"{{type: harmonic, amplitude: 1, angular_frequency: 1.5*pi/{time}}}"
    pieces = f"{{type: piecewise, breaks: [{time}], laws: [{pulse}, {{type: constant, value: -1}}]}}"
    driven(pieces, duration=2 * time)


def test_laws_that_meet_but_for_round_off_do_not_jump():
    """Where both sides are round-off, its change is no jump; nor where all samples would fall on zeros."""
    for k in range(1, 20):
        t0, power = k / 20, 2 + k % 2
        coefficients = [comb(power, i) * (-t0) ** (power - i) for i in range(power + 1)]
        pieces = f"{{type: constant, value: 0}}, {{type: polynomial, coefficients: {coefficients}}}"
        driven(f"{{type: piecewise, breaks: [{t0}], laws: [{pieces}]}}", formulation="ali3p-rtdyn1")
    step = "{type: smooth_step, from: 0.1, to: 0.3, start: 0.5, end: 0.502}"
    driven(f"{{type: piecewise, breaks: [0.5], laws: [{{type: constant, value: 0.1}}, {step}]}}", duration="4")
    wave = "{type: harmonic, amplitude: 1, frequency: 200, power: 3}"
    driven(f"{{type: windowed, start: 0.25, end: 0.75, law: {wave}}}")


def test_a_fast_wave_may_not_jump_at_the_ends_of_its_window():
    wave = "{type: harmonic, amplitude: 1, frequency: 1000, phase: 0.05}"
    with pytest.raises(ModelError, match=r"jumps from 0\.0499"):
        driven(f"{{type: windowed, start: 0, end: 10, law: {wave}}}", duration="11")


@pytest.mark.parametrize(("to", "kind"), [("constraints", "motion"), ("forces", "drive")])
def test_a_pulse_is_the_same_in_a_short_run_and_in_a_long_one(to, kind):
    """One shorter than a hundredth of the run counted as jumping where it begins and ends."""
    power = 3 if kind == "motion" else 1
    wave = f"{{type: harmonic, amplitude: 2, angular_frequency: pi/0.005, power: {power}}}"
    pulse = f"{{type: windowed, start: start, end: start + 0.005, law: {wave}}}"
    short, long = (driven(pulse, duration, "ali3p-rtdyn1", to, kind) for duration in (0.4, 4))
    assert jumps_of(long) == jumps_of(short)
    assert len(event_times_of(long, long.theta_rho)) == len(event_times_of(short, short.theta_rho)) == 2


BALL = """
mbsim: 1
constants: {m: SIZE}
gravity: [0, 0, -9.81*m]
parameters: {h: 0.0123, k: 1e5}
bodies: {ball: {mass: 1}}
joints: {fall: {type: prismatic, bodies: [ground, ball], point: origin, axis: z, initial: {displacement: h*m}}}
forces:
  floor:
    type: contact
    center: ball.origin
    radius: 0
    plane: {point: ground.origin, normal: ground.z}
    stiffness: k/sqrt(m)
    dissipation: 0.1/m
sensors: {v: {type: coordinate, coordinate: fall.displacement, derivative: 1}}
objectives: {way: {integral: (v/m)**2}}
analysis: {step: 8e-3, duration: 0.2, sensitivity: {method: ddm}}
"""


@pytest.mark.interpreted
def test_derivatives_that_impacts_hide_do_not_depend_on_the_size():
    """The estimated error of the largest one was equal to it, so that round-off decided whether it was kept."""
    found = []
    for size in ("1", "1000", "0.3"):
        result = mbsim.loads(BALL.replace("SIZE", size)).run()
        assert list(result.objectives["way"].undefined) == ["k"]
        found.append([text.partition(" / d ")[2] for text in result.warnings if "discretisation" in text])
    assert found[0] == found[1] == found[2] != []


BISTABLE = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {s: SIZE, k: 100, h: 0.4}
points: {P: {ground: [0, h*s, 0]}, Q: {cart: [0, 0, 0]}}
bodies: {cart: {mass: 1, center_of_mass: [0.5*s, 0, 0], inertia: {zz: 0.01*s**2}}}
joints: {j: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {displacement: START*s}}}
forces:
  spring: {type: spring_damper, points: [ground.P, cart.Q], stiffness: k, natural_length: s}
  pull: {type: force, point: cart.Q, value: [3*s, 0, 0]}
sensors: {x: {type: coordinate, coordinate: j.displacement}}
objectives: {rest: {final: x/s}}
analysis: {type: equilibrium, sensitivity: {method: ddm, parameters: [k, h]}}
"""


@pytest.mark.parametrize("start", [-0.05, 0.05, 3.0])
def test_equilibria_do_not_depend_on_the_size(start):
    """At a micrometre the search took the unstable position between both for the solution, at 1000 km it gave up."""
    found = []
    for size in ("1", "1e-6", "0.03", "100", "1e6"):
        rest = mbsim.loads(BISTABLE.replace("SIZE", size).replace("START", str(start))).run().objectives["rest"]
        found.append([rest.value, *rest.gradient])
    assert found[0][0] * start > 0.0 and abs(found[0][0]) > 0.8
    np.testing.assert_allclose(found[1:], [found[0]] * 4, rtol=1e-9)


WAVES = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {s: SIZE}
points: {Q: {cart: [s, 0, 0]}}
bodies: {cart: {mass: 1, center_of_mass: [0.5*s, 0, 0], inertia: {zz: 0.01*s**2}}}
joints: {j: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {displacement: 0.24*s}}}
sensors: {x: {type: coordinate, coordinate: j.displacement}}
forces: {waves: {type: force, point: cart.Q, value: ["-100*s*sin(2*pi*x/s)", 0, 0]}}
objectives: {rest: {final: x/s}}
analysis: {type: equilibrium}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize("size", ["1", "0.05", "20", "300"])
def test_the_equilibrium_nearby_is_found_in_any_size(size):
    """Of many next to each other: the first change could pass several, of mechanisms smaller than a metre."""
    assert mbsim.loads(WAVES.replace("SIZE", size)).run().objectives["rest"].value == pytest.approx(0.0, abs=1e-9)


DRAWN = """
mbsim: 1
parameters: {s: SIZE, off: OFF}
points: {A: {ground: [0, 0, 0], crank: [0, 0, 0]}, B: {crank: [0, s, 0]}}
bodies:
  crank: {mass: 1, center_of_mass: [0, 0.5*s, 0], inertia: {zz: 0.1*s**2}, position: [0, 0, 0]}
  rod: {mass: 1, inertia: {zz: 0.1*s**2}, position: [off, s, 0]}
joints:
  a: {type: revolute, bodies: [ground, crank], point: A, axis: z}
  b: {type: revolute, bodies: [crank, rod], point: [B, origin], axis: z}
analysis: {step: 1e-2, duration: 1e-2}
"""


@pytest.mark.parametrize(
    ("size", "off", "allowed"),
    [(1.0, 2e-3, 8e-4), (0.025, 4e-4, 2e-5), (1e-4, 2e-6, 5e-7), (1e-6, 2e-8, 5e-9), (50.0, 2e-3, 8e-4)],
)
def test_joints_that_a_design_position_opens_are_seen_in_any_size(size, off, allowed):
    """Those of micromechanisms could be open by ten times their size."""
    model = DRAWN.replace("SIZE", str(size))
    mbsim.loads(model.replace("OFF", str(allowed))).mechanics()
    with pytest.raises(ModelError, match="the design position of 'crank' and 'rod' leaves their points"):
        mbsim.loads(model.replace("OFF", str(off))).mechanics()
    with pytest.raises(ModelError, match="leaves their points"):  # tables are renewed
        mbsim.loads(DRAWN.replace("SIZE", "1").replace("OFF", "0")).mechanics(parameters={"s": size, "off": off})
