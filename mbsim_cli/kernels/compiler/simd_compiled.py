"""Eight directions at once, compiled: a type of number whose arithmetic is that of vector instructions.

Rests on how numba registers types and lowers calls to LLVM, which is public in parts only.
"""

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import models, register_model

from mbsim_cli.kernels.compiler.simd import (
    WIDTH,
    add_product,
    add_to,
    as_column,
    at,
    block,
    flat,
    largest,
    only,
    put,
    squares,
    total,
    width,
)

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


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


class Block(types.Type):
    """An index of WIDTH neighbouring columns."""


LANES, BLOCK = Lanes(name="Lanes"), Block(name="Block")


@register_model(Lanes)
class EightModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


@register_model(Block)
class _BlockModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.IntType(64))


def spread(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    """The value in every lane."""
    if isinstance(kind, Eight):
        return value
    value = context.cast(builder, value, kind, types.float64)
    nothing, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, zeros)


@lower_cast(types.Number, Eight)
def _cast(context, builder, from_type, to_type, value):
    return spread(context, builder, value, from_type)


# Arithmetic -----------------------------------------------------------------------------------------------------------


def found_in(args: tuple) -> Eight | None:
    """Which of the types stands for eight numbers, all others being plain; None where it is not like that."""
    found = {a for a in args if isinstance(a, Eight)}
    known = all(isinstance(a, (Eight, types.Float, types.Integer)) for a in args)
    return found.pop() if known and len(found) == 1 else None


def _binary(instruction: str, *operators: Any) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: tuple, kws: dict) -> Any:
            found = found_in(args)
            return None if found is None else signature(found, *args)

    def lower(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
        return getattr(builder, instruction)(
            *(spread(context, builder, a, kind) for a, kind in zip(args, sig.args, strict=True)),
            flags=sig.return_type.flags,
        )

    for each in operators:
        infer_global(each)(type("Template", (Template,), {}))
        for other in (Eight, types.Float, types.Integer):
            lower_builtin(each, Eight, other)(lower)
            lower_builtin(each, other, Eight)(lower)


_binary("fadd", operator.add, operator.iadd)
_binary("fsub", operator.sub, operator.isub)
_binary("fmul", operator.mul, operator.imul)
_binary("fdiv", operator.truediv, operator.itruediv)


@infer_global(operator.neg)
class _Negative(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Eight) else None


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


@infer_global(at)
class _At(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        array = args[0]
        return signature(LANES if _takes_lanes(array, args[-1]) else array.dtype, *args)


@lower_builtin(at, types.Array, types.VarArg(types.Any))
def _read(context, builder, sig, args):
    pointer, many = _pointer(context, builder, sig, args, len(args) - 1)
    return _load(context, builder, sig.args[0], pointer, many)


class _Writes(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(types.none, *args)


infer_global(put)(type("_Put", (_Writes,), {}))
infer_global(add_to)(type("_AddTo", (_Writes,), {}))
infer_global(add_product)(type("_AddProduct", (_Writes,), {}))


def _given(context: Any, builder: Any, sig: Any, args: tuple, many: bool) -> Any:
    if many:
        return spread(context, builder, args[-1], sig.args[-1])
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
        a, b = (spread(context, builder, x, t) for x, t in zip(args[-2:], sig.args[-2:], strict=True))
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


@infer_global(width)
class _Width(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(types.intp, *args)


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


@infer_global(block)
class _BlockOf(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(BLOCK if args[0].dtype == types.float64 else types.intp, *args)


@lower_builtin(block, types.Array, types.Integer)
def _block_of(context, builder, sig, args):
    return context.cast(builder, args[1], sig.args[1], types.intp)


@infer_global(only)
class _Only(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(args[0], *args)


@lower_builtin(only, types.Any, types.Integer)
def _choose(context, builder, sig, args):
    x, bits = args
    lanes = WIDTH if isinstance(sig.args[0], Lanes) else 1
    bits = builder.trunc(bits, ir.IntType(lanes))
    if lanes > 1:
        bits = builder.bitcast(bits, ir.VectorType(ir.IntType(1), lanes))
    return builder.select(bits, x, ir.Constant(x.type, None))


@infer_global(squares)
class _Squares(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(args[0] if isinstance(args[0], Eight) else types.float64, *args)


@lower_builtin(squares, types.Float)
@lower_builtin(squares, Eight)
def _square(context, builder, sig, args):
    return builder.fmul(args[0], args[0])


@lower_builtin(squares, types.Complex)
def _squares_of_parts(context, builder, sig, args):
    value = context.make_complex(builder, sig.args[0], args[0])
    return builder.fadd(builder.fmul(value.real, value.real), builder.fmul(value.imag, value.imag))


@infer_global(total)
class _Total(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(types.float64 if isinstance(args[0], Lanes) else args[0], *args)


@infer_global(largest)
class _Largest(_Total):
    pass


@lower_builtin(largest, Lanes)
def _largest_of_lanes(context, builder, sig, args):
    value, *others = (builder.extract_element(args[0], ir.Constant(ir.IntType(32), lane)) for lane in range(WIDTH))
    for other in others:
        value = builder.select(builder.fcmp_ordered(">", other, value), other, value)
    return value


@lower_builtin(largest, types.Float)
@lower_builtin(largest, Eight)
@lower_builtin(total, Eight)
@lower_builtin(total, types.Float)
@lower_builtin(total, types.Complex)
def _one(context, builder, sig, args):
    return args[0]


@lower_builtin(total, Lanes)
def _sum_of_lanes(context, builder, sig, args):
    value = ir.Constant(ir.DoubleType(), 0.0)
    for lane in range(WIDTH):
        value = builder.fadd(value, builder.extract_element(args[0], ir.Constant(ir.IntType(32), lane)))
    return value


# Contiguous arrays seen in another shape: numba's own ``reshape`` calls a function each time --------------------------


def _view_of(ndim: int) -> type:
    class Template(AbstractTemplate):
        def generic(self, args: tuple, kws: dict) -> Any:
            if args[0].layout != "C":
                raise TypingError(f"numbers must follow one another; this array is {args[0]}")
            return signature(args[0].copy(ndim=ndim), *args)

    return Template


infer_global(flat)(_view_of(1))
infer_global(as_column)(_view_of(2))


@lower_builtin(flat, types.Array)
@lower_builtin(as_column, types.Array)
def _view(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    from numba.np.arrayobj import make_array, populate_array  # takes longer to load than all kernels

    given = make_array(sig.args[0])(context, builder, args[0])
    view = make_array(sig.return_type)(context, builder)
    one = ir.Constant(given.nitems.type, 1)
    populate_array(
        view,
        data=given.data,
        shape=[given.nitems, one][: sig.return_type.ndim],
        strides=[given.itemsize] * sig.return_type.ndim,
        itemsize=given.itemsize,
        meminfo=given.meminfo,
        parent=given.parent,
    )
    return view._getvalue()
