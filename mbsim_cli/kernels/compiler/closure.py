"""What the code of a kernel depends on: the module that it stands in, and all of ours that this one imports.

Read from the sources, imports within functions too, so that a kernel is compiled anew if any of them changes. What all
kernels depend on, the compiler's own files, belongs to the name of the folder.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

from mbsim_cli.kernels.compiler.folder import PACKAGE

__all__ = ["closure_hash"]


@cache
def closure_hash(file: str) -> str:
    """Hash of the content of a source file and of all below it."""
    found: dict[Path, bytes] = {}
    waiting = [Path(file).resolve()]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = path.read_bytes()
            waiting += _imported(path)
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{_place(path)} {len(found[path])}\n".encode())
        digest.update(found[path])
    return digest.hexdigest()


def _place(path: Path) -> str:
    """Where a file is within the package; others go by their content alone."""
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Files that a file imports, of this package or beside it."""
    found: list[Path] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += (file for alias in node.names for file in _files(path, alias.name, 0))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found += _files(path, module, node.level)
            found += (
                file for alias in node.names for file in _files(path, f"{module}.{alias.name}".lstrip("."), node.level)
            )
    return tuple(dict.fromkeys(found))


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
