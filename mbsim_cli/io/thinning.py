"""Which instants of a run are kept: every so many, and the last."""


class Thinning:
    """Counts the instants that go by, block by block."""

    def __init__(self, every: int):
        self._every = every
        self._seen = 0

    def of(self, count: int) -> tuple[slice, bool]:
        """Which of the next ``count`` instants are kept, and whether the last of them is one."""
        picked = slice((-self._seen) % self._every, None, self._every)
        self._seen += count
        return picked, (self._seen - 1) % self._every == 0
