"""Contiguous arrays seen in another shape, compiled: numba's own ``reshape`` calls a function each time."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from mbsim_cli.kernels.compiler.views import as_column, flat


def _template(ndim: int) -> type:
    class Template(AbstractTemplate):
        def generic(self, args: tuple, kws: dict) -> Any:
            if args[0].layout != "C":
                raise TypingError(f"numbers must follow one another; this array is {args[0]}")
            return signature(args[0].copy(ndim=ndim), *args)

    return Template


infer_global(flat)(_template(1))
infer_global(as_column)(_template(2))


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
