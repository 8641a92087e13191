"""How kernels reach machine code: optimised and translated once each, and given groups of arrays by reference.

numba by itself optimises and translates a function together with copies of all functions below it, and does so again in
each of its callers. Here a function is optimised with those that it calls itself, which may be inlined; what is called
then is translated for itself, and entries link it.

numba passes a named tuple to a kernel as hundreds of numbers, those of every array in it. An entry is given a reference
to all that Python gives it: then each group in it goes as one address, and kernels read fields of a reference as those
of a tuple. Nothing writes to the groups themselves, only to their arrays; LLVM is told so. This module rests on
numba's libraries of code, their passes, and the registration of types, which are no public interface.
"""

import gc
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import isbuiltin
from itertools import islice
from typing import Any

from llvmlite.binding import Linkage
from llvmlite.binding.newpassmanagers import create_new_function_pass_manager, create_new_module_pass_manager
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.datamodel import models
from numba.core.extending import register_model
from numba.core.imputils import lower_getattr_generic
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import InlineOverloads, NopythonRewrites, NopythonTypeInference
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.core.untyped_passes import InlineClosureLikes

# Steps of numba for what kernels do not contain: closures, definitions that say "inline", expressions of whole arrays.
NOT_NEEDED = {InlineClosureLikes, InlineOverloads, NopythonRewrites}
_OPERATORS = frozenset(each for each in vars(operator).values() if isbuiltin(each))
# Instructions; LLVM's limit is about a fifth of that, and constant arguments may halve a function.
INLINED_AT_MOST = 500


class KernelLibrary(JITCodeLibrary):
    """Code of one kernel, which has no address: those of its callees are there to be inlined only."""

    @classmethod
    def of(cls, codegen: Any, name: str, module: Any, large: bool, called: Iterable[Any]) -> "KernelLibrary":
        """One of a module that was optimised before, and of the libraries of what it calls."""
        library = cls(codegen, name)
        library._final_module, library.large, library._finalized = module, large, True
        library._linking_libraries += called
        return library

    def _optimize_functions(self, ll_module: Any) -> None:
        """Tidy up first: numba keeps every variable in memory, and inlining multiplies what it finds."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes = create_new_function_pass_manager()
                passes.add_sroa_pass()
                passes.add_simplify_cfg_pass()
                passes.add_instruction_combine_pass()
                passes.run(function, self._codegen._pass_builder())

    def finalize(self) -> None:
        """Optimise with what may be inlined, and remove what nothing calls then."""
        module = self._final_module
        own = {function.name for function in module.functions if not function.is_declaration}
        for callee in dict.fromkeys(self._linking_libraries):
            if not (isinstance(callee, KernelLibrary) and callee.large):  # a large one stays a call
                module.link_in(callee._get_module_for_linking(), preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = Linkage.available_externally
        builder = self._codegen._pass_builder()  # numba adds a pass on reference counts, which kernels have none of
        builder.getModulePassManager().run(module, builder)
        passes = create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_strip_dead_prototype_pass()
        passes.run(module, self._codegen._pass_builder())
        self.large = _is_large(module)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told the kernel's environment: nobody, for kernels use nothing of it."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        pass


def _is_large(module: Any) -> bool:
    """Whether callers that optimise themselves need not look at a kernel's code: it would not be inlined."""
    functions = [function for function in module.functions if not function.is_declaration]
    if any(b"alwaysinline" in attribute for function in functions for attribute in function.attributes):
        return False
    instructions = (each for function in functions for block in function.blocks for each in block.instructions)
    return next(islice(instructions, INLINED_AT_MOST, None), None) is not None


def needed_by(library: Any) -> list:
    """The library, and those of what it calls, and of what that calls: callers first."""
    owner, callees_first, visited = _owners([library]), list[Any](), set()

    def visit(each: Any) -> None:
        visited.add(each)
        for name in _names(each)[1]:
            if name in owner and owner[name] not in visited:
                visit(owner[name])
        callees_first.append(each)

    visit(library)
    return callees_first[::-1]


def owners_of(library: Any) -> list:
    """Libraries of the functions that a library calls elsewhere."""
    owner = _owners(library._linking_libraries)
    return list(dict.fromkeys(owner[name] for name in _names(library)[1] if name in owner))


def _owners(libraries: Iterable[Any]) -> dict[str, Any]:
    """The libraries that hold functions by their names, those given and all below them."""
    found, waiting = dict[Any, None](), list(libraries)
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            waiting += library._linking_libraries if isinstance(library, KernelLibrary) else []
    return {name: each for each in found for name in _names(each)[0]}


@cache  # libraries live on, and are final when they are asked
def _names(library: Any) -> tuple[list, list]:
    """Names of the functions that a library holds, and of those that it calls elsewhere."""
    held: tuple[list, list] = [], []
    for function in library._get_module_for_linking().functions:
        held[function.is_declaration].append(function.name)
    return held


_looking: list[tuple[Callable, Callable[[], Any]]] = []


class MadeElsewhere(Exception):
    """Another process has made the form that is being compiled."""

    def __init__(self, form: Any) -> None:
        super().__init__("made elsewhere")
        self.form = form


@contextmanager
def looking_again(function: Callable, look: Callable[[], Any]) -> Iterator[None]:
    """Within, ``function`` is compiled only if ``look`` still finds nothing when all that it calls is compiled."""
    _looking.append((function, look))
    try:
        yield
    finally:
        _looking.pop()


@register_pass(mutates_CFG=False, analysis_only=True)
class _Begin(FunctionPass):
    """Ends a compilation that another process was faster with; says where the following passes write to."""

    _name = "begin"

    def __init__(self) -> None:  # which is abstract above
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if _looking and _looking[-1][0] is state.func_id.func:
            found = _looking[-1][1]()
            if found is not None:
                raise MadeElsewhere(found)
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class LinkingCompiler(CompilerBase):
    """numba's compiler, with references for groups of arrays and the libraries of this file."""

    def compile_extra(self, func: Any) -> Any:
        """Compile; what numba makes lives on, so that the garbage collector would search it in vain."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()

    def define_pipelines(self) -> list:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Begin, NopythonTypeInference)
        passes.passes = [each for each in passes.passes if each[0] not in NOT_NEEDED]
        passes.finalize()
        return [passes]


_search = types.Function.get_call_type
_signatures: dict[tuple, Any] = {}


def _call_type(function: Any, context: Any, operands: tuple, by_name: dict) -> Any:
    """Signature of a call; numba searches that of each ``+`` anew. Python definitions are compiled as callers are."""
    if function.typing_key not in _OPERATORS:
        return _search(function, context, operands, by_name)
    key = context, function, operands, getattr(ConfigStack.top_or_none(), "forceinline", None)
    if key not in _signatures:
        _signatures[key] = _search(function, context, operands, by_name)
    return _signatures[key]


types.Function.get_call_type = _call_type


# Groups of arrays by reference ----------------------------------------------------------------------------------------


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
