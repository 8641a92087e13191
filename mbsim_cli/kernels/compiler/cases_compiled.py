"""Eight cases at once, compiled: arithmetic without fused products, as that of single numbers, and joint comparisons.

Rests on how numba registers types and lowers calls to LLVM, which is public in parts only.
"""

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin, lower_getattr
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import register_model

from mbsim_cli.kernels.compiler.simd import CASES, EVERY, WIDTH, Parted, at_most, below, select
from mbsim_cli.kernels.compiler.simd_compiled import Eight, EightModel, found_in, spread

__all__ = ["type_of"]

_BITS, _NUMBERS = ir.IntType(WIDTH), ir.VectorType(ir.DoubleType(), WIDTH)


class Cases(Eight):
    """The same quantity of eight runs."""


_CASES = Cases(name="Cases")
register_model(Cases)(EightModel)


def type_of(given: Any) -> Any:
    """numba's type of an argument."""
    if isinstance(given, tuple):
        return types.BaseTuple.from_types([type_of(x) for x in given], type(given))
    if isinstance(given, np.ndarray) and given.dtype == CASES:
        if not given.flags.c_contiguous:
            raise TypeError("arrays of cases are contiguous")
        return types.Array(_CASES, given.ndim, "C", readonly=not given.flags.writeable, aligned=False)
    return numba.typeof(given)


# Comparisons ----------------------------------------------------------------------------------------------------------


def _comparison(symbol: str, of: Any) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: tuple, kws: dict) -> Any:
            return signature(types.boolean, *args) if isinstance(found_in(args), Cases) else None

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        a, b = (spread(context, builder, x, kind) for x, kind in zip(args, sig.args, strict=True))
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        bits = builder.bitcast(compare(symbol, a, b), _BITS)
        none, every = (builder.icmp_unsigned("==", bits, _BITS(value)) for value in (0, 2**WIDTH - 1))
        with builder.if_then(builder.not_(builder.or_(none, every)), likely=False):
            context.call_conv.return_user_exc(builder, Parted, ())
        return every

    infer_global(of)(Template)
    for other in (Cases, types.Float, types.Integer):
        lower_builtin(of, Cases, other)(lower)
        lower_builtin(of, other, Cases)(lower)


for _symbol, _operator in (
    *(("<", operator.lt), ("<=", operator.le), (">", operator.gt)),
    *((">=", operator.ge), ("==", operator.eq), ("!=", operator.ne)),
):
    _comparison(_symbol, _operator)


def _bits(symbol: str, of: Any) -> None:
    """The bits of the lanes in which a comparison holds."""

    class Template(AbstractTemplate):
        def generic(self, args: tuple, kws: dict) -> Any:
            known = isinstance(found_in(args), Cases) or all(isinstance(a, types.Float) for a in args)
            return signature(types.int64, *args) if known else None

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        a, b = (spread(context, builder, x, kind) for x, kind in zip(args, sig.args, strict=True))
        return builder.zext(builder.bitcast(builder.fcmp_ordered(symbol, a, b), _BITS), ir.IntType(64))

    def lower_one(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        every, none = ir.IntType(64)(EVERY), ir.IntType(64)(0)
        return builder.select(builder.fcmp_ordered(symbol, *args), every, none)

    infer_global(of)(Template)
    lower_builtin(of, types.Float, types.Float)(lower_one)
    for other in (Cases, types.Float, types.Integer):
        lower_builtin(of, Cases, other)(lower)
        lower_builtin(of, other, Cases)(lower)


_bits("<", below)
_bits("<=", at_most)


@infer_global(select)
class _Select(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        found = found_in(args[1:])
        if isinstance(found, Cases):
            return signature(found, types.int64, *args[1:])
        numbers = all(a == types.float64 for a in args[1:])
        return signature(types.float64, types.int64, *args[1:]) if numbers else None


@lower_builtin(select, types.Integer, types.Float, types.Float)
def _choose_one(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    return builder.select(builder.trunc(args[0], ir.IntType(1)), args[1], args[2])


@lower_builtin(select, types.Integer, types.Any, types.Any)
def _choose(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    a, b = (spread(context, builder, x, kind) for x, kind in zip(args[1:], sig.args[1:], strict=True))
    bits = builder.bitcast(builder.trunc(args[0], _BITS), ir.VectorType(ir.IntType(1), WIDTH))
    return builder.select(bits, a, b)


# Functions ------------------------------------------------------------------------------------------------------------


class _OfCases(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        found = found_in(args)
        return signature(found, *args) if isinstance(found, Cases) else None


def _lane_by_lane(function: Any, count: int) -> None:
    """A function of ``count`` numbers, which each lane calls as a single number would."""

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        one = context.get_function(function, signature(types.float64, *[types.float64] * count))
        given = [spread(context, builder, x, kind) for x, kind in zip(args, sig.args, strict=True)]
        result = ir.Constant(_NUMBERS, ir.Undefined)
        for lane in range(WIDTH):
            at = ir.Constant(ir.IntType(32), lane)
            found = one(builder, [builder.extract_element(x, at) for x in given])
            result = builder.insert_element(result, found, at)
        return result

    infer_global(function)(type("_LaneByLane", (_OfCases,), {}))
    others = (Cases, types.Float, types.Integer)
    for kinds in [(Cases,)] if count == 1 else [*((Cases, x) for x in others), *((x, Cases) for x in others)]:
        lower_builtin(function, *kinds)(lower)


def _instruction(function: Any, name: str) -> None:
    """A function that vectors have an instruction for, which rounds as that of single numbers does."""

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        kind = ir.FunctionType(_NUMBERS, [_NUMBERS])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64"), args)

    infer_global(function)(type("_Instruction", (_OfCases,), {}))
    lower_builtin(function, Cases)(lower)


_lane_by_lane(np.sin, 1)
_lane_by_lane(np.cos, 1)
_lane_by_lane(np.exp, 1)
_lane_by_lane(np.log, 1)
_lane_by_lane(np.arctan2, 2)
_instruction(np.sqrt, "sqrt")
_instruction(np.abs, "fabs")
_instruction(abs, "fabs")
_instruction(np.round, "rint")


def _largest(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    """``max`` in each lane: the first of equal numbers."""
    found, *others = (spread(context, builder, x, kind) for x, kind in zip(args, sig.args, strict=True))
    for other in others:
        found = builder.select(builder.fcmp_ordered(">", other, found), other, found)
    return found


infer_global(max)(type("_Max", (_OfCases,), {}))
for _kinds in (
    *((Cases, other) for other in (Cases, types.Float)),
    *((types.Float, Cases), (Cases, Cases, Cases), (Cases, types.Float, Cases)),
):
    lower_builtin(max, *_kinds)(_largest)


@infer_getattr
class _Parts(AttributeTemplate):
    key = Cases

    def resolve_real(self, kind: Any) -> Any:
        return kind

    def resolve_imag(self, kind: Any) -> Any:
        return kind


@lower_getattr(Cases, "imag")
def _imaginary(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return ir.Constant(_NUMBERS, None)


@lower_getattr(Cases, "real")
def _real(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value
