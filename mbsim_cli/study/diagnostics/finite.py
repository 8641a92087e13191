"""Watches a run go by for recorded quantities that are no numbers, and says which, how often and from when on."""

from collections.abc import Iterator, Mapping
from math import isfinite

import numpy as np

from mbsim_cli.model.problem import Block, InverseBlock

SHOWN = 5  # quantities that are named
_NAMES = {
    "position": "positions",
    "velocity": "velocities",
    "acceleration": "accelerations",
    "lambda": "multipliers",
    "sigma": "multipliers of velocities",
    "kappa": "multipliers of accelerations",
    "energy": "energies",
    "torque": "torques",
}
_ESTIMATES = ("gradient_error",)  # not finite where nothing is known yet


def _all_finite(values: np.ndarray) -> bool:
    """Whether all numbers are finite: their sums tell so in a fraction of the time, unless they overflow."""
    if values.flags.c_contiguous:
        numbers = values.reshape(-1)
        return isfinite(abs(numbers @ numbers)) or bool(np.isfinite(values).all())
    if values.ndim > 1 and values.size:
        rows = values.reshape(-1, values.shape[-1])
        values = np.ones(len(rows)) @ rows
    return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _unknown(block: Block | InverseBlock) -> list[tuple[str, np.ndarray]]:
    """Arrays that the solver has not looked at, by name; sensors that show all torques are the same arrays."""
    known = set(map(id, block[4:9])) if isinstance(block, InverseBlock) and block.finite.all() else ()
    return [
        (name, values)
        for name, values in zip(block._fields, block, strict=True)
        if id(values) not in known and values.dtype.kind in "fc" and name not in _ESTIMATES
    ]


class FiniteHealth:
    """Counts instants at which a sensor, its derivatives or anything else is not finite, but by intent."""

    def __init__(self, sensors: Mapping[str, slice]):
        self._sensors = sensors
        self._found: dict[str, tuple[int, float]] = {}  # instants, and the first one, s

    def add(self, block: Block | InverseBlock) -> None:
        """Take the next instants in."""
        for name, values in _unknown(block):
            if not _all_finite(values):
                wrong = ~np.isfinite(values)
                if isinstance(block, Block) and name.startswith("d_"):
                    wrong &= block.broken[:, None, :] == 0  # NaN by intent, and told of with the gradients
                if name in ("sensors", "d_sensors"):  # undetermined reactions as well
                    wrong &= ~block.undetermined.reshape(*block.undetermined.shape, *[1] * (wrong.ndim - 2))
                for what, instants in self._parts(name, wrong):
                    self._count(what, instants, block.time)

    def _parts(self, field: str, wrong: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Names of what is wrong, and the instants (B,)."""
        columns = wrong.reshape(len(wrong), wrong.shape[1] if wrong.ndim > 1 else 1, -1)
        by_instant = np.logical_or.reduce(columns, axis=2)
        if field in ("sensors", "d_sensors"):
            what = "sensor {}" if field == "sensors" else "the derivative of sensor {}"
            for name, rows in self._sensors.items():
                yield what.format(name), np.logical_or.reduce(by_instant[:, rows], axis=1)
        else:
            plain = "torque" if field.startswith("by_") else field.removeprefix("d_").rstrip("_")
            of = "derivatives of " if field.startswith(("d_", "by_")) else ""
            yield of + _NAMES.get(plain, plain), np.logical_or.reduce(by_instant, axis=1)

    def _count(self, what: str, wrong: np.ndarray, time: np.ndarray) -> None:
        if wrong.any():
            count, first = self._found.get(what, (0, float(time[np.argmax(wrong)])))
            self._found[what] = count + int(wrong.sum()), first

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is not finite."""
        sentences = [
            f"{what} {_verb(what)} at {count} instant{'s' * (count > 1)}, first at t = {first:g} s; "
            "something that it divides by may vanish there, or it overflows"
            for what, (count, first) in self._found.items()
        ]
        more = len(sentences) - SHOWN
        return sentences[:SHOWN] + [f"{more} more quantities are not finite"] * (more > 0)


def _verb(what: str) -> str:
    return "is not finite" if "sensor " in what else "are not finite"
