"""The picture of a fit: readings over the fitted model, and residuals."""

from pathlib import Path
from typing import TYPE_CHECKING

from mbsim_cli.errors import UsageError
from mbsim_cli.io.target import check_picture, replaced

if TYPE_CHECKING:
    from mbsim_cli.study.fitting.fit import Fit

SUFFIXES = ("png", "svg", "pdf")


def kind_of(path: Path) -> str:
    """Kind of picture that a file name asks for; raises UsageError."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in SUFFIXES:
        raise UsageError(f"{path}: a picture ends in {', '.join('.' + known for known in SUFFIXES)}")
    return kind


def save_picture(fit: "Fit", path: Path, *, force: bool) -> Path:
    """Draw a fit; return the path. Raises UsageError and InputOutputError."""
    from mbsim_cli.report import require_matplotlib

    require_matplotlib()
    kind, target = kind_of(path), check_picture(path, force=force)

    from mbsim_cli.report.fits import Drawn, save_fit

    drawn = [
        Drawn(f"{measurement}.{column}", s.unit, s.time, s.measured, s.computed, s.residuals, held_out)
        for held_out, part in ((False, fit.samples), (True, fit.hold_out))
        for measurement, columns in part.items()
        for column, s in columns.items()
    ]
    with replaced(target, force=force) as temporary:
        save_fit(drawn, temporary, kind, fit.model._file.name or fit.name)
    return path
