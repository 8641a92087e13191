"""What a study will take, told by a few of its cases."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.computing import Case, Evaluator
from mbsim_cli.study.sweep.frames import framed
from mbsim_cli.study.sweep.outcomes import encoded
from mbsim_cli.study.sweep.study_plan import StudyPlan

PILOTS = 8  # at most
PATIENCE = 60.0  # s after which no further pilot case begins


@dataclass(frozen=True)
class Forecast:
    """Times in seconds; ``start_seconds`` is what each worker takes before its first case."""

    cases: int
    pilots: int
    workers: int
    start_seconds: float
    case_seconds: float
    bytes_per_case: float
    bytes: int

    @property
    def processor_hours(self) -> float:
        """Of all workers together."""
        return (self.workers * self.start_seconds + self.cases * self.case_seconds) / 3600

    @property
    def seconds(self) -> float:
        """By the clock."""
        return self.start_seconds + self.case_seconds * self.cases / self.workers

    @property
    def report(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"seconds": self.seconds, "processor_hours": self.processor_hours}


def forecast(
    plan: StudyPlan,
    cases: Sequence[Case],
    evaluator: Evaluator,
    start_seconds: float,
    workers: int,
    listener: Listener,
) -> Forecast:
    """Compute some of the cases, from all over the study, and reckon with their mean."""
    count = min(PILOTS, len(cases))
    pilots = [cases[(2 * i + 1) * len(cases) // (2 * count)] for i in range(count)]
    begun, seconds, sizes = perf_counter(), [], []
    with listener.progress("pilot cases", count) as show:
        for done, case in enumerate(pilots, 1):
            start = perf_counter()
            row, kept = evaluator(case)
            seconds.append(perf_counter() - start)
            sizes.append(len(framed(encoded(row))) + (len(framed(kept)) if kept else 0))
            show(done)
            listener.poll()
            if perf_counter() - begun > PATIENCE:
                break
    mean, size = (sum(numbers) / max(len(numbers), 1) for numbers in (seconds, sizes))
    collected = 8 * (plan.numbers + len(plan.varied) + 3)
    whole = round(len(cases) * (size + collected + 8 * len(plan.varied)))
    return Forecast(len(cases), len(seconds), workers, start_seconds, mean, size, whole)
