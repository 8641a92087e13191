"""Sentences for the ways in which an analysis can fail: what, when, where, and what to try."""

import numpy as np

from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Problem

_CAUSES = {
    Status.NO_CONVERGENCE: "the Newton iteration did not converge",
    Status.SINGULAR: "the equations of motion are singular",
    Status.NOT_FINITE: "a number overflowed or is undefined",
    Status.STEP_TOO_SMALL: "no step is short enough for the tolerance",
}
_ADVICE = {
    Status.NO_CONVERGENCE: "try a smaller step, or look for a jump in a force or law at that time",
    Status.SINGULAR: "is there a coordinate that no mass or inertia resists, or a locked position?",
    Status.NOT_FINITE: "try a smaller step, and look for a zero length or an overflowing law at that time",
    Status.STEP_TOO_SMALL: "try a larger tolerance, or look for a jump in a force or law at that time",
}


def sentence(status: Status, time: float, problem: Problem, zdd: np.ndarray, phi: np.ndarray) -> str:
    """Describe a failure at ``time`` by the accelerations (n,) and constraints (m,) of the last iterate."""
    names, size = problem.names, np.abs(zdd)
    where = ""
    if phi.size:
        worst = int(np.argmax(np.abs(phi)))
        where = f"; the most violated constraint is '{names.constraints[worst]}' ({abs(phi[worst]):.2g})"
    elif names.coordinates:
        worst = int(np.argmax(np.where(np.isfinite(size), size, np.inf)))
        where = f"; the largest acceleration is that of '{names.coordinates[worst]}' ({size[worst]:.2g})"
    return f"{_CAUSES[status]} at t = {time:.6g} s{where}; {_ADVICE[status]}"
