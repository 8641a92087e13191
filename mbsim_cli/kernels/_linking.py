"""How kernels reach machine code: optimised once each, translated once in every entry that calls them.

numba by itself optimises and translates a function together with copies of all functions below it, and does so again in
each of its callers. Here a function is optimised with those that it calls itself, which may be inlined; the rest is
linked by entries. Rests on numba's libraries of code and their passes, which are no public interface.
"""

import gc
from collections.abc import Iterable
from typing import Any

from llvmlite.binding import Linkage
from llvmlite.binding.newpassmanagers import create_new_function_pass_manager
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import IRProcessing

from mbsim_cli.kernels._reference import ByReference

__all__ = ["LinkingCompiler", "LoadedLibrary"]


class _OwnLibrary(JITCodeLibrary):
    """Optimises its own functions; those of its callees are there to be inlined only."""

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
        self._link(dict.fromkeys(self._linking_libraries))
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = Linkage.available_externally
        passes, builder = self._codegen._module_pass_manager()
        passes.run(module, builder)

    def _link(self, libraries: Iterable[Any]) -> None:
        for library in libraries:
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)


class _KernelLibrary(_OwnLibrary):
    """Code of one kernel, which has no address."""

    def finalize(self) -> None:
        self._optimize_final_module()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told the kernel's environment: nobody, for kernels use nothing of it."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _EntryLibrary(_OwnLibrary):
    """Code of an entry and of all kernels below it."""

    def finalize(self) -> None:
        self._optimize_final_module()
        self._link(_callers_first(self._linking_libraries))
        self._final_module.verify()
        self._finalize_final_module()


class LoadedLibrary(JITCodeLibrary):
    """Code of an entry that was translated before: an object without a module, from which nothing is inlined."""

    def __init__(self, codegen: Any, name: str, code: bytes) -> None:
        super().__init__(codegen, name)
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> int:
        return self._codegen._engine.get_function_address(name)

    def _get_module_for_linking(self) -> Any:
        raise RuntimeError(f"{self.name} is an entry, which only Python calls")


def _callers_first(libraries: Iterable[Any]) -> list:
    """The libraries and all kernels below them: the linker takes a function only where one before asks for it."""
    callees_first: list[Any] = []
    visited = set()

    def visit(library: Any) -> None:
        if library not in visited:
            visited.add(library)
            for callee in library._linking_libraries if isinstance(library, _KernelLibrary) else ():
                visit(callee)
            callees_first.append(library)

    for library in libraries:
        visit(library)
    return callees_first[::-1]


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(FunctionPass):
    """Says where the following passes write to: what has no wrapper for Python is a kernel."""

    _name = "choose_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        kind = _KernelLibrary if state.flags.no_cpython_wrapper else _EntryLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
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
        passes.add_pass_after(ByReference, IRProcessing)
        passes.add_pass_after(_ChooseLibrary, NopythonTypeInference)
        passes.finalize()
        return [passes]
