"""Write the measurements of sledge.yaml: scipy's solution of an oscillator, with noise of a fixed seed."""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

TRUTH = {"m": 2.0, "k": 50.0, "c": 0.8, "x_2": 0.07, "b0": 3.0, "d0": 0.015}
NOISE = 1e-3  # m


def position(mass: float, start: float, times: np.ndarray) -> np.ndarray:
    """Position (n,), m, of a mass on the spring that is released from rest, at times that increase."""
    k, c = TRUTH["k"], TRUTH["c"]
    after = np.maximum(times, 0.0)
    found = solve_ivp(
        lambda _, y: [y[1], -(k * y[0] + c * y[1]) / mass], (0.0, after[-1]), [start, 0.0], "DOP853", after,
        rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    return found.y[0]


def runs(seed: int, every: float = 0.05) -> dict[str, tuple[str, np.ndarray]]:
    """Tables by the names of their files: a line of names, and rows."""
    random, times, m = np.random.default_rng(seed), np.arange(0.0, 3.0, every), TRUTH["m"]

    def noise() -> np.ndarray:
        return random.normal(0.0, NOISE, len(times))

    first = 1000.0 * (position(m, 0.1, times - TRUTH["d0"]) + noise()) + TRUTH["b0"]
    second, third = position(m + 1.5, TRUTH["x_2"], times) + noise(), position(m + 0.5, 0.05, times) + noise()
    return {
        "sledge_run1.csv": ("t,x_mm", np.column_stack([times, first])),
        "sledge_run2.csv": ("time,x", np.column_stack([times, second])),
        "sledge_run3.csv": ("time,x", np.column_stack([times, third])),
    }


if __name__ == "__main__":
    for name, (header, rows) in runs(7).items():
        path = Path(__file__).with_name(name)
        np.savetxt(path, rows, fmt="%.7g", delimiter=",", header=header, comments="")
