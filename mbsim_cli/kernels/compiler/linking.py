"""How kernels reach machine code: optimised and translated once each.

numba by itself optimises and translates a function together with copies of all functions below it, and does so again in
each of its callers. Here a function is optimised with those that it calls itself, which may be inlined; what is called
then is translated for itself, and entries link it. Rests on numba's libraries of code and their passes, which are no
public interface.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from llvmlite.binding import Linkage
from llvmlite.binding.newpassmanagers import create_new_function_pass_manager, create_new_module_pass_manager
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites, NopythonTypeInference

__all__ = ["KernelLibrary", "LinkingCompiler", "MadeElsewhere", "looking_again", "needed_by", "owners_of"]

INLINED_AT_MOST = (
    500  # instructions; LLVM's limit is about a fifth of that, and constant arguments may halve a function
)


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

    def _optimize_final_module(self) -> None:
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

    @property
    def bitcode(self) -> bytes:
        """The module, optimised."""
        return self._final_module.as_bitcode()

    def ensure_finalized(self) -> None:
        """Optimise, unless that was done."""
        self._ensure_finalized()

    def finalize(self) -> None:
        self._optimize_final_module()
        _clean(self._final_module, self._codegen)
        self.large = _is_large(self._final_module)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told the kernel's environment: nobody, for kernels use nothing of it."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        pass


def _clean(module: Any, codegen: Any) -> None:
    """Remove what nothing calls."""
    passes = create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, codegen._pass_builder())


def _is_large(module: Any) -> bool:
    """Whether callers that optimise themselves need not look at a kernel's code: it would not be inlined."""
    functions = [function for function in module.functions if not function.is_declaration]
    if any(b"alwaysinline" in attribute for function in functions for attribute in function.attributes):
        return False
    instructions = (each for function in functions for block in function.blocks for each in block.instructions)
    return next(islice(instructions, INLINED_AT_MOST, None), None) is not None


def needed_by(library: Any) -> list:
    """The library, and those of what it calls, and of what that calls: callers first."""
    owner = {name: below for below in _all_below([library]) for name in _names(below)[0]}
    callees_first: list[Any] = []
    visited = set()

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
    owner = {name: below for below in _all_below(library._linking_libraries) for name in _names(below)[0]}
    return list(dict.fromkeys(owner[name] for name in _names(library)[1] if name in owner))


def _all_below(libraries: Iterable[Any]) -> Iterable[Any]:
    found, waiting = {}, list(libraries)
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = True
            waiting += library._linking_libraries if isinstance(library, KernelLibrary) else []
    return found


def _names(library: Any) -> tuple[list, list]:
    """Names of the functions that a library holds, and of those that it calls elsewhere."""
    if library not in _known_names:
        held: tuple[list, list] = [], []
        for function in library._get_module_for_linking().functions:
            held[function.is_declaration].append(function.name)
        _known_names[library] = held
    return _known_names[library]


_known_names: dict[Any, tuple[list, list]] = {}  # of libraries, which all live on and are final when they are asked


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(FunctionPass):
    """Says where the following passes write to."""

    _name = "choose_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


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
class _LookAgain(FunctionPass):
    """Ends a compilation that another process was faster with."""

    _name = "look_again"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if _looking and _looking[-1][0] is state.func_id.func:
            found = _looking[-1][1]()
            if found is not None:
                raise MadeElsewhere(found)
        return False


_HASH = hash(Flags())  # all flags have the same one


class _ComparedFlags(Flags):
    """Flags of the compiler, which numba looks things up by: equal ones are told by what was set."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _ComparedFlags) and self._values == other._values:
            return True
        return super().__eq__(other)


class LinkingCompiler(CompilerBase):
    """numba's compiler, with references for groups of arrays and the libraries of this file."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _ComparedFlags(flags), locals)

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
        passes.add_pass_after(_ChooseLibrary, NopythonTypeInference)
        passes.add_pass_after(_LookAgain, NopythonTypeInference)
        passes.passes = [each for each in passes.passes if each[0] is not NopythonRewrites]  # of array expressions
        passes.finalize()
        return [passes]
