"""Arrays of eight cases in plain Python, with one answer of a comparison or none, as ``simd_compiled`` has them."""

import operator
import sys

import numpy as np

from mbsim_cli.kernels.compiler import simd
from mbsim_cli.kernels.compiler.simd import Parted

WIDTH = 8


def take_blocks_of_eight(monkeypatch):
    """Let kernels as plain Python fill blocks of eight, as compiled ones do; elsewhere tests choose two."""
    chosen = {"WIDTH": (simd.WIDTH, WIDTH), "EVERY": (simd.EVERY, 2**WIDTH - 1)}
    for module in [module for name, module in sys.modules.items() if name.startswith("mbsim_cli.kernels.")]:
        for name, (before, value) in chosen.items():
            if vars(module).get(name) == before:
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(simd, "CASES", np.dtype([("lanes", np.float64, (WIDTH,))]))


class Eight:
    """The same number of eight cases."""

    def __init__(self, lanes):
        self.lanes = lanes

    @property
    def real(self):
        return self

    @property
    def imag(self):
        return Eight(np.zeros(WIDTH))

    def __array_ufunc__(self, function, method, *given):
        return _joint(function(*map(_lanes, given)))

    def __neg__(self):
        return Eight(-self.lanes)

    def __abs__(self):
        return Eight(np.abs(self.lanes))


def _lanes(x):
    return x.lanes if isinstance(x, Eight) else x


def _joint(found):
    if found.dtype != bool:
        return Eight(found)
    if found.any() != found.all():
        raise Parted
    return bool(found.all())


def _teach(name):
    function = getattr(operator, name)
    setattr(Eight, f"__{name}__", lambda a, b: _joint(function(a.lanes, _lanes(b))))
    if name in ("add", "sub", "mul", "truediv"):
        setattr(Eight, f"__r{name}__", lambda a, b: _joint(function(_lanes(b), a.lanes)))


for _name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne"):
    _teach(_name)
for _name in ("sin", "cos", "sqrt", "arctan2", "rint"):
    setattr(Eight, _name, lambda *given, f=getattr(np, _name): Eight(f(*map(_lanes, given))))


class EightArray:
    """An array of them, upon plain numbers (..., WIDTH)."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.shape, self.size = numbers.shape[:-1], int(np.prod(numbers.shape[:-1]))

    def __getitem__(self, index):
        part = self.numbers[index]
        return Eight(part.copy()) if part.ndim == 1 else EightArray(part)

    def __setitem__(self, index, value):
        self.numbers[index] = _lanes(value)

    def reshape(self, *shape):
        return EightArray(self.numbers.reshape(*shape, WIDTH))


def widened(group):
    """Twin of ``_cases.widened``."""
    if isinstance(group, tuple):
        return type(group)(*map(widened, group))
    if not isinstance(group, np.ndarray) or group.dtype != np.float64:
        return group
    return EightArray(np.repeat(group[..., None], WIDTH, axis=-1))


def _bits(compare):
    def bits(x, y):
        return int(np.packbits(np.broadcast_to(compare(_lanes(x), _lanes(y)), WIDTH), bitorder="little")[0])

    return bits


below, at_most = _bits(np.less), _bits(np.less_equal)


def select(bits, x, y):
    """Twin of ``simd.select``, of numbers of one case too."""
    if not isinstance(x, Eight) and not isinstance(y, Eight):
        return x if bits & 1 else y
    return Eight(np.where(bits >> np.arange(WIDTH) & 1, _lanes(x), _lanes(y)))


def largest(*given):
    """``max`` in each lane, where any of them has lanes."""
    if not any(isinstance(x, Eight) for x in given):
        return max(*given)
    return Eight(np.maximum.reduce([np.broadcast_to(_lanes(x), WIDTH) for x in given]))
