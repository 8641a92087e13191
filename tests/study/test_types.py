"""What a strict type checker says of a program that uses the library: nothing, but of a name that there is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
from pathlib import Path

import numpy as np

import mbsim_cli as mbsim


class Quiet(mbsim.Listener):
    def poll(self) -> None:
        raise mbsim.Interrupted


model = mbsim.load("fivebar.yaml", by=["L_s1", "L_A1"], all_numbers=True, listener=Quiet(), L_A1=1.4)
result: mbsim.Result = model.run({"L_s1": 2.2}, L_A1=1.4, duration=0.5, step="auto", sensitivity="ddm")
widest: float = (model.bounds[:, 1] - model.run(model.rho).sensitivity("r2.y")).max()
largest: float = result["r2"].max() + result.objectives["psi1"].by("L_A1")
value, gradient = model.value_and_gradient([1.0, 2.0], "psi1")
length: float = value + float(np.linalg.norm(gradient @ model.hessian(gradient, "psi1")))
passed: list[bool] = [row.passed for row in mbsim.check("fivebar.yaml", seed=1)]
path: Path = result.save("fivebar.h5", force=True)
study: mbsim.Study = mbsim.sweep("fivebar.yaml", {"zip": {"L_A1": np.ones(3)}}, path.parent, workers=2, step=0.1)
mean: float = model.sweep("springs", keep="sensors")["psi1"].mean() + study.gradients.sum()
planned = model.plan({"grid": {"L_s1": [2.2, 2.3]}}, "large", keep="full", force=True, step=0.1)
foretold: mbsim.Forecast = planned.forecast(workers=2, shard=(1, 4))
rows = planned.compute(shard=(1, 4), failed=True, retry=2)
hours: float = rows.seconds.sum() + foretold.seconds + foretold.between[1]
residuals: mbsim.Residuals = model.residuals({"r2": result["r2"]}, scales={"r2": 1e-3}, duration=0.1)
least: float = residuals(model.rho).max() + residuals.jacobian([2.2, 1.4]).min()
names: tuple[str, ...] = mbsim.open_study("springs").varied + study.objectives
best = study.extract(int(study.results[:, 0].argmin())).objectives["psi1"].value + study.sensitivity("psi1", "L_A1")[0]
frame, tree = study.to_pandas(), study.to_xarray()
warnings: list[str] = mbsim.optimize("fivebar.yaml", "calm", evaluations=3).warnings
try:
    shapes = {name: values.shape for name, values in mbsim.open("fivebar.h5").items()}
except mbsim.ModelError as error:
    lines: list[int] = [issue.line for issue in error.issues]
mbsim.lod("fivebar.yaml")
"""


@pytest.mark.slow
def test_a_strict_type_checker_finds_the_name_that_is_wrong_and_nothing_else(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"]
    environment = {**os.environ, "MYPYPATH": str(Path(__file__).parents[2])}
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    assert 'error: Module has no attribute "lod"' in said and "Found 1 error in 1 file" in said, said
