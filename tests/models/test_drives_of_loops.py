"""Drives of closed loops: forward runs with known forces, fed back to inverse dynamics, give these forces."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import mbsim_cli

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[2] / "models"
# of each model: drives in time, those that the file has in their place, and how long
DRIVEN = {
    "fivebar.yaml": ({"A.angle": "5*sin(3*t) + 2", "B.angle": "3*cos(2*t)"}, (), 0.5),
    "robots/delta.yaml": (
        {f"arm{i}.angle": f"-{i}*cos(9*t)/2 - 1" for i in (1, 2, 3)},
        ("motor{i}",),
        0.2,
    ),
    "excavator.yaml": (
        {"lift.displacement": "2e5 + 1e4*t", "crowd.displacement": "-6e4*cos(t)", "curl.displacement": "1e4*sin(5*t)"},
        ("{c}_oil",),
        0.2,
    ),
}


def bare(name, drives, laws):
    """The model as data, without laws that drive it, and what reads them."""
    data = yaml.safe_load((MODELS / name).read_text())
    for section in ("checks", "objectives", "optimization", "study"):
        data.pop(section, None)
    data["sensors"] = {}
    for block in data.get("repeat", {}).values():
        block.pop("objectives", None)
        block.pop("sensors", None)
        for law in laws:
            block.get("constraints", {}).pop(law, None)
    for joint in data["joints"].values():
        if isinstance(joint, dict) and "initial" in joint:
            joint["initial"].pop("independent", None)
    return data


@pytest.mark.parametrize(("name", "given"), DRIVEN.items())
def test_forces_of_a_run_come_back(name, given, tmp_path):
    drives, laws, duration = given
    data = bare(name, drives, laws)
    names = {f"drive_{k}": coordinate for k, coordinate in enumerate(drives)}
    forward = dict(data)
    forward["forces"] = data.get("forces", {}) | {
        key: {"type": "drive", "coordinate": coordinate, "value": drives[coordinate]}
        for key, coordinate in names.items()
    }
    forward["analysis"] = {
        "formulation": "ali1p-rtdyn1", "integrator": "rk4", "step": duration / 10,
        "duration": duration,
    }  # fmt: skip
    forward["sensors"] = {
        f"{key}_{order}": {"type": "coordinate", "coordinate": coordinate, "derivative": order}
        for key, coordinate in names.items()
        for order in range(3)
    }
    (tmp_path / "forward.yaml").write_text(yaml.safe_dump(forward, sort_keys=False))
    run = mbsim_cli.load(str(tmp_path / "forward.yaml")).run()
    titles = ["time", *(f"{key}{kind}" for key in names for kind in ("", ".velocity", ".acceleration"))]
    rows = [run.time, *(run[f"{key}_{order}"] for key in names for order in range(3))]
    np.savetxt(
        tmp_path / "run.csv", np.column_stack(rows), fmt="%.17g", delimiter=",", header=",".join(titles), comments=""
    )
    back = dict(data)
    columns = {coordinate: key for key, coordinate in names.items()}
    back["analysis"] = {
        "type": "inverse_dynamics", "sampling": duration / 10, "duration": duration,
        "motion": {"table": {"file": "run.csv", "columns": columns, "derivatives": "table"}},
    }  # fmt: skip
    back["sensors"] = {key: {"type": "torque", "coordinate": coordinate} for key, coordinate in names.items()}
    (tmp_path / "back.yaml").write_text(yaml.safe_dump(back, sort_keys=False))
    found = mbsim_cli.load(str(tmp_path / "back.yaml")).run()
    space = {"sin": np.sin, "cos": np.cos, "t": run.time}
    for key, coordinate in names.items():
        expected = eval(drives[coordinate], space) + 0 * run.time
        size = max(np.abs(eval(text, space)).max() for text in drives.values())
        assert np.abs(found[key] - expected).max() < 1e-9 * size, coordinate


# driven models: the law, the coordinate and the force of each drive, with its sign in kinematics
LED = {
    "robots/stewart.yaml": ([(f"drive{k}", f"leg{k}.displacement", f"F{k}", -1) for k in range(1, 7)], 0.75),
    "robots/delta.yaml": ([(f"motor{k}", f"arm{k}.angle", f"tau{k}.moment.z", 1) for k in range(1, 4)], 0.5),
    "excavator.yaml": ([(f"{c}_oil", f"{c}.displacement", f"{c}_pull", -1) for c in ("lift", "crowd", "curl")], 4),
}


@pytest.mark.parametrize("name", LED)
def test_forces_of_drives_are_the_reactions_of_laws(name):
    """Where laws lead the files as they are."""
    drives, duration = LED[name]
    data = yaml.safe_load((MODELS / name).read_text())
    for section in ("checks", "optimization", "objectives"):
        data.pop(section, None)
    for block in data["repeat"].values():
        block.pop("objectives", None)
    laws, coordinates, forces, signs = zip(*drives, strict=True)
    data["analysis"] = {"type": "kinematics", "sampling": duration / 5, "duration": duration}
    reactions = mbsim_cli.loads(data).run()
    data["analysis"] |= {"type": "inverse_dynamics", "motion": {"constraints": list(laws)}, "drives": list(coordinates)}
    for block in data["repeat"].values():
        block.pop("sensors")
    of = {law: {"type": "torque", "coordinate": coordinate} for law, coordinate in zip(laws, coordinates, strict=True)}
    data["sensors"] = {f"of_{law}": sensor for law, sensor in of.items()}
    found = mbsim_cli.loads(data).run()
    size = max(np.abs(reactions[force]).max() for force in forces)
    for law, force, sign in zip(laws, forces, signs, strict=True):
        assert np.abs(found[f"of_{law}"] - sign * reactions[force]).max() < 1e-10 * size, law
