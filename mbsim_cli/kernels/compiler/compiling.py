"""Entries and kernels in machine code, made by numba, and kept for whatever other entry, run or process calls them.

Of an entry its image is kept, of a kernel its signature, its optimised module, which modules it calls, and its machine
code: an entry that needs a kernel which another one had compiled only links it. Modules go by a hash of their content,
so that a kernel brings the callees along that it was compiled with. Rests on numba's dispatchers, typing contexts and
libraries, which are no public interface.
"""

import hashlib
import pickle
import re
import struct
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from llvmlite.binding import ffi
from numba import extending, types
from numba.core.caching import NullCache
from numba.core.compiler import compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from mbsim_cli.kernels.compiler import linking, watch
from mbsim_cli.kernels.compiler.arguments import layout
from mbsim_cli.kernels.compiler.image import IMAGES, Elf, Image, Object, linked
from mbsim_cli.kernels.compiler.installed import tell_numba
from mbsim_cli.kernels.compiler.linking import LinkingCompiler, MadeElsewhere, Reference
from mbsim_cli.kernels.compiler.simd_compiled import type_of
from mbsim_cli.kernels.compiler.store import PACKAGE

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
_LETTERS = {types.none: "", types.boolean: "?", types.float64: "d", types.complex128: "D"}

dispatchers: dict[Callable, Any] = {}  # of kernels that numba knows


@global_compiler_lock
def introduce(kernels: list[tuple[Any, Callable, dict]], forms: list[tuple[Callable, Callable]]) -> None:
    """Make kernels known to numba; entries that are loaded can do without, and that takes time for hundreds of them.

    Kernels by what calls name, the function and numba's options; functions with what chooses their compiled forms.
    """
    while forms:
        function, chooser = forms.pop()
        extending.overload(function, jit_options=_CALLED_FROM_COMPILED)(chooser)
    while kernels:
        named, function, options = kernels.pop()
        function = getattr(function, "py_func", function)  # a derived one is written now
        if function not in dispatchers:
            dispatcher = dispatchers[function] = numba.njit(**_CALLED_FROM_COMPILED, **options)(function)
            dispatcher._cache = KeptKernel(dispatcher)
            dispatcher.get_call_template = partial(_unliteral_template, dispatcher.get_call_template)
            dispatcher._compilation_chain_init_hook = lambda: None  # searches all installed packages for extensions
            dispatcher.typingctx.insert_global(function, types.Dispatcher(dispatcher))
        if named is not function:
            dispatcher = dispatchers[function]
            dispatcher.typingctx.insert_global(named, types.Dispatcher(dispatcher))


def _unliteral_template(chosen: Callable, args: tuple, kws: dict) -> Any:
    """A constant argument is taken as any number, where numba would compile for each constant."""
    return chosen(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})


