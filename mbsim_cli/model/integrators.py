"""Integrators of open trees and their steps, as everything knows them that does not integrate."""

from typing import NamedTuple


class Integrator(NamedTuple):
    """What follows from the choice of an integrator."""

    control_order: int  # by which the error falls of steps that it chooses; 0 where steps are fixed
    implicit: bool  # its stages are iterated

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its steps."""
        return self.control_order > 0


INTEGRATORS = {
    "rk4": Integrator(0, implicit=False),
    "dop853": Integrator(8, implicit=False),
    "esdirk": Integrator(4, implicit=True),
}
DEFAULT_INTEGRATOR = "dop853"
AUTO_INTEGRATOR = "auto"  # dop853, or esdirk where the first steps show that the motion is stiff
MOST_STEPS = 1_000_000_000  # of an analysis: more are a misprint, and would fill any disk
