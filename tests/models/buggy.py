"""The buggy's manoeuvres run in this process, with changed numbers or further sensors."""

from pathlib import Path

import numpy as np
import yaml

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.objectives import accumulator
from tests.models.command import ROOT

MODELS = ROOT / "models"
CORNERS = ("fl", "fr", "rl", "rr")
WHEELED = ("lower", "upper", "knuckle", "wheel")
BODIES = ("chassis", "rack", *(f"{corner}_{body}" for corner in CORNERS for body in WHEELED))


def manoeuvre(path: Path, values: dict[str, float] | None = None, **options):
    """Time (N,), sensors (N, k) by name, and the value and gradient of psi."""
    file = spec.load(path, {name: repr(float(value)) for name, value in (values or {}).items()})
    assembled = assembly.build(file, **({"sensitivity": "none"} | options))
    psi = accumulator(assembled.objectives[0], len(assembled.parameters))
    times, rows = [], []
    for block in forward(assembled.problem):
        psi.add(block)
        times.append(block.time.copy())
        rows.append(block.sensors.copy())
    sensors = np.concatenate(rows)
    by_name = {name: sensors[:, columns] for name, columns in assembled.sensor_rows.items()}
    return np.concatenate(times), by_name, psi


def over(folder: Path, model: str, sections: dict) -> Path:
    """A file that lays sections over a model."""
    path = folder / "over.yaml"
    path.write_text(yaml.safe_dump({"mbsim": 1, "include": [str(MODELS / model)]} | sections))
    return path
