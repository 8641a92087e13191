"""Groups of arrays passed by reference.

numba passes a named tuple to a kernel as hundreds of numbers, those of every array in it. An entry makes references of
the groups it was given: then each goes as one address, and kernels read fields of a reference as those of a tuple.
Nothing writes to the groups themselves, only to their arrays; LLVM is told so. The pass over numba's form of an entry
is no public interface.
"""

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.datamodel import models
from numba.core.extending import register_model
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.ir_utils import build_definitions
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature

__all__ = ["ByReference"]


class Reference(types.Type):
    """Address of a named tuple."""

    def __init__(self, group: Any) -> None:
        self.group, self.instance_class = group, group.instance_class
        super().__init__(f"Reference({group})")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.group).get_value_type().as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        value.add_attribute("noalias")
        return value


def reference(group):
    """Called in compiled entries only."""
    raise NotImplementedError


@infer_global(reference)
class _TypeOfReference(AbstractTemplate):
    def generic(self, args: tuple, kws: dict) -> Any:
        return signature(Reference(args[0]), *args)


@lower_builtin(reference, types.BaseNamedTuple)
def _address(context: Any, builder: Any, sig: Any, args: tuple) -> Any:
    return cgutils.alloca_once_value(builder, args[0])


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:
        group = reference.group
        if name not in group.fields:
            return None
        field = group.types[group.fields.index(name)]
        return Reference(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    k = kind.group.fields.index(name)
    place = cgutils.gep_inbounds(builder, value, 0, k)
    return place if isinstance(kind.group.types[k], types.BaseNamedTuple) else builder.load(place)


@register_pass(mutates_CFG=False, analysis_only=False)
class ByReference(FunctionPass):
    """Puts a reference in the place of each named tuple that a function is given."""

    _name = "by_reference"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Rewrite ``x = arg`` to ``x = reference(arg)``; kernels are given references already."""
        if state.flags.no_cpython_wrapper:
            return False
        for block in state.func_ir.blocks.values():
            block.body = [made for statement in block.body for made in _referring(statement, block.scope, state.args)]
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


def _referring(statement: Any, scope: Any, arguments: tuple) -> list:
    given = isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg)
    if not given or not isinstance(arguments[statement.value.index], types.BaseNamedTuple):
        return [statement]
    loc = statement.loc
    group, function = scope.redefine("$group", loc), scope.redefine("$reference", loc)
    return [
        ir.Assign(statement.value, group, loc),
        ir.Assign(ir.Global("reference", reference, loc), function, loc),
        ir.Assign(ir.Expr.call(function, [group], (), loc), statement.target, loc),
    ]
