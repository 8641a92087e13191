"""The adjoint of bodies that deform against direct derivatives: by parameters, and by fields of densities."""

import pickle

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import UsageError
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import block_size, deviation_size
from mbsim_cli.reduction.mesh import grid
from mbsim_cli.study.assembling import Settings, load
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run
from mbsim_cli.study.recording import record
from mbsim_cli.study.reduced_bodies import standard_input
from mbsim_cli.study.run import run
from tests.kernels.adjoint import assert_adjoint, assert_set_back
from tests.kernels.plain.test_flexible_trees import BEAMS, assembled, bent

MODEL = """
mbsim: 1
gravity: [1, -9.81, 0]
parameters:
  E: {value: 2e8}
  rho: {value: 7850}
  thickness: {value: 0.01}
  scale: {value: 1}
  bump: {value: 0.1}
  rod: {value: 1}
materials:
  soft: {youngs_modulus: E, poisson_ratio: 0.3, density: rho}
fields:
  p: {value: "scale*(0.7 + x/2) + bump*exp(-100*((x - 0.1)**2 + y**2))", filter: {radius: 0.1}}
points:
  A: {rod: [0, 0, 0]}
  B: {rod: [rod, 0, 0], piston: [0, 0, 0]}
vectors:
  z: {all: [0, 0, 1]}
  x: {all: [1, 0, 0]}
bodies:
  crank:
    flexible:
      mesh: {type: rectangle, size: [0.4, 0.08], origin: [0, -0.04], thickness: thickness, elements: [6, 2]}
      material: soft
      density: {field: p}
      sets: {hub: {x: 0}, pin: {x: 0.4}}
      frame: {fixed: hub}
      modes: {count: 2}
      stiffening: [rotation, acceleration]
      nodes: {pin: {set: pin}}
      damping: {alpha: 1, beta: 1e-5, ratio: 0.01}
  rod: {shape: {type: rod, length: rod, mass: 1}}
  piston: {mass: 2}
joints:
  O: {type: revolute, bodies: [ground, crank], point: origin, axis: z, initial: {angle: 0.3, angular_velocity: 4}}
  pin: {type: revolute, bodies: [crank, rod], point: [pin, A], axis: z}
  cross_head: {type: revolute, bodies: [rod, piston], point: B, axis: z}
  guide: {type: prismatic, bodies: [ground, piston], point: origin, axis: x, initial: {displacement: 1.4}}
sensors:
  U: {type: strain_energy, body: crank}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
  u: {type: deformation, point: crank.pin}
  q: {type: elastic_coordinate, body: crank, number: 1}
  a: {type: acceleration, point: piston.B}
objectives:
  strain: {integral: 2 * U}
  kinetic: {final: T}
  potential: {final: V}
  bending: {integral: u.y}
  mode: {final: q}
  pushed: {final: a.x}
analysis: {step: 2e-3, duration: 4e-3, sensitivity: {method: adjoint, fields: [p]}}
"""

RESTING = (
    MODEL.replace("  O: {type: revolute, bodies: [ground, crank], point: origin, axis: z,", "  O: {type: fixed,")
    .replace("initial: {angle: 0.3, angular_velocity: 4}}", "bodies: [ground, crank], point: origin}")
    .replace("  kinetic: {final: T}\n", "").replace("integral: 2 * U", "final: 2 * U")
    .replace("integral: u.y", "final: u.y")
    .replace("  pushed: {final: a.x}\n", "")
    .replace("step: 2e-3, duration: 4e-3", "type: equilibrium")
)  # fmt: skip


NATURAL = MODEL.replace("analysis: {", "analysis: {formulation: ali3p-natural, ")


@pytest.fixture(
    scope="module",
    params=[MODEL, RESTING, pytest.param(NATURAL, marks=pytest.mark.slow)],
    ids=["moving", "resting", "natural"],
)
def outcomes(request, tmp_path_factory):
    """Direct, and by the adjoint."""
    path = tmp_path_factory.mktemp("crank") / "crank.yaml"
    path.write_text(request.param)
    found = []
    for method in ("ddm", "adjoint"):
        timing = Timing()
        settings = Settings(method=method)
        plan = plan_run(load(path, settings), settings, timing, SILENT)
        found.append(run(plan, timing, SILENT))
    return found


