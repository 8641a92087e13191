"""Eight directions and eight cases at once, compiled: numbers whose arithmetic is that of vector instructions.

Directions may fuse a product with the sum that takes it. Cases have the arithmetic of single numbers, to the last bit,
and compare jointly. Rests on how numba registers types and lowers calls to LLVM, which is public in parts only.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import models, register_model

from mbsim_cli.kernels.compiler.simd import (
    CASES,
    EVERY,
    WIDTH,
    Parted,
    add_product,
    add_to,
    as_column,
    at,
    at_most,
    below,
    block,
    flat,
    largest,
    only,
    put,
    select,
    squares,
    total,
    width,
)

_VECTOR, _LANE, _BITS = ir.VectorType(ir.DoubleType(), WIDTH), ir.IntType(32), ir.IntType(WIDTH)


# The types ------------------------------------------------------------------------------------------------------------


class Eight(types.Type):
    """WIDTH doubles. Numbers convert to it, so that a sum may start from zero."""

    flags: tuple[str, ...] = ()  # of LLVM's instructions

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if isinstance(other, types.Number) and not isinstance(other, types.Complex) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if self.can_convert_from(typingctx, other) is not None else None


class Lanes(Eight):
    """Directions: products may be fused with the sum that takes them."""

    flags = ("contract",)


class Cases(Eight):
    """The same quantity of eight runs."""


class Block(types.Type):
    """An index of WIDTH neighbouring columns."""


LANES, BLOCK, _CASES = Lanes(name="Lanes"), Block(name="Block"), Cases(name="Cases")


@register_model(Lanes)
@register_model(Cases)
@register_model(Block)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.IntType(64) if isinstance(fe_type, Block) else _VECTOR)


def type_of(given: Any) -> Any:
    """numba's type of an argument of an entry."""
    if isinstance(given, tuple):
        return types.BaseTuple.from_types([type_of(x) for x in given], type(given))
    if isinstance(given, np.ndarray) and given.dtype == CASES:
        if not given.flags.c_contiguous:
            raise TypeError("arrays of cases are contiguous")
        return types.Array(_CASES, given.ndim, "C", readonly=not given.flags.writeable, aligned=False)
    return numba.typeof(given)


def _returns(*functions: Any) -> Callable[[Callable], None]:
    """Tell numba what functions return, by the types that they are given; None where others know."""

    def note(kind: Callable) -> None:
        class Template(AbstractTemplate):
            def generic(self, args: tuple, kws: dict) -> Any:
                found = kind(*args)
                return None if found is None else signature(found, *args)

        for function in functions:
            infer_global(function)(Template)

    return note


def _lower_pairs(function: Any, kind: Any, lower: Callable) -> None:
    """Lower a function of two numbers, one or both of which are of a kind."""
    for other in (kind, types.Float, types.Integer):
        lower_builtin(function, kind, other)(lower)
        lower_builtin(function, other, kind)(lower)


def _spread(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    """The value in every lane."""
    if isinstance(kind, Eight):
        return value
    value = context.cast(builder, value, kind, types.float64)
    nothing, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_LANE, WIDTH), [0] * WIDTH)
    first = builder.insert_element(nothing, value, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, nothing, zeros)


def _lanes(builder: Any, value: Any) -> Iterator[Any]:
    """The number in each lane."""
    return (builder.extract_element(value, ir.Constant(_LANE, lane)) for lane in range(WIDTH))


def _where(builder: Any, lanes: int, bits: Any, a: Any, b: Any) -> Any:
    """a in the lanes whose bits are set, b in the others."""
    bits = builder.trunc(bits, ir.IntType(lanes))
    if lanes > 1:
        bits = builder.bitcast(bits, ir.VectorType(ir.IntType(1), lanes))
    return builder.select(bits, a, b)


def _largest_of(builder: Any, values: Iterable[Any]) -> Any:
    """The first of equal numbers, in each lane of vectors."""
    value, *others = values
    for other in others:
        value = builder.select(builder.fcmp_ordered(">", other, value), other, value)
    return value


def _all_spread(context: Any, builder: Any, kinds: tuple, args: tuple) -> list:
    return [_spread(context, builder, x, kind) for x, kind in zip(args, kinds, strict=True)]


