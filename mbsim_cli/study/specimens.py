"""Small models that need between them the kernels of all others; which these are depends on the analysis.

Rare ones are missing: lengths measured at a driven start, and inverse dynamics of ball joints under loads alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_ARM = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {L: 0.6, amplitude: 0.8}
dh:
  arm:
    rows:
      slide: {variable: d, alpha: 90 deg, link: {mass: 2}}
      turn: {a: L, link: {mass: 1.5, center_of_mass: [-L/2, 0, 0], inertia: {zz: 0.1}}}
points: {tip: {turn: [0.05, 0, 0]}}
sensors:
  r: {type: position, point: turn.tip}
  tilt: {type: angle, vectors: [ground.x, turn.x], axis: turn.z}
  at_turn: {type: reaction, joint: turn}
objectives: {reach: {integral: "dot(r, r)"}}
"""
_SPRING = """\
forces:
  spring: {type: spring_damper, points: [ground.origin, turn.tip], stiffness: 30, damping: 2, natural_length: 0.3}
"""
_LOAD = """\
forces:
  load: {type: force, point: turn.tip, value: [3, -2, 5], law: {type: harmonic, amplitude: 1, frequency: 0.7}}
"""
_DRIVE = """\
constraints:
  drive: {type: motion, coordinate: turn.angle, law: {type: harmonic, amplitude: amplitude, frequency: 1.5}}
"""
_FOUR_BAR = """\
mbsim: 1
parameters: {L: 0.4}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L, 0, 0], coupler: [0, 0, 0]}
  C: {coupler: [1.1, 0, 0], rocker: [0.7, 0, 0]}
  D: {ground: [1.2, 0.1, 0], rocker: [0, 0, 0]}
bodies:
  crank: {shape: {type: rod, length: 0.4, mass: 1}}
  coupler: {shape: {type: rod, length: 1.1, mass: 2}}
  rocker: {shape: {type: rod, length: 0.7, mass: 1.5}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: 1, independent: true}}
  B: {type: revolute, bodies: [crank, coupler], point: B, axis: z, initial: {angle: -0.4}}
  C: {type: revolute, bodies: [coupler, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.9}}
sensors: {b: {type: reaction, joint: B}}
objectives: {load: {integral: b.force.x**2}}
analysis: {step: 1e-3, duration: 3e-3}
"""
_INVERSE = """\
laws: {swing: {type: harmonic, amplitude: amplitude, frequency: 1.5}}
analysis: {type: inverse_dynamics, sampling: 1e-3, duration: 0.01, motion: {all: swing}}
"""
_SPECIMENS = {
    "forward_dynamics": _ARM + _SPRING + _DRIVE + "analysis: {step: 1e-4, duration: 1e-3}\n",
    "closed_loop": _FOUR_BAR,
    "equilibrium": _ARM + _SPRING + "analysis: {type: equilibrium}\n",
    "inverse_dynamics": _ARM + _SPRING + _INVERSE,
    "inverse_dynamics_in_lanes": _ARM + _LOAD + _INVERSE,
}


@contextmanager
def specimens() -> Iterator[list[Path]]:
    """Files of the models, as long as they are needed."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.yaml" for name in _SPECIMENS]
        for path, text in zip(paths, _SPECIMENS.values(), strict=True):
            path.write_text(text)
        yield paths