def test_second_derivatives_are_refused(tmp_path):
    path = tmp_path / "crank.yaml"
    path.write_text(MODEL)
    with pytest.raises(UsageError, match="deform have no second derivatives"):
        mbsim.load(path).hessian(objective="strain")


def test_gradients_by_parameters(outcomes):
    direct, adjoint = (outcome.results for outcome in outcomes)
    assert adjoint.keys() == direct.keys() > set()
    for name, found in adjoint.items():
        assert found.value == pytest.approx(direct[name].value, rel=1e-9)
        assert found.gradient == pytest.approx(direct[name].gradient, rel=1e-8)


def test_gradients_by_densities(outcomes):
    """What two parameters of the field's expression move its elements by, times the gradient, is their derivative."""
    direct, adjoint = outcomes
    parameters = [parameter.name for parameter in direct.plan.parameters]
    x, y = grid([0, -0.04], [0.4, 0.08], [6, 2]).centres[:, :2].T
    moved = {"scale": 0.7 + x / 2, "bump": np.exp(-100 * ((x - 0.1) ** 2 + y**2))}
    for name, found in direct.results.items():
        by_element = adjoint.by_fields[name]["p"]
        assert by_element.shape == (12,)
        for parameter, change in moved.items():
            expected = found.gradient[parameters.index(parameter)]
            assert by_element @ change == pytest.approx(expected, rel=1e-8)


def test_programs_see_gradients_by_densities(tmp_path):
    """In memory, pickled, and from a result file."""
    path, output = tmp_path / "crank.yaml", tmp_path / "out.h5"
    path.write_text(RESTING)
    ran = mbsim.run(path)
    record(path, output, Settings(), command="", listener=SILENT, force=False)
    for result in (ran, pickle.loads(pickle.dumps(ran)), mbsim.open(output)):
        assert len(result.objectives) == 4
        for name, found in result.objectives.items():
            assert list(found.by_fields) == ["p"] and found.by_fields["p"].shape == (12,) and found.by_fields["p"].any()
            assert np.array_equal(found.by_fields["p"], ran.objectives[name].by_fields["p"])
    assert not mbsim.run(path, sensitivity="none").objectives["strain"].by_fields


def test_beams_in_a_loop(tmp_path):
    """In space, stiffened, one with a free frame, with forces at nodes: by parameters and by numbers of every kind."""

    def source(model_file, name, numbers):
        return (bent if name == "boom" else standard_input)(model_file, name, numbers)

    problem = assembled(tmp_path, BEAMS, source, sensitivity="ddm")
    directions = {name: d for name, d in zip(problem.names.parameters, problem.theta_rho.T, strict=True)}
    tree, random = problem.model.tree, np.random.default_rng(3)
    for f in range(tree.flexible.size):
        n = int(tree.elastic[f + 1] - tree.elastic[f])
        for name, first, size in (
            ("data", tree.block[f], block_size(n)),
            ("more", tree.deviation[f], deviation_size(n)),
        ):
            if first != NONE:
                found = np.zeros_like(problem.theta)
                own = problem.theta[first : first + size]
                found[first : first + size] = 0.1 * random.normal(size=size) * np.abs(own)
                directions[f"{name} of {f}"] = found
    for v, first in enumerate(tree.shape):
        found = np.zeros_like(problem.theta)
        found[first : first + np.diff(tree.elastic)[tree.node_body[v]]] = 0.1
        directions[f"shape of {v}"] = found
    bend = np.zeros_like(problem.theta)
    for v in np.flatnonzero(tree.bend != NONE):
        first, n = tree.bend[v], int(np.diff(tree.elastic)[tree.node_body[v]])
        bend[first : first + n * n] = random.normal() * (np.eye(n) + 1.0).ravel()
    directions["bend"] = bend
    scaled = {name: d * np.abs(problem.theta[d != 0]).max() / np.abs(d).max() for name, d in directions.items()}
    assert_adjoint(problem, scaled, 2)
    assert_set_back(problem)
