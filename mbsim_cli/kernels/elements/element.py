"""Forces as elements state them: a value, and what it sees of the mechanism.

A force along a measure sees the measure and its rate. One on bodies sees, as body a of its pair does, vectors of both,
in global axes. Numbers of theta that a vector is stated by have their place in the element's block. How measures and
vectors vary and are pulled back is written once, in ``algorithms/equations``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from mbsim_cli.kernels.compiler.jit import python_of
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.model.codes import Force

ROOM = 120  # numbers that an element may put aside: result and slopes
BY_G, BY_G1 = ROOM - 2, ROOM - 1  # places among them of the slopes of a force along a measure, by g and g'
QUANTITIES = 14  # that sensors may read of an element, at most
ENERGY, POWER = 6, 7  # places among them of the energy that an element stores, and of the power that goes into it


class Sight(NamedTuple):
    """A vector that an element sees."""

    kind: str  # row of the tables of ``forces_on_bodies``
    place: int  # of its numbers in the block of the element
    of: str  # of a velocity: the point's name


# What elements see, by the place of the vector's numbers in the block, or by the name of the point of a velocity.
point = partial(Sight, "point", 0, "")  # a point of body b, from the first numbers of the block
velocity = partial(Sight, "velocity", 0)  # the velocity of such a point against body a
turning = partial(Sight, "turning", 0, "")  # the angular velocity of body b against body a
axis = partial(Sight, "axis", of="")  # a vector of body b
point_of_first = partial(Sight, "point_of_first", of="")  # a point of body a
axis_of_first = partial(Sight, "axis_of_first", of="")  # a vector of body a
given = partial(Sight, "given", of="")  # a vector of the file in axes of the force, with expressions that add to it


class AlongMeasure(Derivatives):
    """Forces of some kinds along a measure or a coordinate, from one value.

    The value takes the measure g and its rate g1, or one of them, and any of: theta, o (its block), t, laws and law
    (all rows of ``Forces.law``) with f (its row). It returns the force, conjugate to g1. ``energy`` is what the force
    stores, of g and the same numbers. ``size`` is how many numbers its block has.
    """

    def __init__(
        self,
        value: Callable[..., Any],
        kinds: tuple[Force, ...],
        size: int,
        energy: Derivatives | None = None,
        rules: tuple[ByHand, ...] = (),
    ):
        arguments = python_of(value).__code__.co_varnames
        inputs, slopes = {x: 1 for x in ("g", "g1") if x in arguments}, {"g": BY_G, "g1": BY_G1}
        super().__init__(value, inputs, ("theta", "o"), rules, ROOM, slopes=slopes)
        self.kinds, self.size, self.energy = kinds, size, energy


class Element(Derivatives):
    """Forces of some kinds, from one value.

    The value takes what it sees by the names in ``sees``, and any of: theta, o (its block), kind, t, laws, law (all
    rows of ``Forces.law``) with f (its row), or road (its first law). It returns the wrench on body b about the origin,
    and, unless ``quantities`` is 0, so many numbers that sensors read, among them energy and power at ``ENERGY``,
    ``POWER``. ``size`` is how many numbers its block has.
    """

    def __init__(
        self,
        value: Callable[..., Any],
        kinds: tuple[Force, ...],
        sees: dict[str, Sight],
        size: int,
        quantities: int = 0,
        rules: tuple[ByHand, ...] = (),
    ):
        arguments = python_of(value).__code__.co_varnames
        sees = {name: sees[name] for name in arguments if name in sees}
        super().__init__(value, dict.fromkeys(sees, 3), ("theta", "o"), rules, ROOM)
        self.kinds, self.sees, self.size, self.quantities = kinds, sees, size, quantities
