"""Bodies that deform: how far, as linear shapes hold up to a tenth of their size, and whether turning stiffens them."""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.tree.kinematics import poses
from mbsim_cli.model.flexible import (
    J0,
    J2,
    KE,
    MASS,
    ME,
    MODE_ROWS,
    MODES,
    OE1,
    OWN_MODE_ROWS,
    OWN_PAIR_ROWS,
    PAIR_ROWS,
)
from mbsim_cli.model.layout import NONE, FlexibleTree
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.system import cached_property

FAR = 0.1  # mean displacement of a body's points over its radius of gyration: the end of a slender beam turns by 0.15
STIFFER = 1e-2  # stiffness that turning adds, relative: as much is missing in how far the body bends
PLAIN = 1e-6  # of Me: by less the squares of J2 differ from it where nothing stiffens
SAMPLES = 200  # times at which that is found out


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


class _Turning(NamedTuple):
    name: str
    number: int
    columns: list[int]  # of its elastic coordinates
    mass: np.ndarray  # (n, n)
    stiffness: np.ndarray  # (n, n)
    inertia: np.ndarray  # (3, 3) about the origin of its frame, over its largest moment


class StiffeningHealth:
    """Whether bodies turn so fast while they bend that centrifugal stresses, left out, stiffen them, one pass.

    Stresses by a spin W add about W^2 Me to the stiffness Ke of shapes across them (docs/theory/flexible_bodies.md).
    """

    def __init__(self, problem: Problem):
        self._problem, self._bodies = problem, list(_unstiffened(problem))
        self._every = max(1, round(problem.options.duration / problem.options.step) // SAMPLES)
        self._seen = 0
        self._states: list[tuple[np.ndarray, np.ndarray]] = []  # coordinates and rates

    def add(self, block: Block) -> None:
        """Take the next output times in."""
        if self._bodies:
            count = len(block.time)
            rows = np.flatnonzero((self._seen + np.arange(count)) % self._every == 0)
            self._states += [(block.position[row].copy(), block.velocity[row].copy()) for row in rows]
            self._seen += count

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences on bodies that centrifugal stresses would stiffen."""
        if not self._bodies:
            return []
        model, theta = self._problem.model, self._problem.theta.tolist()
        turned = [poses(model.tree, theta, (z + 1e-30j * v).tolist()).R for z, v in self._states]
        found = []
        for body in self._bodies:
            share = _added(body, np.array([R[body.number] for R in turned]), np.array([z for z, _ in self._states]))
            if share > STIFFER:
                found.append(
                    f"body {body.name!r} turns while it bends, so that centrifugal stresses would stiffen it by some "
                    f"{100 * share:.2g} %, which are left out: add rotation to its `stiffening`"
                )
        return found


def _added(body: _Turning, turned: np.ndarray, positions: np.ndarray) -> float:
    """Work of centrifugal stresses at the shape of a body over its elastic energy: the largest values of both in a run.

    ``turned`` (k, 3, 3) are rotation matrices, with rates as their imaginary parts.
    """
    spin = np.einsum("kji,kjl->kil", turned.real, turned.imag / 1e-30)
    spin = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    squared = np.einsum("ki,ij,kj->k", spin, body.inertia, spin)  # about the axis of a rod it stretches nothing
    q = positions[:, body.columns]
    work, energy = (np.einsum("ki,ij,kj->k", q, matrix, q) for matrix in (body.mass, body.stiffness))
    return float((squared * work).max() / energy.max()) if energy.max(initial=0.0) > 0.0 else 0.0


def _unstiffened(problem: Problem) -> Any:
    """Bodies without stiffening by rotation, of runs in joint coordinates: ``poses`` does not take natural ones."""
    tree: Any = problem.model.tree
    if not isinstance(tree, FlexibleTree) or problem.options.natural or problem.options.analysis != "forward_dynamics":
        return
    place = {name: column for column, name in enumerate(problem.names.coordinates)}
    for f, (o, second) in enumerate(zip(tree.block, tree.deviation, strict=True)):
        n, numbers = int(np.diff(tree.elastic)[f]), problem.theta[o:].real
        pairs = numbers[MODES + n * MODE_ROWS :][: n * n * PAIR_ROWS].reshape(n, PAIR_ROWS, n)
        beside = np.abs(pairs[:, J2 : J2 + 3].sum(axis=1) - 2.0 * pairs[:, ME]).max()
        if second != NONE:
            own = problem.theta[second + n * OWN_MODE_ROWS :][: n * n * OWN_PAIR_ROWS].reshape(n, OWN_PAIR_ROWS, n)
            beside = max(beside, np.abs(own[:, OE1 : OE1 + 6]).max())
        if beside > PLAIN * np.abs(pairs[:, ME]).max():
            continue
        xx, yy, zz, xy, xz, yz = numbers[J0 : J0 + 6]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        name = problem.names.bodies[tree.flexible[f]]
        columns = [place[f"{name}.q{k + 1}"] for k in range(n)]
        size = np.linalg.eigvalsh(inertia)[-1]
        yield _Turning(name, int(tree.flexible[f]), columns, pairs[:, ME], pairs[:, KE], inertia / size)


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
