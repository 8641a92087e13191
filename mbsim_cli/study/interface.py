"""What Python programs call: ``import mbsim_cli as mbsim``. Errors are the exceptions of ``errors``."""

from os import PathLike
from pathlib import Path
from typing import Any

from mbsim_cli.io.reader import summary
from mbsim_cli.io.stored import FileRecord
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.model import OPTIONS, Model
from mbsim_cli.study.result import ObjectiveValue, Result
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.verification.comparison import Comparison
from mbsim_cli.study.verification.verify import verify

__all__ = ["Comparison", "Listener", "Model", "ObjectiveValue", "Result", "check", "load", "open", "run"]


def load(
    path: str | PathLike[str], *, all_numbers: bool = False, listener: Listener = SILENT, **values: float
) -> Model:
    """Read and validate a model file; ``values`` replace its parameters. Raises ModelError with all that is wrong.

    With ``all_numbers`` every number of the file is a parameter. The ``listener`` is told of compilation and progress,
    and may end a run.
    """
    return Model(path, all_numbers=all_numbers, listener=listener, **values)


def run(path: str | PathLike[str], **replaced: Any) -> Result:
    """Read a model and run it, as ``Model.run``."""
    return Model(path).run(**replaced)


def check(path: str | PathLike[str], seed: int = 0, listener: Listener = SILENT, **replaced: Any) -> list[Comparison]:
    """What ``mbsim check`` compares: the file's own references, and gradients along a random direction by differences.

    Keyword arguments replace parameters and options of the analysis, as in ``Model.run``.
    """
    options = {name: value for name, value in replaced.items() if name in OPTIONS}
    overrides = {name: repr(float(value)) for name, value in replaced.items() if name not in OPTIONS}
    method = options.pop("sensitivity", "ddm")
    return verify(Path(path), Settings(overrides=overrides, method=method, **options), seed, listener)


def open(path: str | PathLike[str]) -> Result:
    """A result file; histories are read when they are asked for."""
    found = Path(path)
    return Result(FileRecord(found), summary(found))
