"""Which runs gain by being made together, and why others are made one by one."""

from mbsim_cli.kernels.compiler.cases import TOGETHER
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import FlexibleTree, Signals
from mbsim_cli.model.problem import CLOSED_LOOPS, Problem

__all__ = ["why_alone"]


def why_alone(problem: Problem) -> str:
    """What has no loop for eight runs, in words; empty where there is one."""
    options = problem.options
    if TOGETHER == 1:
        return f"the {COMPILER} compiler has none"
    if options.analysis != "forward_dynamics":
        return "only forward dynamics has one"
    if options.differentiates:
        return "runs with gradients have none"
    if options.natural:
        return "natural coordinates have none"
    if options.formulation in CLOSED_LOOPS:
        return f"{options.formulation} has none"
    if isinstance(problem.model.tree, FlexibleTree):
        return "bodies that deform have none"
    if isinstance(problem.model.signals, Signals):
        return "forces by expressions of the motion have none"
    if Force.BUSHING in problem.model.forces.kind:
        return "bushings have none"
    if problem.stops:
        return "steps that end where laws change, at times that parameters move, have none"
    return f"{options.integrator} has none" if options.implicit else ""
