"""How far bodies deform: beyond a tenth of their size linear shapes tell little of them."""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.flexible import J0, MASS, ME, MODE_ROWS, MODES, PAIR_ROWS
from mbsim_cli.model.problem import Block, Problem

FAR = 0.1  # mean displacement of a body's points over its radius of gyration: the end of a slender beam turns by 0.15


class _Body(NamedTuple):
    name: str
    columns: list[int]  # of its elastic coordinates
    by_size: np.ndarray  # (n, n): q . by_size q is the square of what is compared with FAR


class BendingHealth:
    """Which bodies deform far, since when and how far at most, one pass."""

    def __init__(self, problem: Problem):
        self._bodies = list(_bodies(problem))
        self._largest = [0.0] * len(self._bodies)
        self._since: list[float | None] = [None] * len(self._bodies)

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        for i, body in enumerate(self._bodies if len(block.time) else ()):
            q = block.position[:, body.columns]
            sizes = np.sqrt(np.maximum(((q @ body.by_size) * q).sum(axis=1), 0.0))
            self._largest[i] = max(self._largest[i], float(sizes.max()))
            if self._since[i] is None and self._largest[i] > FAR:
                self._since[i] = float(block.time[np.argmax(sizes > FAR)])

    @property
    def warnings(self) -> list[str]:
        """Sentences on bodies that deform further than their shapes know."""
        return [
            f"body {body.name!r} deforms by more than a tenth of its size, first at t = {since:.6g} s, "
            f"by {largest:.2g} of it at most: its shapes are linear, and what is no load of its `stiffening` does not "
            "keep it from bending further as it turns or is pulled; a softer body than that is to be several bodies"
            for body, largest, since in zip(self._bodies, self._largest, self._since, strict=True)
            if since is not None
        ]


def _bodies(problem: Problem) -> Any:
    tree: Any = problem.model.tree
    place = {name: column for column, name in enumerate(problem.names.coordinates)}
    for f, o in enumerate(getattr(tree, "block", ())):
        n, name = int(np.diff(tree.elastic)[f]), problem.names.bodies[tree.flexible[f]]
        numbers = problem.theta[o:]
        pairs = numbers[MODES + n * MODE_ROWS :][: n * n * PAIR_ROWS].reshape(n, PAIR_ROWS, n)
        size = numbers[J0 : J0 + 3].sum() / 2 / numbers[MASS]
        if size > 0:
            columns = [place[f"{name}.q{k + 1}"] for k in range(n)]
            yield _Body(name, columns, pairs[:, ME] / numbers[MASS] / size)
