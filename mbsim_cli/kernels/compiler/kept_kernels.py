"""Compiled kernels in the store, for whatever other entry, run or process calls them.

What is kept of a kernel is its optimised module, its signature, which modules it calls, and its machine code: an entry
that needs a kernel which another one had compiled only links it. Modules go by a hash of their content, so that a
kernel brings the callees along that it was compiled with. Rests on numba's dispatchers and libraries, which are no
public interface.
"""

import ast
import hashlib
import pickle
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from functools import cache, partial
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import compile_result
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.folder import PACKAGE
from mbsim_cli.kernels.compiler.image import IMAGES, Elf, Image, Object, linked
from mbsim_cli.kernels.compiler.linking import KernelLibrary, MadeElsewhere, looking_again, needed_by, owners_of
from mbsim_cli.kernels.compiler.reference import Reference

__all__ = ["KeptKernel", "closure_hash", "linked_code"]


# What the code of a kernel depends on: the module that it stands in, and all of ours that this one imports.
#
# Read from the sources, imports within functions too, so that a kernel is compiled anew if any of them changes. The
# compiler's own files, on which all kernels depend, are in the name of the folder; so they do not count here, nor do
# their imports, which reach most of the package.

_COMPILER = Path(__file__).resolve().parent


@cache
def closure_hash(file: str) -> str:
    """Hash of the content of a source file and of all below it."""
    digest = hashlib.sha256()
    for path, content in sorted(closure(file).items()):
        digest.update(f"{_place(path)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def closure(file: str) -> dict[Path, bytes]:
    """A source file and all below it, with their content."""
    found: dict[Path, bytes] = {}
    waiting = [Path(file).resolve()]
    while waiting:
        path = waiting.pop()
        if path not in found and path.parent != _COMPILER:
            found[path] = path.read_bytes()
            waiting += _imported(path)
    return found


def _place(path: Path) -> str:
    """Where a file is within the package; others go by their content alone."""
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Files that a file imports, of this package or beside it."""
    found: list[Path] = []
    if path.name == "__init__.py" and b"import_module(" in path.read_bytes():  # it looks for modules by itself
        found += sorted(path.parent.glob("*.py"))
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += (file for alias in node.names for file in _files(path, alias.name, 0))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found += _files(path, module, node.level)
            found += (
                file for alias in node.names for file in _files(path, f"{module}.{alias.name}".lstrip("."), node.level)
            )
    return tuple(dict.fromkeys(found))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, those within others too. Imports are some; expressions, most of a file, hold none."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        found = waiting.pop()
        yield found
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(found, block, ())


def _files(path: Path, name: str, level: int) -> list[Path]:
    """The file of a module, if it is ours: of the package, or beside the file that imports it."""
    if not name:
        return []
    roots = [path.parents[level - 1]] if level else [PACKAGE.parent, path.parent]
    candidates = (root.joinpath(*name.split(".")) for root in roots)
    return [
        file.resolve()
        for base in candidates
        for file in (base.with_suffix(".py"), base / "__init__.py")
        if file.is_file()
    ]


MOST_BYTES = 400_000_000  # of kernels; those of one version take some 30 million


class KeptKernel(NullCache):
    """What numba's dispatcher of one kernel asks for compiled forms."""

    def __init__(self, dispatcher: Any):
        self._dispatcher, compiler = dispatcher, dispatcher._compiler
        dispatcher._cache, compiler.compile = self, partial(self._compile, compiler.compile)

    def _compile(self, compile: Any, arguments: tuple, return_type: Any) -> Any:
        """Compile, unless another process has done so by the time that the kernels below are there."""
        target = self._dispatcher.targetctx
        try:
            with looking_again(self._dispatcher.py_func, lambda: self.load_overload(arguments, target)):
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
            data.library.ensure_finalized()
            if not _keys:
                _make_room()
            if not data.library.has_dynamic_globals:
                watch.PARTS_STORE.put(key, dumps(_reduced(data)))
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


def _reduced(data: Any) -> tuple:
    """Names, signature, what a kernel would hand to Python, and the key of its module."""
    names = copy(data.fndesc)
    names.typemap = names.calltypes = None
    return names, data.signature, data.environment, _keep_module(data.library)


def _rebuilt(content: bytes, target: Any) -> Any:
    """The compiled form of a kernel, as numba makes it."""
    names, signature, environment, key = pickle.loads(content)
    library = _module(key, target.codegen())
    if library is None:
        return None
    return compile_result(
        typing_context=target.typing_context,
        target_context=target,
        entry_point=target.get_executable(library, names, environment),
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=names,
        library=library,
        environment=environment,
        reload_init=[],
        referenced_envs=(),
    )


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


def _keep_module(library: Any) -> bytes:
    """Put the module of a kernel into the store, with those that it calls; its key."""
    if library not in _keys:
        library.ensure_finalized()
        called = tuple(map(_keep_module, owners_of(library)))
        content = pickle.dumps((library.name, library.bitcode, library.large, called))
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
        library = _modules[key] = KernelLibrary.of(codegen, name, binding.parse_bitcode(bitcode), large, called)
        _keys[library] = key
    return _modules[key]


_objects: dict[Any, Elf] = {}  # by library


def linked_code(library: Any, name: str) -> Image | Object:
    """Machine code of an entry and of all kernels below it."""
    needed = needed_by(library)
    if IMAGES:
        with suppress(ValueError):  # something that only LLVM links
            return linked(list(map(_object_of, needed)), name)
    module = library._final_module.clone()
    for below in needed[1:]:
        module.link_in(below._final_module.clone())
    asked = (each.name for part in (module.functions, module.global_variables) for each in part if each.is_declaration)
    named = tuple(each for each in asked if not each.startswith("llvm."))
    return Object(library._codegen._tm.emit_object(module), named, name)


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
