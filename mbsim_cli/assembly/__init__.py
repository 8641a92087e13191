"""From a validated model file to the arrays of kernels; ``build`` is the entry point."""

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.assembly.packing import ParameterValue
from mbsim_cli.assembly.problem import Assembled, build

__all__ = ["Assembled", "Objective", "ParameterValue", "build"]
