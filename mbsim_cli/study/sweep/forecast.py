"""What a study will take, told by a few of its cases."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.computing import Case, Evaluator, several, together_of
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
    lanes: int  # cases that are computed together

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
    begun, sizes = perf_counter(), []
    seconds: list[tuple[int, float]] = []  # of a case, computed with so many
    with listener.progress("pilot cases", count) as show:
        while pilots and perf_counter() - begun < PATIENCE:
            together, start = min(together_of(evaluator), len(pilots)), perf_counter()
            group, pilots = pilots[:together], pilots[together:]
            for row, kept in several(evaluator, group):
                sizes.append(len(framed(encoded(row))) + (len(framed(kept)) if kept else 0))
                show(len(sizes))
                listener.poll()
            seconds.append((together, (perf_counter() - start) / together))
    usual = [time for together, time in seconds if together == max(seconds)[0]]  # the first one is computed alone
    mean, size = (sum(numbers) / max(len(numbers), 1) for numbers in (usual, sizes))
    collected = 8 * (plan.numbers + len(plan.varied) + 3)
    whole = round(len(cases) * (size + collected + 8 * len(plan.varied)))
    return Forecast(len(cases), len(sizes), workers, start_seconds, mean, size, whole, together_of(evaluator))
