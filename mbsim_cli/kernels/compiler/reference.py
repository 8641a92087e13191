"""Groups of arrays passed by reference.

numba passes a named tuple to a kernel as hundreds of numbers, those of every array in it. An entry is given a reference
to all that Python gives it: then each group in it goes as one address, and kernels read fields of a reference as those
of a tuple. Nothing writes to the groups themselves, only to their arrays; LLVM is told so.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.extending import register_model
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr

__all__ = ["Reference"]


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
