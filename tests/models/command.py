"""The `mbsim` command for tests of model files, in this process, which imports what it needs once."""

import io
import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from mbsim_cli.cli import outcome

ROOT = Path(__file__).parents[2]


def mbsim(*arguments: str) -> dict:
    """JSON of a command that must exit 0."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with chdir(ROOT), redirect_stdout(out), redirect_stderr(err):
        code = outcome.call([*arguments, "--json"])
    answer, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    assert code == 0, f"mbsim {' '.join(arguments)} exited {code}\n{told}\n{answer}"
    return json.loads(answer)


def run(model: Path, output: Path, *arguments: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Objectives (k,) and gradients by parameter, (k,) each, of `mbsim run`."""
    objectives = mbsim("run", str(model), "-o", str(output), "--force", "--quiet", *arguments)["objectives"].values()
    names = next(iter(objectives)).get("gradient") or {}
    values = np.array([objective["value"] for objective in objectives])
    return values, {name: np.array([objective["gradient"][name] for objective in objectives]) for name in names}
