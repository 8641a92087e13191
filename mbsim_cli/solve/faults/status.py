"""Sentences for the ways in which an analysis can fail: what, when, where, and what to try."""

import math

import numpy as np

from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Problem

_CAUSES = {
    Status.NO_CONVERGENCE: "the Newton iteration did not converge",
    Status.SINGULAR: "the equations of motion are singular",
    Status.NOT_FINITE: "a number overflowed or is undefined",
}
_ADVICE = {
    Status.NO_CONVERGENCE: "try a smaller step, or look for a jump in a force or law at that time",
    Status.SINGULAR: "is there a coordinate that no mass or inertia resists, or a locked position?",
    Status.NOT_FINITE: "try a smaller step, and look for a zero length or an overflowing law at that time",
}

HOPELESS = 100.0  # times max_steps that a run would take at its pace, when that is looked at first
SURELY = 2.0  # the same of one that has tried many steps


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


def step_sentence(status: Status, time: float, problem: Problem, size: float, coordinate: int, tried: int) -> str:
    """Describe an integration that cannot go on from ``time``; the last step that was tried had about some ``size``."""
    stiff = "" if problem.options.implicit else "integrator: esdirk if the model is stiff, "
    names = problem.names.coordinates
    where = f"; the error is largest in '{names[coordinate]}'" if names else ""
    advice = f"look for a jump in a force or law at that time, or try {stiff}a larger tolerance"
    if status == Status.STEP_TOO_SMALL:
        return f"no step is short enough for the tolerance at t = {time:.6g} s, not even {size:.1e} s{where}; {advice}"
    most, so_far = (f"{count:,}".replace(",", " ") for count in (problem.options.max_steps, tried))
    if tried < problem.options.max_steps:
        pace = tried * problem.options.duration / (problem.options.max_steps * time) if time > 0.0 else math.inf
        times = min(HOPELESS, math.floor(pace))
        return (
            f"{so_far} steps have come to t = {time:.6g} s, the last ones of {size:.1e} s: at this pace the run takes "
            f"more than {times:.0f} times the {most} steps that max_steps allows{where}; {advice}"
        )
    return (
        f"all {most} steps that max_steps allows were tried before t = {time:.6g} s, the last ones of {size:.1e} s"
        f"{where}; {advice} or more max_steps"
    )
