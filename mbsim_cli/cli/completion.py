"""Words that a shell offers: names of the model file or result that the line already states.

A file that cannot be read offers nothing; a shell has no place for its errors.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer import Context


def keys(incomplete: str) -> list[str]:
    """Keys of the model file, as ``mbsim explain`` takes them: one word further than what is typed."""
    from mbsim_cli.cli.explain import places
    from mbsim_cli.spec.schema import written_out

    stem, _, _ = incomplete.rpartition(".")
    depth = len(stem.split(".")) + 1 if stem else 1
    words = {".".join(place.split(".")[:depth]) for place in places(written_out())}
    return sorted(word for word in words if word.startswith(incomplete))


def parameters(ctx: Context, incomplete: str) -> list[str]:
    """``NAME=`` of parameters and constants, for ``-p``."""
    names = (f"{name}=" for section in ("parameters", "constants") for name in _names(ctx, section))
    return [name for name in names if name.startswith(incomplete)]


def set_keys(incomplete: str) -> list[str]:
    """Keys of the model file with ``=`` behind, for ``--set``; one that holds others ends in a dot."""
    known = keys(incomplete)
    if len(known) > 1 or not known:
        return known
    return [f"{known[0]}." if len(keys(known[0] + ".")) else f"{known[0]}="]


def studies(ctx: Context, incomplete: str) -> list[str]:
    """Studies of the model."""
    return [name for name in _names(ctx, "study") if name.startswith(incomplete)]


def optimizations(ctx: Context, incomplete: str) -> list[str]:
    """Optimisations of the model."""
    return [name for name in _names(ctx, "optimization") if name.startswith(incomplete)]


def histories(ctx: Context, incomplete: str) -> list[str]:
    """Sensors and other histories of the result that is named first."""
    from mbsim_cli.io.results import Content

    with contextlib.suppress(Exception):
        path = next(path for path in _stated(ctx, "arguments") if str(path).endswith(".h5"))
        return [name for name in Content(Path(path)).entries if name.startswith(incomplete)]
    return []


def _names(ctx: Context, section: str) -> Iterator[str]:
    """Names in a section of the model file, those of included files too; names that ``repeat`` makes are left out."""
    from mbsim_cli.spec.reading.include import read_source

    with contextlib.suppress(Exception):
        path = next(iter(_stated(ctx, "model", "models")))
        source, _ = read_source(path)
        node = source.root and source.root.value.get(section)
        if node is not None and isinstance(node.value, dict):
            yield from node.value


def _stated(ctx: Context, *names: str) -> Iterator[Any]:
    """Files that the line states under one of these names."""
    for name in names:
        value = ctx.params.get(name)
        if value is not None:
            yield from value if isinstance(value, list | tuple) else [value]
