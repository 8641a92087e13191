"""Where the time of a run goes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter


@dataclass
class Timing:
    """Seconds spent, as ``run --json`` reports them; together about what the command takes."""

    load: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    estimate: float = 0.0
    write: float = 0.0

    _within = 0.0  # seconds of phases inside the one that runs

    @contextmanager
    def phase(self, name: str, begun: float | None = None) -> Iterator[None]:
        """Count what is done here to a phase, and not to one around it; ``begun`` tells of an earlier beginning."""
        start = perf_counter() if begun is None else begun
        around, self._within = self._within, 0.0
        try:
            yield
        finally:
            spent = perf_counter() - start
            setattr(self, name, getattr(self, name) + spent - self._within)
            self._within = around + spent

    def move(self, seconds: float, name: str, to: str) -> None:
        """Count seconds to another phase."""
        setattr(self, name, getattr(self, name) - seconds)
        setattr(self, to, getattr(self, to) + seconds)
