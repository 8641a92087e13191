"""A result file of a run that is over, from what is kept of it in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from mbsim_cli.io.facts import Findings, Origin
from mbsim_cli.io.target import check_target
from mbsim_cli.io.writer import ResultWriter
from mbsim_cli.study.recording import findings_of, guard_of
from mbsim_cli.study.run import Outcome

COMMAND = "mbsim_cli.run"


@dataclass(frozen=True)
class Page:
    """All that a result file says beside histories, as plain data."""

    origin: Origin
    findings: Findings
    timing: Mapping[str, float]  # s
    protected: tuple[Path, ...]  # files of the model, which nothing replaces

    def write(self, path: Path, columns: Sequence[np.ndarray], *, force: bool) -> None:
        """Write a result with its histories, time (N,) first; raises InputOutputError."""
        target = check_target(path, force=force, protected=self.protected)
        writer = ResultWriter(target, self.origin, force, self.protected)
        try:
            writer.whole(columns)
            writer.findings(self.findings)
            writer.finish(self.timing, self.findings.warnings, self.findings.work, self.findings.discretisation)
        except BaseException:
            writer.discard()
            raise


def page_of(outcome: Outcome, origin: Origin) -> Page:
    """What is to be said of a run."""
    protected = guard_of(outcome.plan.model_file, False)["protected"]
    return Page(origin, findings_of(outcome), asdict(outcome.timing), protected)
