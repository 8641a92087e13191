"""Cases one after another, in this process."""

from collections import deque
from collections.abc import Generator

from mbsim_cli.study.sweep.computing import Case, Computed, Evaluator, several, together_of


class InProcess:
    """The one worker is the program itself."""

    def __init__(self, evaluator: Evaluator):
        self._evaluator = evaluator

    @property
    def together(self) -> int:
        """How many cases are computed together."""
        return together_of(self._evaluator)

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases in their order."""
        while waiting:
            group = [waiting.popleft() for _ in range(min(self.together, len(waiting)))]
            yield from several(self._evaluator, group)
