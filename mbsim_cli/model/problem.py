"""What assembly hands to the solver, and what the solver hands back, one block of instants at a time."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.layout import Model
from mbsim_cli.model.names import Names


@dataclass(frozen=True)
class Options:
    """Choices of an analysis; times in seconds."""

    analysis: str = "forward_dynamics"
    formulation: str = "ali3p-rtdyn1"
    step: float = 1e-3
    duration: float = 1.0
    sensitivity: str = "none"  # none | ddm | fd | adjoint
    output_interval: int = 1  # steps between stored instants
    tolerance: float = 1e-10  # of the motion: relative size of the last Newton correction
    gradient_tolerance: float = 1e-10  # of the sensitivities, relative
    max_iterations: int = 20
    penalty: float = 1e9  # at 1 kg and 1 ms, see docs/theory/ali3p.md
    weighting: float = 1.0  # of the projections' penalty
    projection: str = "mass"  # mass | identity


@dataclass(frozen=True)
class Problem:
    """A model with its numbers: everything a solver needs, and nothing of the file it came from.

    ``theta_rho`` holds d theta / d rho, shape (len(theta), p); p counts the parameters that sensitivities
    are wanted for, in the order of ``names.parameters``.
    """

    model: Model
    names: Names
    theta: np.ndarray
    theta_rho: np.ndarray
    independent: np.ndarray  # (n,) bool: initial positions that keep their declared values
    independent_velocity: np.ndarray  # (n,) bool
    automatic: tuple[tuple[int, int], ...] = ()  # (theta index, measure): takes the measure's initial value
    options: Options = field(default_factory=Options)


class Block(NamedTuple):
    """B stored instants. Sensitivities have a trailing axis of p parameters (p = 0 without them)."""

    time: np.ndarray  # (B,)
    position: np.ndarray  # (B, n)
    velocity: np.ndarray  # (B, n)
    acceleration: np.ndarray  # (B, n)
    lambda_: np.ndarray  # (B, m)
    sigma: np.ndarray  # (B, m)
    kappa: np.ndarray  # (B, m)
    sensors: np.ndarray  # (B, width)
    d_position: np.ndarray  # (B, n, p)
    d_velocity: np.ndarray  # (B, n, p)
    d_acceleration: np.ndarray  # (B, n, p)
    d_lambda: np.ndarray  # (B, m, p)
    d_sensors: np.ndarray  # (B, width, p)
    iterations: np.ndarray  # (B,) Newton iterations of the step that ends here
    drift: np.ndarray  # (B, 3) largest |Phi|, |Phi'|, |Phi''|
    energy: np.ndarray  # (B, 3) kinetic, potential (gravity and springs), power of all other forces
    gradient_error: np.ndarray  # (B,) relative size of the last correction of the sensitivities
