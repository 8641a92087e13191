"""Flexible bodies for tests of kernels: their terms, blocks of theta, and random states."""

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.elements.flexible_work import elastic_work
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import block_size
from mbsim_cli.reduction.data import StandardInput, Taylor, deviates, deviations, entries, shape_of
from mbsim_cli.reduction.reduce import reduced
from tests.reduction.bodies import FULL, brick, crank


class Tree(NamedTuple):
    """What kernels of flexible bodies read of a tree."""

    elastic: np.ndarray
    block: np.ndarray
    deviation: np.ndarray


@dataclass
class State:
    """A motion of a body, in its own axes."""

    w: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    def along(self, other: "State", step: complex) -> "State":
        """Moved along another one's numbers."""
        return State(*(x + step * d for x, d in zip(vars(self).values(), vars(other).values(), strict=True)))


@cache
def body(name: str) -> StandardInput:
    """A solid (undeviating), a stiffened plate, and one whose every term is any number."""
    if name == "solid":
        return reduced(brick(elements=(3, 2, 1), k=4)).sid
    if name == "stiffened":
        return reduced(crank(6, 2, 3, **FULL)).sid
    return anything(5)


BODIES = ("solid", "stiffened", "anything")


def anything(n: int) -> StandardInput:
    """Terms with random numbers, of no body at all; with more than eight modes lanes are filled twice."""
    random = np.random.default_rng(n)

    def term(path: str, orders: int) -> Taylor:
        return Taylor(*(random.normal(size=shape_of(path, n, order)) for order in range(orders)))

    orders = {"mdCM": 2, "J": 3, "Ct": 2, "Cr": 2, "Gr": 2, "Oe": 2}
    names = ("mass", "mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
    sid = StandardInput(**{name: term(name, orders.get(name, 1)) for name in names})
    J = Taylor(*(entries + entries.swapaxes(-1, -2) for entries in sid.J))
    Ct1 = sid.Ct.M1 + sid.Ct.M1.swapaxes(0, 1)
    return replace(sid, J=J._replace(M2=J.M2 + J.M2.swapaxes(0, 1)), Ct=sid.Ct._replace(M1=Ct1))


def packed(sid: StandardInput) -> tuple[Tree, np.ndarray]:
    """The body behind a few other numbers and coordinates."""
    theta = np.concatenate([[9.0, 9.0], entries(sid), deviations(sid)])
    second = 2 + block_size(sid.n) if deviates(sid) else NONE
    return Tree(np.array([1, 1 + sid.n]), np.array([2]), np.array([second])), theta


def random_state(sid: StandardInput, seed: int = 0) -> State:
    random = np.random.default_rng(seed)
    return State(*random.normal(size=(3, 3)), *random.normal(size=(3, sid.n)))


def coordinates(values: np.ndarray) -> np.ndarray:
    """Elastic coordinates behind another one."""
    return np.concatenate([np.zeros(1, values.dtype), values])


def work(tree: Tree, dtype: type = float):
    return elastic_work(tree, dtype)
