"""Studies without a model: cases whose numbers are known, and that do what their first value says."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.sweep.store import DONE, FAILED, LOST, Case, Computed, Evaluator, Row, case_identities
from mbsim_cli.study.sweep.study_folder import Quantity, StudyPlan

FAILS, DIES, HANGS, SLOW = -1.0, -2.0, -3.0, -4.0


def plan_of(cases: int, **changed) -> StudyPlan:
    known = {
        "study": "s",
        "sampler": {},
        "cases": cases,
        "varied": [Quantity("a", "m"), Quantity("b")],
        "objectives": [Quantity("f", "J")],
        "parameters": [Quantity("a", "m"), Quantity("b")],
        "sensors": [],
        "full": False,
        "content": "content",
        "folder": "/nowhere",
        "file": "model.yaml",
        "texts": {},
        "tables": {},
        "settings": {"overrides": {}, "method": "ddm"},
        "command": "",
        "created": "",
        "mbsim_version": "0",
    }
    return StudyPlan(**known | changed)


def plan_study(path: Path, request: Any, settings: Any) -> tuple[StudyPlan, np.ndarray]:
    """The plan of a study of a model, and its values (N, v)."""
    from mbsim_cli.study.assembling import load
    from mbsim_cli.study.sweep.planning import plan_of

    return plan_of(load(path, settings), request, settings, "", SILENT)


def values_of(cases: int) -> np.ndarray:
    return np.random.default_rng(3).random((cases, 2))


def row_of(case: Case, status: int = DONE) -> Row:
    """f = a b^2, with its derivatives."""
    a, b = case.values
    remarks = {} if status == DONE else {"failure": "as it was told"}
    numbers = np.array([a * b**2, b**2, 2 * a * b]) if status == DONE else np.zeros(0)
    return Row(case.number, case.identity, status, 0.25, numbers, remarks)


def cases_of(values: np.ndarray, content: str = "content") -> list[Case]:
    return [Case(i, *pair) for i, pair in enumerate(zip(case_identities(content, values), values, strict=True))]


def evaluate(case: Case) -> Computed:
    """Fails, dies or hangs where the second value says so."""
    told = case.values[1]
    if told == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    if told == HANGS:
        time.sleep(60)
    if told == SLOW:
        time.sleep(0.5)
    return Computed(row_of(case, FAILED if told == FAILS else DONE), b"kept %d" % case.number)


class OneByOne(Evaluator):
    """An evaluator that a function makes."""

    def __init__(self, evaluate=evaluate):
        self._evaluate = evaluate

    def __call__(self, case: Case) -> Computed:
        return self._evaluate(case)


def start(listener: Listener):
    """What a worker does first."""
    return OneByOne()


class Grouped(Evaluator):
    """Computes eight cases together once it has seen one; none of them is told before all are computed."""

    def __init__(self):
        self.batch_size, self.sizes = 1, []

    def __call__(self, case: Case) -> Computed:
        self.batch_size = 8
        self.sizes.append(1)
        return evaluate(case)

    def compute_batch(self, cases: list[Case]) -> Iterator[Computed]:
        if len(cases) == 1:
            return iter([self(cases[0])])
        self.sizes.append(len(cases))
        return iter([evaluate(case) for case in cases])


def start_grouped(listener: Listener):
    return Grouped()


def start_refused(listener: Listener):
    raise AnalysisError("nothing can be computed here")


def start_dead(listener: Listener):
    os.kill(os.getpid(), signal.SIGKILL)


class DiesOnce:
    """Dies at a case unless it has before; a file remembers."""

    def __init__(self, memory: Path):
        self.memory = memory

    def __call__(self, listener: Listener):
        def evaluate_once(case: Case) -> Computed:
            if case.values[1] == DIES and not self.memory.exists():
                self.memory.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return Computed(row_of(case))

        return OneByOne(evaluate_once)


class Unsteady:
    """Workers in this process, of which the first attempts at some cases are lost."""

    batch_size = 1

    def __init__(self, losses: dict[int, int]):
        self.losses = dict(losses)

    def compute(self, waiting):
        while waiting:
            case = waiting.popleft()
            lost = self.losses.get(case.number, 0)
            self.losses[case.number] = lost - 1
            yield Computed(row_of(case, LOST)) if lost > 0 else evaluate(case)