@lower_cast(types.Number, Eight)
def _cast(context, builder, from_type, to_type, value):
    return _spread(context, builder, value, from_type)


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _found_in(*args: Any) -> Eight | None:
    """Which of the types stands for eight numbers, all others being plain; None where it is not like that."""
    found = {a for a in args if isinstance(a, Eight)}
    known = all(isinstance(a, (Eight, types.Float, types.Integer)) for a in args)
    return found.pop() if known and len(found) == 1 else None


def _binary(instruction: str, *operators: Any) -> None:
    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        given = _all_spread(context, builder, sig.args, args)
        return getattr(builder, instruction)(*given, flags=sig.return_type.flags)

    _returns(*operators)(_found_in)
    for each in operators:
        _lower_pairs(each, Eight, lower)


_binary("fadd", operator.add, operator.iadd)
_binary("fsub", operator.sub, operator.isub)
_binary("fmul", operator.mul, operator.imul)
_binary("fdiv", operator.truediv, operator.itruediv)

_returns(operator.neg)(lambda x: x if isinstance(x, Eight) else None)


@lower_builtin(operator.neg, Eight)
def _negate(context, builder, sig, args):
    return builder.fneg(args[0])


# Reading and writing --------------------------------------------------------------------------------------------------


def _takes_lanes(array: Any, index: Any) -> bool:
    if isinstance(index, Block) and array.layout != "C":
        raise TypingError(f"directions must be contiguous, along the last axis; this array is {array}")
    return isinstance(index, Block) and array.dtype == types.float64


def _pointer(context: Any, builder: Any, sig: Any, args: tuple, count: int) -> Any:
    """Address of an entry, and whether it is that of WIDTH numbers."""
    kind = sig.args[0]
    array = context.make_array(kind)(context, builder, args[0])
    index = [
        value if isinstance(t, Block) else context.cast(builder, value, t, types.intp)
        for value, t in zip(args[1 : 1 + count], sig.args[1 : 1 + count], strict=True)
    ]
    shape = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
    strides = cgutils.unpack_tuple(builder, array.strides, kind.ndim)
    if kind.ndim == 3:  # rows of bodies: -1 is the ground, the last one
        last = builder.add(shape[0], index[0])
        index[0] = builder.select(builder.icmp_signed("<", index[0], index[0].type(0)), last, index[0])
    pointer = cgutils.get_item_pointer2(context, builder, array.data, shape, strides, kind.layout, index)
    return pointer, _takes_lanes(kind, sig.args[count])


def _load(context: Any, builder: Any, kind: Any, pointer: Any, many: bool) -> Any:
    if not many:
        return context.unpack_value(builder, kind.dtype, pointer)
    value = builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()))
    value.align = 8
    return value


def _store(context: Any, builder: Any, kind: Any, pointer: Any, many: bool, value: Any) -> None:
    if not many:
        context.pack_value(builder, kind.dtype, value, pointer)
        return
    builder.store(value, builder.bitcast(pointer, _VECTOR.as_pointer())).align = 8


_returns(at)(lambda array, *index: LANES if _takes_lanes(array, index[-1]) else array.dtype)
_returns(put, add_to, add_product)(lambda *args: types.none)


@lower_builtin(at, types.Array, types.VarArg(types.Any))
def _read(context, builder, sig, args):
    pointer, many = _pointer(context, builder, sig, args, len(args) - 1)
    return _load(context, builder, sig.args[0], pointer, many)


def _given(context: Any, builder: Any, sig: Any, args: tuple, many: bool) -> Any:
    if many:
        return _spread(context, builder, args[-1], sig.args[-1])
    return context.cast(builder, args[-1], sig.args[-1], sig.args[0].dtype)


@lower_builtin(put, types.Array, types.VarArg(types.Any))
def _write(context, builder, sig, args):
    pointer, many = _pointer(context, builder, sig, args, len(args) - 2)
    _store(context, builder, sig.args[0], pointer, many, _given(context, builder, sig, args, many))
    return context.get_dummy_value()


@lower_builtin(add_to, types.Array, types.VarArg(types.Any))
def _accumulate(context, builder, sig, args):
    pointer, many = _pointer(context, builder, sig, args, len(args) - 2)
    kind = sig.args[0]
    before, given = _load(context, builder, kind, pointer, many), _given(context, builder, sig, args, many)
    if isinstance(kind.dtype, types.Complex):
        after = _of_numbers(operator.add, context, builder, kind.dtype, before, given)
    else:
        after = builder.fadd(before, given, flags=("contract",))
    _store(context, builder, kind, pointer, many, after)
    return context.get_dummy_value()


