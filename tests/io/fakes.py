"""A made-up run: names and blocks of the contract's shapes, whose numbers tell instant, row and column."""

import numpy as np

from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Block

SENSORS = {"r2": slice(0, 3), "theta": slice(3, 4)}


def names(n: int = 2, m: int = 3, p: int = 2) -> Names:
    return Names(
        bodies=("A1",),
        coordinates=tuple(f"J{i}.angle" for i in range(n)),
        coordinate_units=("rad",) * n,
        constraints=tuple(f"cut.{i}" for i in range(m)),
        constraint_units=("m", "rad", "1")[:m],
        sensors=tuple(SENSORS),
        sensor_units=("m", "rad"),
        sensor_components=(("x", "y", "z"), ("value",)),
        parameters=tuple(f"L_{i}" for i in range(p)),
        parameter_units=("m",) * p,
    )


def _numbers(first: int, count: int, *widths: int) -> np.ndarray:
    instants = np.arange(first, first + count, dtype=float).reshape(-1, *(1 for _ in widths))
    return instants + np.arange(np.prod(widths)).reshape(widths) / 1000


def block(first: int, count: int, n: int = 2, m: int = 3, p: int = 2, step: float = 0.01) -> Block:
    shapes = {
        **dict.fromkeys(("position", "velocity", "acceleration"), (n,)),
        **dict.fromkeys(("lambda_", "sigma", "kappa"), (m,)),
        "sensors": (4,),
        **dict.fromkeys(("d_position", "d_velocity", "d_acceleration"), (n, p)),
        "d_lambda": (m, p),
        "d_sensors": (4, p),
        "drift": (3,),
        "energy": (3,),
    }
    fields = {name: _numbers(first, count, *widths) for name, widths in shapes.items()}
    time = step * np.arange(first, first + count)
    counts = {"iterations": np.full(count, 3), "work": np.full((count, 5), (2, 1, 30, 4, 5))}
    marks = {
        "broken": np.zeros((count, p), np.int64),
        **dict.fromkeys(("free", "singular"), np.zeros((count, m), bool)),
        "undetermined": np.zeros((count, 4), bool),
        **dict.fromkeys(("rest", "lost", "linear"), np.full(count, None)),
    }
    return Block(time=time, gradient_error=np.zeros(count), **counts, **marks, **fields)
