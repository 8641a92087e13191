"""Data of the five-bar and timing of runs, for the programs of all peers; needs numpy and nothing of mbsim."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

REPEATS = 5
LENGTH_12, LENGTH_3B = np.sqrt(3.25), np.sqrt(2.0)
LENGTH_A1, CENTRE_A1 = np.sqrt(2.0), np.sqrt(2.0) / 2.0
NATURAL = (np.sqrt(5.0), np.sqrt(4.25))
STIFFNESS, GRAVITY = 100.0, 9.81
B = np.array([1.0, 0.0, 0.0])
ANGLES = (-0.75 * np.pi, np.arctan2(-1.0, 1.5), np.arctan2(1.0, 1.5))  # of bars A1, 12 and 23, absolute


def reference() -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and positions (N, 2) of point 2, from the file that the first argument names."""
    data = json.loads(Path(sys.argv[1]).read_text())
    return np.array(data["time"]), np.array(data["p2"])


def reference_of_gradients() -> np.ndarray:
    """Derivatives (N, 2, 5) of these positions by the five parameters, from the same file."""
    return np.array(json.loads(Path(sys.argv[1]).read_text())["d_p2"])


def report_gradients(setting: str, run: Callable[[], np.ndarray], expected: np.ndarray) -> None:
    """The same of derivatives (N, 2, 5); the error is relative to the largest of each parameter."""
    size = np.abs(expected).max(axis=(0, 1))
    report(
        setting, lambda: (run() / size).reshape(len(expected), -1), (expected / size).reshape(len(expected), -1), "d"
    )


def report(setting: str, run: Callable[[], np.ndarray], expected: np.ndarray, note: str = "") -> None:
    """Print the error of a run that returns positions (N, 2), and the processor time of the quickest of some."""
    found, times = run(), []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    error = float(np.linalg.norm(found - expected, axis=1).max())
    print(json.dumps({"setting": setting, "error": error, "seconds": min(times), "note": note}), flush=True)
