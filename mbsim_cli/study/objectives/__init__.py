"""Objectives and their gradients, accumulated block by block while a simulation runs.

An integral is trapezoidal on the instants that arrive, so its gradient is that of the computed sum. Where parameters
change the duration, gradients include that: see ``continuation``.
"""

from typing import Any

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.expression import Expression
from mbsim_cli.study.objectives.final import Final
from mbsim_cli.study.objectives.integral import Integral
from mbsim_cli.study.objectives.maximum import Maximum

_ALONG_TIME = {"integral": Integral, "final": Final, "maximum": Maximum}


def accumulator(objective: Objective, p: int) -> Any:
    """Accumulator of one objective: ``add(block, shift)``, then ``value``, ``gradient`` (p,) and ``uncertainty``."""
    if objective.kind == "expression":
        parts = {operand.name: accumulator(operand, p) for operand in objective.operands}
        return Expression(objective, p, parts)
    return _ALONG_TIME[objective.kind](objective, p)
