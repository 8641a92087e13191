"""Watches a run go by for recorded quantities that are no numbers, and says which, how often and from when on."""

from collections.abc import Iterator, Mapping
from math import isfinite

import numpy as np

from mbsim_cli.model.problem import Block, InverseBlock

SHOWN = 5  # quantities that are named
PADDED = 8  # times as long: rows of one number in which eight have room
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
    """Whether all numbers are finite: the sum of their squares tells so in a fraction of the time, if it is finite."""
    numbers = values.reshape(-1) if values.flags.c_contiguous else _with_padding(values)
    return isfinite(abs(numbers @ numbers)) or bool(np.isfinite(values).all())


def _with_padding(values: np.ndarray) -> np.ndarray:
    """Numbers in memory from the first of an array to its last, as rows end in padding; a copy where most are others'.

    Without them rows would be copied, or summed one by one.
    """
    steps = [stride // values.itemsize for stride in values.strides]  # plain numbers: few are slow as arrays
    count = 1 + sum((length - 1) * step for length, step in zip(values.shape, steps, strict=True))
    if min(steps) < 0 or not values.size <= count <= PADDED * values.size:
        return values.ravel()
    return np.lib.stride_tricks.as_strided(values, (count,), (values.itemsize,))


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
        with np.errstate(all="ignore"):  # squares of large numbers overflow
            suspected = [(name, values) for name, values in _unknown(block) if not _all_finite(values)]
        for name, values in suspected:
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
