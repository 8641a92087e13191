"""Gradients by densities of single elements, by the adjoint, against complex steps through mesh, modes and motion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve

from mbsim_cli import spec
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.reduction_input import FlexibleBodies
from mbsim_cli.model.layout import STEP
from mbsim_cli.reduction.data import deviations, entries
from mbsim_cli.reduction.reduce import _along, reduced
from mbsim_cli.reduction.restriction import system_of
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.evaluation import accumulated
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run
from mbsim_cli.study.run import run
from mbsim_cli.study.verification import CONVERGED

MODELS = Path(__file__).parents[2] / "models" / "flexible"
COARSE = MODELS / "slider_crank_densities.yaml"


class Newton:
    """The span of the kept modes of a complex body by Newton's method, without the adjoint's solver or its gauge."""

    def __init__(self, before, system):
        self._before, self._K, self._M = before, system.K, system.M

    def modes(self):
        start = self._before.modes().astype(complex)
        k = start.shape[1]
        against = start.T @ self._before.system.M
        squares = self._before.found.squares[self._before.found.kept]
        V, L = start, np.diag(squares).astype(complex)
        for _ in range(3):
            MV = self._M @ V
            residual, gram = self._K @ V - MV @ L, np.eye(k) - against @ V
            for i in range(k):
                bordered = sparse.bmat([[self._K - L[i, i] * self._M, -MV], [against, None]]).tocsc()
                step = spsolve(bordered, np.concatenate([-residual[:, i], gram[:, i]]))
                V[:, i] += step[: len(V)]
                L[:, i] += step[len(V) :]
        return V

    def static(self, F):
        return splu(self._K.tocsc().astype(complex)).solve(F.astype(complex)) if F.shape[1] else F


class Case:
    """A driven crank of a file: its adjoint gradient, and complex steps along densities."""

    def __init__(self, path, step, field=None):
        file = spec.load(path)
        self.file = file if field is None else file.with_fields({"p": field})
        settings = Settings(method="adjoint", step=step)
        timing = Timing()
        self.plan = plan_run(self.file, settings, timing, SILENT)
        self.gradient = run(self.plan, timing, SILENT).by_fields["psi"]["p"]
        self.problem = self.plan.assembled.problem
        (self.field,) = self.plan.assembled.fields
        self.bodies = FlexibleBodies(self.file, Numbers(self.file.expressions), None)
        self.before = reduced(self.bodies.body("crank"))
        self.p = self.bodies.densities(self.before.body.structure.mesh, "p")
        self.law = self.bodies._law(self.file.bodies["crank"].flexible.density)
        assert np.array_equal(entries(self.before.sid), entries(self.field.body.sid))
        options = replace(self.problem.options, sensitivity="none", tolerance=CONVERGED)
        self.plain = replace(self.problem, theta_rho=self.problem.theta_rho[:, :0], moved=None, options=options)
        compile_kernels(self.plain, SILENT, self.problem.theta.astype(complex))

    def terms(self, direction, solver):
        """Standard input data, complex, of the body whose densities are a step off, with modes by a solver."""
        p = self.p + 1j * STEP * direction
        given = self.before.body.structure.with_density(self.law.stiffness(p), self.law.mass(p))
        body = replace(self.before.body, structure=given)
        return _along(self.before, body, solver(self.before.solver, system_of(given, body.held, body.frame.free)))

    def slope(self, direction, solver=Newton):
        """Derivative of psi along a change of the densities."""
        sid = self.terms(direction, solver)
        rows = [getattr(sid.nodes[row.node], "phi" if row.row < 3 else "psi").M0[:, row.row % 3] * row.sign
                for row in self.field.rows]  # fmt: skip
        second = [deviations(sid)] if self.field.second.size else []
        numbers = np.concatenate([entries(sid), *second, *rows]).imag / STEP
        theta = self.problem.theta + 1j * STEP * (self.problem.moved @ numbers)
        return accumulated(self.plain, self.plan.assembled.objectives, (), theta=theta)["psi"].value.imag / STEP


def differences(case, elements):
    """Errors of the gradient by elements, relative to its norm."""
    found = np.array([case.slope(np.eye(len(case.p))[e]) for e in elements])
    return np.abs(found - case.gradient[elements]) / np.linalg.norm(case.gradient)


@pytest.mark.slow
@pytest.mark.parametrize("even", [True, False], ids=["A", "A2"])
def test_every_element(even):
    """The references' stored gradients have all 80 elements."""
    case = Case(COARSE, 4e-3, np.ones(80) if even else None)
    assert differences(case, np.arange(80)).max() < 1e-9


@pytest.mark.slow
def test_elements_of_the_fine_mesh():
    """The corners, and every 73rd of 720: 73 is prime to rows and columns, so all places come up."""
    case = Case(MODELS / "slider_crank_fine.yaml", 4e-3)
    assert differences(case, [0, 11, 708, 719, *range(5, 720, 73)]).max() < 1e-9


@pytest.mark.slow
def test_elements_of_a_stiffened_body(tmp_path):
    """Stresses of unit loads, and what they do to the shapes, follow the densities as well."""
    path = tmp_path / "stiffened.yaml"
    text = COARSE.read_text()
    path.write_text(text.replace("      modes:", "      stiffening: [rotation, acceleration]\n      modes:"))
    case = Case(path, 4e-3)
    assert case.field.second.size and path.read_text() != text
    assert differences(case, [0, 3, 76, 79, *range(5, 80, 13)]).max() < 1e-9


class Frozen(Newton):
    """Modes that do not follow the densities."""

    def modes(self):
        return self._before.modes()


@pytest.mark.slow
def test_frozen_modes_would_be_seen():
    """Without the change of the modes single derivatives are some thousandths of the gradient's norm off."""
    case = Case(COARSE, 4e-3)
    elements = np.eye(80)[:4]
    frozen = np.array([case.slope(element, Frozen) for element in elements])
    assert np.abs(frozen - case.gradient[:4]).max() > 1e-3 * np.linalg.norm(case.gradient)
    # along the densities K and M are multiplied by numbers, and no shape changes
    assert case.slope(case.p, Frozen) == pytest.approx(case.gradient @ case.p, rel=1e-9)
