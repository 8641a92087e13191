"""Parameters that nothing can be differentiated by, with the reasons."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Block


class UndefinedDirections:
    """Parameters without derivatives, with the reasons: often the mechanism cannot be assembled at other values."""

    def __init__(self, names: Names):
        self._names = names
        self.reasons: dict[str, str] = dict(names.undefined)  # by parameter

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        broken = getattr(block, "broken", np.zeros((0, 0)))  # open trees of inverse dynamics break nothing
        for k in np.flatnonzero(broken.any(axis=0)) if broken.any() else ():
            parameter, row = self._names.parameters[k], int((broken[:, k] != 0).argmax())
            if parameter not in self.reasons:
                self.reasons[parameter] = self._reason(parameter, int(broken[row, k]), float(block.time[row]))

    def _reason(self, parameter: str, number: int, time: float) -> str:
        equation = self._names.equation(abs(number))
        if number < 0:
            return (
                f"{parameter} moves {equation}, which loses its rank in the singular position that the mechanism "
                f"passes before t = {time:g} s: behind it nothing depends smoothly on {parameter}"
            )
        since = f"from t = {time:g} s on " if time > 0.0 else ""
        if number > len(self._names.constraints):
            why = f"{equation} holds whatever the coordinates are, and {parameter} breaks it"
        else:
            why = f"{parameter} breaks {equation}, which depends on other equations"
        return f"{why}: beside this value {since}the mechanism cannot be assembled"


def masked(gradient: np.ndarray, parameters: Sequence[str], undefined: Iterable[str]) -> np.ndarray:
    """A gradient (p,) with NaN for undefined parameters; (0,) without sensitivities."""
    found = np.array(gradient, dtype=float)
    found[[parameters.index(name) for name in undefined]] = np.nan
    return found


def footnotes(objectives: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be said below a table of objectives: why numbers are NaN, or only one choice."""
    reasons = {name: why for entry in objectives.values() for name, why in entry.get("undefined", {}).items()}
    lines = [f"d/d {name} is NaN: {why}" for name, why in reasons.items()]
    return lines + [f"{name}*: {why}" for name, entry in objectives.items() for why in entry.get("flags", ())]
