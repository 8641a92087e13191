"""Objectives and their gradients, accumulated block by block while a simulation runs.

An integral is trapezoidal on the instants that arrive, or by Gauss's rule inside adaptive steps, so its gradient is
that of the computed sum. Where parameters change the duration, gradients include that: see ``continuation``.
"""

from collections.abc import Iterable
from typing import Any

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.kinds import At, Expression, Final, Integral, Maximum, Mean, Minimum
from mbsim_cli.study.objectives.uncertainty import Course

_ALONG_TIME = {"integral": Integral, "mean": Mean, "maximum": Maximum, "final": Final, "at": At}
_OF_OTHERS = {"expression": Expression, "rms": Expression, "minimum": Minimum}


def accumulator(objective: Objective, p: int, course: Course | None = None) -> Any:
    """Accumulator of one objective: ``add(block, shift)``, then ``value``, ``gradient`` (p,) and ``uncertainty``.

    Those of one run may share its ``course``.
    """
    if objective.kind in _OF_OTHERS:
        return _OF_OTHERS[objective.kind](objective, p, accumulators(objective.operands, p, course))
    if objective.mode is not None:
        from mbsim_cli.study.objectives.kinds import Modal

        return Modal(objective, p)
    if objective.transfer is not None:
        from mbsim_cli.study.objectives.kinds import OfResponse

        return OfResponse(objective, p)
    return _ALONG_TIME[objective.kind](objective, p, course)


def accumulators(objectives: Iterable[Objective], p: int, course: Course | None = None) -> dict[str, Any]:
    """Accumulators of objectives of one run, by name."""
    course = Course() if course is None else course
    return {objective.name: accumulator(objective, p, course) for objective in objectives}
