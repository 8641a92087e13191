"""Runs the tool as users do, in a folder of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mbsim_cli.cli import outcome

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "mbsim_cli")

PENDULUM = """\
mbsim: 1
name: Pendulum
gravity: [0, -9.81, 0]
parameters:
  L: {value: 1.0, unit: m}
  k: {value: 2.0, unit: N m/rad}
points: {O: {ground: [0, 0, 0], rod: [0, 0, 0]}}
bodies: {rod: {shape: {type: rod, length: L, mass: 3 * L}}}
joints: {A: {type: revolute, bodies: [ground, rod], point: O, axis: z, initial: {angle: -60 deg}}}
forces: {spring: {type: rotational_spring_damper, coordinate: A.angle, stiffness: k, damping: 0.1, natural_angle: 0}}
sensors: {angle: {type: coordinate, coordinate: A.angle}}
objectives: {swing: {integral: angle**2, unit: rad^2 s}}
analysis: {type: forward_dynamics, step: 1e-2, duration: 0.5, sensitivity: {method: ddm, parameters: all}}
checks: {freedom: {mobility: 1}}
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)


def ordinary_signals() -> None:
    """For a child: signals end it, also where whoever runs the tests ignores them, as shells do for background jobs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("MBSIM_DEBUG", "PYTHONPATH")}
    return kept | {"PYTHONPATH": str(ROOT)} | extra


@pytest.fixture
def mbsim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., Outcome]:
    """Call the tool in this process, which imports what it needs once, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MBSIM_DEBUG", raising=False)

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = outcome.call(list(map(str, arguments)))
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Outcome]:
    """Call the tool as a process of its own."""

    def call(*arguments: object, **extra: str) -> Outcome:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    return path


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """The pendulum with a piece of its text replaced."""

    def write(old: str, new: str, name: str = "variant.yaml") -> Path:
        assert old in PENDULUM
        path = tmp_path / name
        path.write_text(PENDULUM.replace(old, new))
        return path

    return write


@pytest.fixture(scope="session")
def springs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small study of the five-bar linkage."""
    folder = tmp_path_factory.mktemp("studies") / "springs"
    arguments = [
        "sweep",
        str(ROOT / "models/fivebar.yaml"),
        "springs",
        "--step",
        "5e-3",
        "--duration",
        "0.5",
        "--quiet",
    ]
    assert outcome.call([*arguments, "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def fivebar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Result of a short run of the five-bar linkage with its gradients."""
    result = tmp_path_factory.mktemp("results") / "fivebar.h5"
    arguments = ["run", str(ROOT / "models/fivebar.yaml"), "--step", "5e-3", "--duration", "0.5", "--quiet"]
    assert outcome.call([*arguments, "-o", str(result)]) == 0
    return result
