"""Machine code of entries, made by numba: types of what is given, the function that is called, and its image.

Rests on numba's dispatchers and typing contexts, which are no public interface.
"""

import struct
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numba
from llvmlite.binding import ffi
from numba import extending, types
from numba.core.compiler_lock import global_compiler_lock

from mbsim_cli.kernels.compiler import simd_compiled  # noqa: F401 (it tells numba of its functions)
from mbsim_cli.kernels.compiler.arguments import layout
from mbsim_cli.kernels.compiler.cases_compiled import type_of
from mbsim_cli.kernels.compiler.entry import FORMS, KERNELS, Code, Form
from mbsim_cli.kernels.compiler.installed import tell_numba
from mbsim_cli.kernels.compiler.kept_kernels import KeptKernel, linked_code
from mbsim_cli.kernels.compiler.linking import LinkingCompiler, MadeElsewhere, looking_again
from mbsim_cli.kernels.compiler.reference import Reference

__all__ = ["compiled", "dispatchers", "introduce"]

tell_numba(numba.config)
ffi.lib._lock._cblist.clear()  # numba times each call of LLVM, again for each kernel around the one that is compiled
# Kernels own no memory: without reference counting (two atomic instructions per array and use) they run twice as fast.
_CALLED_FROM_COMPILED = {
    "error_model": "numpy",
    "_nrt": False,
    "pipeline_class": LinkingCompiler,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_compiled_kernel = numba.njit(**_CALLED_FROM_COMPILED)
_LETTERS = {types.boolean: "?", types.float64: "d", types.complex128: "D"}

dispatchers: dict[Callable, Any] = {}  # of kernels that numba knows


def introduce() -> None:
    """Make kernels known to numba; entries that are loaded can do without, and that takes time for hundreds of them."""
    while FORMS:
        function, chooser = FORMS.pop()
        extending.overload(function, jit_options=_CALLED_FROM_COMPILED)(chooser)
    while KERNELS:
        named, function, options = KERNELS.pop()
        function = getattr(function, "py_func", function)  # a derived one is written now
        if function not in dispatchers:
            dispatcher = dispatchers[function] = numba.njit(**_CALLED_FROM_COMPILED, **options)(function)
            dispatcher._cache = KeptKernel(dispatcher)
            dispatcher.get_call_template = partial(_unliteral_template, dispatcher.get_call_template)
            dispatcher._compilation_chain_init_hook = lambda: None  # searches all installed packages for extensions
            _name(function, dispatcher)
        if named is not function:
            _name(named, dispatchers[function])


def _name(value: Any, dispatcher: Any) -> None:
    """Have a global value in code stand for a kernel."""
    dispatcher.typingctx.insert_global(value, types.Dispatcher(dispatcher))


def _unliteral_template(chosen: Callable, args: tuple, kws: dict) -> Any:
    """A constant argument is taken as any number, where numba would compile for each constant."""
    return chosen(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})


def compiled(function: Callable, given: tuple, elsewhere: Callable[[], Form | None] | None) -> Form | tuple[Code, bool]:
    """Code of an entry, and whether it holds in other processes; the form of another process that was faster."""
    with global_compiler_lock:
        introduce()
        kind = _structure(function, given)
        dispatcher = _compiled_kernel(_passing_on(function))
        dispatcher._compilation_chain_init_hook = lambda: None
        try:
            with looking_again(dispatcher.py_func, elsewhere or (lambda: None)):
                dispatcher.compile((kind,))
        except MadeElsewhere as made:
            return made.form
        (result,) = dispatcher.overloads.values()
        code = linked_code(result.library, result.fndesc.llvm_func_name)
        returned = result.signature.return_type
        letters = "".join(map(_letter, returned)) if isinstance(returned, types.BaseTuple) else _letter(returned)
        is_lasting = not (result.library.has_dynamic_globals or function.__closure__)
        return Code(code, letters, isinstance(returned, types.BaseTuple)), is_lasting


def _structure(function: Callable, given: tuple) -> Reference:
    """Type of the address of all that is given; LLVM has to see the structure as ``layout`` does."""
    names = _names(function)
    if len(names) != len(given):
        raise TypeError(f"{function.__name__} takes {len(names)} arguments, not {len(given)}")
    kind = types.NamedTuple([type_of(x) for x in given], namedtuple("Given", names))
    target = dispatchers[function].targetctx
    size = target.get_abi_sizeof(target.get_value_type(kind))
    if -(-struct.calcsize(layout(given)) // 8) != -(-size // 8):
        raise TypeError(f"{function.__name__}: numba's structure of {kind} has {size} bytes")
    return Reference(kind)


def _names(function: Callable) -> tuple[str, ...]:
    """Of what is given; numba takes some names, ``view`` for one, to be those of its own."""
    return tuple(f"a{k}" for k in range(len(signature(function).parameters)))


def _passing_on(function: Callable) -> Callable:
    """What takes all arguments at one address, and calls the kernel."""
    names = ", ".join(f"given.{name}" for name in _names(function))
    text = f"def {function.__name__}(given):\n    return called({names})\n"
    namespace: dict[str, Any] = {"called": function}
    exec(compile(text, function.__code__.co_filename, "exec"), namespace)
    return namespace[function.__name__]


def _letter(kind: Any) -> str:
    if isinstance(kind, types.NoneType):
        return ""
    if isinstance(kind, types.Integer) and kind.bitwidth == 64:
        return "q"
    if kind not in _LETTERS:
        raise TypeError(f"entries return numbers and tuples of them, not {kind}")
    return _LETTERS[kind]