@lower_builtin(add_product, types.Array, types.VarArg(types.Any))
def _accumulate_product(context, builder, sig, args):
    pointer, many = _pointer(context, builder, sig, args, len(args) - 3)
    kind = sig.args[0]
    before = _load(context, builder, kind, pointer, many)
    if many or isinstance(kind.dtype, Eight):
        a, b = _all_spread(context, builder, sig.args[-2:], args[-2:])
        after = builder.fadd(before, builder.fmul(a, b, flags=("contract",)), flags=("contract",))
    else:
        a, b = (context.cast(builder, x, t, kind.dtype) for x, t in zip(args[-2:], sig.args[-2:], strict=True))
        product = _of_numbers(operator.mul, context, builder, kind.dtype, a, b)
        after = _of_numbers(operator.add, context, builder, kind.dtype, before, product)
    _store(context, builder, kind, pointer, many, after)
    return context.get_dummy_value()


def _of_numbers(function: Any, context: Any, builder: Any, kind: Any, a: Any, b: Any) -> Any:
    """Sum or product of two numbers of the same kind."""
    return context.get_function(function, signature(kind, kind, kind))(builder, (a, b))


_returns(width)(lambda array: types.intp)


@lower_builtin(width, types.Array)
def _width_of(context, builder, sig, args):
    kind = sig.args[0]
    if kind.dtype != types.float64:
        return context.get_constant(types.intp, 1)
    # the last block would reach beyond the array, and beyond what it may write
    count = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, args[0]).shape, kind.ndim)[-1]
    left = builder.and_(count, count.type(WIDTH - 1))
    with builder.if_then(builder.icmp_signed("!=", left, count.type(0)), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (f"directions must fill blocks of {WIDTH}",))
    return context.get_constant(types.intp, WIDTH)


_returns(block)(lambda array, g: BLOCK if array.dtype == types.float64 else types.intp)


@lower_builtin(block, types.Array, types.Integer)
def _block_of(context, builder, sig, args):
    return context.cast(builder, args[1], sig.args[1], types.intp)


_returns(only)(lambda x, bits: x)


@lower_builtin(only, types.Any, types.Integer)
def _choose(context, builder, sig, args):
    x, bits = args
    return _where(builder, WIDTH if isinstance(sig.args[0], Lanes) else 1, bits, x, ir.Constant(x.type, None))


_returns(squares)(lambda x: x if isinstance(x, Eight) else types.float64)


@lower_builtin(squares, types.Float)
@lower_builtin(squares, Eight)
def _square(context, builder, sig, args):
    return builder.fmul(args[0], args[0])


@lower_builtin(squares, types.Complex)
def _squares_of_parts(context, builder, sig, args):
    value = context.make_complex(builder, sig.args[0], args[0])
    return builder.fadd(builder.fmul(value.real, value.real), builder.fmul(value.imag, value.imag))


_returns(total, largest)(lambda x: types.float64 if isinstance(x, Lanes) else x)


@lower_builtin(largest, Lanes)
def _largest_of_lanes(context, builder, sig, args):
    return _largest_of(builder, _lanes(builder, args[0]))


@lower_builtin(largest, types.Float)
@lower_builtin(largest, Eight)
@lower_builtin(total, Eight)
@lower_builtin(total, types.Float)
@lower_builtin(total, types.Complex)
def _one(context, builder, sig, args):
    return args[0]


@lower_builtin(total, Lanes)
def _sum_of_lanes(context, builder, sig, args):
    return reduce(builder.fadd, _lanes(builder, args[0]), ir.Constant(ir.DoubleType(), 0.0))


# Contiguous arrays seen in another shape: numba's own ``reshape`` calls a function each time --------------------------


def _viewed(array: Any, ndim: int) -> Any:
    if array.layout != "C":
        raise TypingError(f"numbers must follow one another; this array is {array}")
    return array.copy(ndim=ndim)


_returns(flat)(lambda array: _viewed(array, 1))
_returns(as_column)(lambda array: _viewed(array, 2))


