"""The `mbsim` command as a user runs it, for tests of model files."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
MBSIM = [sys.executable, "-c", "from mbsim_cli.cli.app import main; main()"]


def mbsim(*arguments: str, timeout: float = 600) -> dict:
    """JSON of a command that must exit 0."""
    done = subprocess.run(
        [*MBSIM, *arguments, "--json"], capture_output=True, text=True, cwd=ROOT, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"mbsim {' '.join(arguments)} exited {done.returncode}\n{done.stderr}\n{done.stdout}"
    return json.loads(done.stdout)


def run(model: Path, output: Path, *arguments: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Objectives (k,) and gradients by parameter, (k,) each, of `mbsim run`."""
    objectives = mbsim("run", str(model), "-o", str(output), "--force", "--quiet", *arguments)["objectives"].values()
    names = next(iter(objectives)).get("gradient") or {}
    values = np.array([objective["value"] for objective in objectives])
    return values, {name: np.array([objective["gradient"][name] for objective in objectives]) for name in names}
