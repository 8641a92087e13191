"""Cases one after another, in this process."""

from collections import deque
from collections.abc import Generator

from mbsim_cli.study.sweep.computing import Case, Computed, Evaluator


class InProcess:
    """The one worker is the program itself."""

    def __init__(self, evaluator: Evaluator):
        self._evaluator = evaluator

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases in their order."""
        while waiting:
            yield self._evaluator(waiting.popleft())
