"""An objective that is a number of a mode."""

from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.linear.modes import damping_ratio, frequency
from mbsim_cli.study.objectives.uncertainty import Uncertainty

PARTS = {
    "frequency": frequency,
    "damping_ratio": damping_ratio,
    "real_part": lambda value, d_value: (value.real, d_value.real),
    "imaginary_part": lambda value, d_value: (value.imag, d_value.imag),
}


class Modal:
    """Frequency, damping ratio, or real or imaginary part of the eigenvalue of a mode."""

    def __init__(self, objective: Objective, p: int):
        self.objective, self.p = objective, p
        self.value: Any = np.nan
        self.gradient = np.zeros(p)

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the one instant in."""
        found, wanted = block.modes[0], self.objective.mode
        if wanted == "largest":
            if not found.largest:
                raise AnalysisError(f"objective {self.objective.name}: there are no modes but neutral ones")
            numbers = found.largest
        else:
            assert isinstance(wanted, int)
            if wanted > found.value.size:
                known = f"{found.value.size} modes" if found.value.size != 1 else "1 mode"
                raise AnalysisError(f"objective {self.objective.name}: there is no mode {wanted}; there are {known}")
            numbers = (wanted - 1,)
        of_all = PARTS[self.objective.kind](found.of_all.value, found.of_all.d_value)
        self.value, self.gradient = of_all[0][numbers[0]], of_all[1][numbers[0], : self.p]
        if len(numbers) > 1:
            self.gradient = np.full(self.p, np.nan)

    @property
    def uncertainty(self) -> Uncertainty:
        """There is no discretisation."""
        return Uncertainty(0.0, np.zeros(self.p), abs(self.value), np.abs(self.gradient), abs(self.value))

    @property
    def streams(self) -> list[Any]:
        """No objective along time."""
        return []