@lower_builtin(flat, types.Array)
@lower_builtin(as_column, types.Array)
def _view(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    from numba.np.arrayobj import make_array, populate_array  # takes longer to load than all kernels

    given = make_array(sig.args[0])(context, builder, args[0])
    view = make_array(sig.return_type)(context, builder)
    one = ir.Constant(given.nitems.type, 1)
    ndim, size = sig.return_type.ndim, given.itemsize
    shape, strides = [given.nitems, one][:ndim], [size] * ndim
    populate_array(view, given.data, shape, strides, size, given.meminfo, given.parent)
    return view._getvalue()


# Cases: comparisons ---------------------------------------------------------------------------------------------------


def _of_cases(*args: Any) -> Cases | None:
    found = _found_in(*args)
    return found if isinstance(found, Cases) else None


def _comparison(symbol: str, of: Any) -> None:
    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        a, b = _all_spread(context, builder, sig.args, args)
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        bits = builder.bitcast(compare(symbol, a, b), _BITS)
        none, every = (builder.icmp_unsigned("==", bits, _BITS(value)) for value in (0, EVERY))
        with builder.if_then(builder.not_(builder.or_(none, every)), likely=False):
            context.call_conv.return_user_exc(builder, Parted, ())
        return every

    _returns(of)(lambda *args: types.boolean if _of_cases(*args) else None)
    _lower_pairs(of, Cases, lower)


for _symbol, _operator in (
    *(("<", operator.lt), ("<=", operator.le), (">", operator.gt)),
    *((">=", operator.ge), ("==", operator.eq), ("!=", operator.ne)),
):
    _comparison(_symbol, _operator)


def _bits(symbol: str, of: Any) -> None:
    """The bits of the lanes in which a comparison holds."""

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        a, b = _all_spread(context, builder, sig.args, args)
        return builder.zext(builder.bitcast(builder.fcmp_ordered(symbol, a, b), _BITS), ir.IntType(64))

    def lower_one(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        every, none = ir.IntType(64)(EVERY), ir.IntType(64)(0)
        return builder.select(builder.fcmp_ordered(symbol, *args), every, none)

    def kind(*args: Any) -> Any:
        return types.int64 if _of_cases(*args) or all(isinstance(a, types.Float) for a in args) else None

    _returns(of)(kind)
    lower_builtin(of, types.Float, types.Float)(lower_one)
    _lower_pairs(of, Cases, lower)


_bits("<", below)
_bits("<=", at_most)


@_returns(select)
def _selected(bits: Any, x: Any, y: Any) -> Any:
    return _of_cases(x, y) or (types.float64 if x == y == types.float64 else None)


@lower_builtin(select, types.Integer, types.Any, types.Any)
def _select(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    if isinstance(sig.return_type, Cases):
        return _where(builder, WIDTH, args[0], *_all_spread(context, builder, sig.args[1:], args[1:]))
    return _where(builder, 1, *args)


# Cases: functions -----------------------------------------------------------------------------------------------------


def _lane_by_lane(function: Any, count: int) -> None:
    """A function of ``count`` numbers, which each lane calls as a single number would."""

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        one = context.get_function(function, signature(types.float64, *[types.float64] * count))
        given, result = _all_spread(context, builder, sig.args, args), ir.Constant(_VECTOR, ir.Undefined)
        for lane in (ir.Constant(_LANE, lane) for lane in range(WIDTH)):
            found = one(builder, [builder.extract_element(x, lane) for x in given])
            result = builder.insert_element(result, found, lane)
        return result

    _returns(function)(_of_cases)
    if count == 1:
        lower_builtin(function, Cases)(lower)
    else:
        _lower_pairs(function, Cases, lower)


def _instruction(function: Any, name: str) -> None:
    """A function that vectors have an instruction for, which rounds as that of single numbers does."""

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64"), args)

    _returns(function)(_of_cases)
    lower_builtin(function, Cases)(lower)


for _function in (np.sin, np.cos, np.exp, np.log):
    _lane_by_lane(_function, 1)
_lane_by_lane(np.arctan2, 2)
for _function, _name in ((np.sqrt, "sqrt"), (np.abs, "fabs"), (abs, "fabs"), (np.round, "rint")):
    _instruction(_function, _name)


def _largest(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    return _largest_of(builder, _all_spread(context, builder, sig.args, args))


_returns(max)(_of_cases)
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

    resolve_imag = resolve_real


@lower_getattr(Cases, "imag")
def _imaginary(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return ir.Constant(_VECTOR, None)


@lower_getattr(Cases, "real")
def _real(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value
