"""Compiled forms of entries in the store, each under a key of everything it depends on.

What is kept of an entry is its machine code and the names of symbols in it: nothing is typed, linked or inlined when
it is loaded, so that numba's knowledge of Python and numpy, which takes longer to load than the code, is not asked for.
Rests on numba's dispatchers and libraries of code, which are no public interface.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from inspect import unwrap
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from mbsim_cli.kernels import _watch
from mbsim_cli.kernels._linking import LoadedLibrary, MadeElsewhere, looking_again
from mbsim_cli.kernels._reference import Reference

__all__ = ["Kept", "key_of"]


class Kept(NullCache):
    """What numba's dispatcher of one entry asks for compiled forms, in the place of its own cache."""

    def __init__(self, dispatcher: Any, prepare: Callable[[], None]):
        self._dispatcher, self._prepare, self._compile = dispatcher, prepare, dispatcher.compile
        self._loaded: dict[tuple, Any] = {}
        dispatcher._cache, dispatcher.compile = self, self.entry_for
        dispatcher._compilation_chain_init_hook = lambda: None  # searches all installed packages for extensions

    def entry_for(self, sig: Any) -> Any:
        """Load a compiled form, or make it; of several processes that start together one does, and the others wait."""
        arguments = tuple(normalize_signature(sig)[0])
        return self._load(arguments) or self._make(sig, arguments)

    def _make(self, sig: Any, arguments: tuple) -> Any:
        function = self._dispatcher.py_func
        # beside another process that compiles the same, both go on: they share kernels, and one links the entry
        patience = 0.0 if _watch.PAIRED else None
        with _watch.STORE.turn(self._key(arguments), lambda: _watch.waiting(function), patience) as mine:
            found = self._load(arguments)
            if found is None and _watch.BESIDE and not mine:
                return function  # the other compiles it; this one goes on, by way of Python
            if found is None:
                _watch.compiling(function)
                with global_compiler_lock:
                    self._prepare()
                found = self._compiled(sig, arguments, mine)
            return found

    def _compiled(self, sig: Any, arguments: tuple, mine: bool) -> Any:
        if mine:
            return self._compile(sig)
        try:
            with looking_again(self._dispatcher.py_func, lambda: self._awaited(arguments)):
                return self._compile(sig)
        except MadeElsewhere as made:
            return made.form

    def _awaited(self, arguments: tuple) -> Any:
        """The form that another process is about to link; None where it does not come."""
        with _watch.STORE.turn(self._key(arguments)):
            return self._load(arguments)

    def _key(self, arguments: tuple) -> bytes:
        dispatcher = self._dispatcher
        return key_of(dispatcher.py_func, arguments, dispatcher.targetctx.codegen().magic_tuple())

    def _load(self, arguments: tuple) -> Any:
        """The compiled form, or None where it has to be made."""
        with global_compiler_lock:
            if arguments not in self._loaded:
                content = _watch.STORE.get(self._key(arguments))
                found = None if content is None else _rebuilt(content, self._dispatcher.targetctx)
                if found is None:
                    return None
                self._dispatcher._insert([kind._code for kind in arguments], found, False)
                self._loaded[arguments] = found
            return self._loaded[arguments]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form that does not depend on this process."""
        if not (data.library.has_dynamic_globals or unwrap(self._dispatcher.py_func).__closure__):
            _watch.STORE.put(self._key(tuple(normalize_signature(sig)[0])), dumps(_reduced(data)))


def _reduced(data: Any) -> tuple:
    """Code, its names, what it hands to Python, and the symbols that it takes from elsewhere."""
    names = copy(data.fndesc)
    for unused in ("typemap", "calltypes", "args", "kws", "argtypes", "restype"):
        setattr(names, unused, None)
    module = data.library._final_module
    return data.library._get_compiled_object(), names, data.environment, tuple(_undefined(module))


def _undefined(module: Any) -> Iterator[str]:
    for part in (module.functions, module.global_variables):
        yield from (each.name for each in part if each.is_declaration and not each.name.startswith("llvm."))


def _rebuilt(content: bytes, target: Any) -> Any:
    """What Python calls; None for an entry of a library that has changed since."""
    try:
        code, names, environment, symbols = pickle.loads(content)
        if not _all_known(symbols):
            target.refresh()  # makes numba's own runtime known
            if not _all_known(symbols):
                return None
        return target.get_executable(LoadedLibrary(target.codegen(), names.unique_name, code), names, environment)
    except Exception:
        return None


def _all_known(symbols: tuple) -> bool:
    """Whether code can be loaded: LLVM would end the process for want of a symbol."""
    return all(map(binding.address_of_symbol, symbols))


def key_of(function: Callable, arguments: tuple, processor: Any, hash_of: Callable[[str], str] | None = None) -> bytes:
    """Function, types of the arguments, and the processor that the code is for; not where the files lie.

    ``hash_of`` the function's file is of its content, unless another one is given.
    """
    name = f"{function.__module__}.{function.__qualname__} {(hash_of or _hash_of)(function.__code__.co_filename)}"
    return f"{name}\n{', '.join(map(_spelled, arguments))}\n{processor}".encode()


@cache
def _hash_of(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@cache
def _spelled(kind: Any) -> str:
    """A type in words; numba's own name of a named tuple leaves out whose it is, and its fields."""
    if isinstance(kind, Reference):
        return f"&{_spelled(kind.group)}"
    if isinstance(kind, types.BaseNamedTuple):
        group = kind.instance_class
        fields = ", ".join(f"{name}: {_spelled(below)}" for name, below in zip(kind.fields, kind.types, strict=True))
        return f"{group.__module__}.{group.__qualname__}({fields})"
    if isinstance(kind, types.BaseTuple):
        return f"({', '.join(map(_spelled, kind.types))})"
    return str(kind)