@global_compiler_lock
def compiled(function: Callable, given: tuple, elsewhere: Callable[[], Any] | None) -> tuple[tuple, bool]:
    """Code of an entry with its returned types, and whether the code holds in other processes.

    It takes the address of the structure of all that is given, which LLVM has to see as ``layout`` does, and calls the
    kernel. MadeElsewhere for what another process was faster with, as ``elsewhere`` finds.
    """
    names = [f"a{k}" for k in range(len(signature(function).parameters))]  # numba takes ``view`` to be its own
    if len(names) != len(given):
        raise TypeError(f"{function.__name__} takes {len(names)} arguments, not {len(given)}")
    kind = types.NamedTuple([type_of(x) for x in given], namedtuple("Given", names))
    target = dispatchers[function].targetctx
    size = target.get_abi_sizeof(target.get_value_type(kind))
    if -(-struct.calcsize(layout(given)) // 8) != -(-size // 8):
        raise TypeError(f"{function.__name__}: numba's structure of {kind} has {size} bytes")
    text = f"def {function.__name__}(given):\n    return called({', '.join(f'given.{name}' for name in names)})\n"
    space: dict[str, Any] = {"called": function}
    exec(compile(text, function.__code__.co_filename, "exec"), space)
    dispatcher = _compiled_kernel(space[function.__name__])
    dispatcher._compilation_chain_init_hook = lambda: None
    with linking.looking_again(dispatcher.py_func, elsewhere or (lambda: None)):
        dispatcher.compile((Reference(kind),))
    (result,) = dispatcher.overloads.values()
    code = linked_code(result.library, result.fndesc.llvm_func_name)
    returned = result.signature.return_type
    together = isinstance(returned, types.BaseTuple)
    letters = "".join(map(_letter, returned if together else [returned]))
    return (code, letters, together), not (result.library.has_dynamic_globals or function.__closure__)


def _letter(kind: Any) -> str:
    """A type that entries return, as the module struct names it."""
    if isinstance(kind, types.Integer) and kind.bitwidth == 64:
        return "q"
    if kind not in _LETTERS:
        raise TypeError(f"entries return numbers and tuples of them, not {kind}")
    return _LETTERS[kind]


# Kernels in the store -------------------------------------------------------------------------------------------------


MOST_BYTES = 400_000_000  # of kernels; those of one version take some 30 million


class KeptKernel(NullCache):
    """The cache that numba's dispatcher of one kernel asks for compiled forms."""

    def __init__(self, dispatcher: Any):
        self._dispatcher, compiler = dispatcher, dispatcher._compiler
        compiler.compile = partial(self._compile, compiler.compile)

    def _compile(self, compile: Any, arguments: tuple, return_type: Any) -> Any:
        """Compile, unless another process has done so by the time that the kernels below are there."""
        target = self._dispatcher.targetctx
        try:
            with linking.looking_again(self._dispatcher.py_func, lambda: self.load_overload(arguments, target)):
                return compile(arguments, return_type)
        except MadeElsewhere as made:
            target.insert_user_function(made.form.entry_point, made.form.fndesc, [made.form.library])
            return made.form

    def load_overload(self, sig: Any, target: Any) -> Any:
        """A compiled form that is ready to be called by other kernels, or None where it has to be made."""
        key = self._key(sig)
        content = None if key is None else watch.PARTS_STORE.get(key)
        try:
            found = None if content is None else _rebuilt(content, target)
        except Exception:  # kept by another version of a library, or in part
            return None
        if found is not None:
            watch.ready()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form that does not depend on this process."""
        watch.ready()
        key = self._key(sig)
        if key is not None and data.library not in _keys:
            data.library._ensure_finalized()
            if not _keys:
                _make_room()
            if not data.library.has_dynamic_globals:
                names = copy(data.fndesc)
                names.typemap = names.calltypes = None
                kept = names, data.signature, data.environment, _keep_module(data.library)
                watch.PARTS_STORE.put(key, dumps(kept))
                if data.library.large and IMAGES:  # two processes that compile beside each other share this, too
                    _object_of(data.library)

    def _key(self, sig: Any) -> bytes | None:
        function, arguments = self._dispatcher.py_func, tuple(normalize_signature(sig)[0])
        if function.__closure__ or any(isinstance(kind, types.Callable) for kind in arguments):
            return None
        name = f"{function.__module__}.{function.__qualname__} {closure_hash(function.__code__.co_filename)}"
        processor = self._dispatcher.targetctx.codegen().magic_tuple()
        return f"{name}\n{', '.join(map(_spelled, arguments))}\n{processor}".encode()


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


def _rebuilt(content: bytes, target: Any) -> Any:
    """The compiled form of a kernel, as numba makes it; None where a module is missing."""
    names, signature, environment, key = pickle.loads(content)
    library = _module(key, target.codegen())
    if library is None:
        return None
    return compile_result(
        typing_context=target.typing_context, target_context=target, signature=signature, fndesc=names,
        entry_point=target.get_executable(library, names, environment), library=library, environment=environment,
        type_annotation="", objectmode=False, lifted=(), reload_init=[], referenced_envs=(),
    )  # fmt: skip


def _make_room() -> None:
    """Remove the oldest kernels of a folder that has grown: each version of a source adds some."""
    if not watch.PARTS_STORE.path:
        return
    with suppress(OSError):
        found = [(path, path.lstat()) for path in Path(watch.PARTS_STORE.path).iterdir()]
        if sum(status.st_size for _, status in found) > MOST_BYTES:
            for path, _ in sorted(found, key=lambda each: each[1].st_mtime)[: len(found) // 2]:
                path.unlink()


_keys: dict[Any, bytes] = {}  # of modules that are in the store
_modules: dict[bytes, Any] = {}  # by key: each is read once
_objects: dict[Any, Elf] = {}  # by library


def _keep_module(library: Any) -> bytes:
    """Put the module of a kernel into the store, with those that it calls; its key."""
    if library not in _keys:
        library._ensure_finalized()
        called = tuple(map(_keep_module, linking.owners_of(library)))
        content = pickle.dumps((library.name, library._final_module.as_bitcode(), library.large, called))
        key = _keys[library] = b"module " + hashlib.sha256(content).hexdigest().encode()
        watch.PARTS_STORE.put(key, content)
    return _keys[library]


def _module(key: bytes, codegen: Any) -> Any:
    """A module out of the store with those that it calls; None where one is missing."""
    if key not in _modules:
        content = watch.PARTS_STORE.get(key)
        if content is None:
            return None
        name, bitcode, large, below = pickle.loads(content)
        called = [_module(each, codegen) for each in below]
        if None in called:
            return None
        library = _modules[key] = linking.KernelLibrary.of(codegen, name, binding.parse_bitcode(bitcode), large, called)
        _keys[library] = key
    return _modules[key]


def _object_of(library: Any) -> Elf:
    """Machine code of one kernel."""
    if library not in _objects:
        key = b"object of " + _keep_module(library) + repr(library._codegen.magic_tuple()).encode()
        content = watch.PARTS_STORE.get(key)
        if content is None:
            content = library._codegen._tm.emit_object(library._final_module.clone())
            watch.PARTS_STORE.put(key, content)
        _objects[library] = Elf(content)
    return _objects[library]


def linked_code(library: Any, name: str) -> Image | Object:
    """Machine code of an entry and of all kernels below it."""
    needed = linking.needed_by(library)
    if IMAGES:
        with suppress(ValueError):  # something that only LLVM links
            return linked(list(map(_object_of, needed)), name)
    module = library._final_module.clone()
    for below in needed[1:]:
        module.link_in(below._final_module.clone())
    asked = (each.name for part in (module.functions, module.global_variables) for each in part if each.is_declaration)
    named = tuple(each for each in asked if not each.startswith("llvm."))
    return Object(library._codegen._tm.emit_object(module), named, name)


# Sources that the code of a kernel depends on -------------------------------------------------------------------------
#
# The module that it stands in, and all of ours that this one imports, within functions too, so that a kernel is
# compiled anew if any of them changes. Imports are read from the sources; lines of texts that look like one count. The
# compiler's own files, on which all kernels depend, are in the name of the folder; so they do not count here, nor do
# their imports, which reach most of the package.

_IMPORT = re.compile(r"^[ \t]*(?:from +([\w.]+) +)?import +(\([^)]*\)|.*)", re.MULTILINE)


@cache
def closure_hash(file: str) -> str:
    """Hash of the content of a source file and of all below it; files outside the package go by content alone."""
    digest = hashlib.sha256()
    for path, content in sorted(closure(file).items()):
        place = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""
        digest.update(f"{place} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def closure(file: str) -> dict[Path, bytes]:
    """A source file and all below it, with their content."""
    found: dict[Path, bytes] = {}
    waiting = [Path(file).resolve()]
    while waiting:
        path = waiting.pop()
        if path not in found and path.parent != Path(__file__).resolve().parent:
            found[path] = path.read_bytes()
            waiting += _imported(path)
    return found


@cache
def _imported(path: Path) -> set[Path]:
    """Files that a file imports, of this package or beside it."""
    text, package = path.read_text(encoding="utf-8"), _package()
    looks = path.name == "__init__.py" and "import_module(" in text  # for modules by itself
    found = set(path.parent.glob("*.py")) if looks else set()
    for module, imported in _IMPORT.findall(text):
        names = re.findall(r"[\w.]+", imported)
        for name in [module, *(f"{module}.{name}" for name in names)] if module else names:
            if name in package:
                found.add(package[name])
            elif "." not in name and path.with_name(f"{name}.py").is_file():
                found.add(path.with_name(f"{name}.py").resolve())
    return found


@cache
def _package() -> dict[str, Path]:
    """Files of this package, by the dotted names of their modules."""
    files = {path.relative_to(PACKAGE.parent): path for path in PACKAGE.rglob("*.py")}
    return {".".join(place.with_suffix("").parts).removesuffix(".__init__"): path for place, path in files.items()}
