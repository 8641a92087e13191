"""Names of single coordinates and equations along time, as people write them: ``A.angle.velocity``, ``P2.x.lambda``."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from mbsim_cli.io.layout import KINEMATIC

MOTION = (*(f"coordinates/{kind}" for kind in KINEMATIC), "torque")
MULTIPLIERS = tuple(f"multipliers/{kind}" for kind in ("lambda", "sigma", "kappa"))
IN_COLUMNS = (*MOTION, *MULTIPLIERS)  # variables with a column for each coordinate, or equation


class Column(NamedTuple):
    """A column of a variable; ``sign`` is -1 where a coordinate is stored negated."""

    path: str
    number: int
    sign: float = 1.0


def columns(
    coordinates: Sequence[str], constraints: Sequence[str], paths: Collection[str]
) -> Iterator[tuple[str, Column]]:
    """Columns by name, of those variables that are among the ``paths`` of a result."""
    for number, stored in enumerate(coordinates):
        name, sign = stored.removeprefix("-"), -1.0 if stored.startswith("-") else 1.0
        for path in paths:
            if path in MOTION:
                yield _named(name, path), Column(path, number, sign)
    for path in paths:
        if path in MULTIPLIERS:
            yield from ((_named(name, path), Column(path, number)) for number, name in enumerate(constraints))


def _named(name: str, path: str) -> str:
    kind = path.rpartition("/")[2]
    return name if kind == "position" else f"{name}.{kind}"


def derivatives_of(path: str) -> str:
    """Where derivatives of a variable by the parameters stand, if there are any."""
    return "sensitivity/torque/parameter" if path == "torque" else f"sensitivity/{path}"
