"""Completion in shells by names of stated files; one that cannot be read yields no words: errors disturb the shell."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer import Context


def keys(incomplete: str) -> list[str]:
    """Keys of the model file for ``mbsim explain``, one level below the typed ones."""
    from mbsim_cli.cli.explain import places
    from mbsim_cli.spec.schema import written_out

    stem, _, _ = incomplete.rpartition(".")
    depth = len(stem.split(".")) + 1 if stem else 1
    words = {".".join(place.split(".")[:depth]) for place in places(written_out())}
    return sorted(word for word in words if word.startswith(incomplete))


def parameters(ctx: Context, incomplete: str) -> list[str]:
    """``NAME=`` for each parameter and constant, for ``-p``."""
    names = (f"{name}=" for section in ("parameters", "constants") for name in _names(ctx, section))
    return [name for name in names if name.startswith(incomplete)]


def set_keys(ctx: Context, incomplete: str) -> list[str]:
    """Keys for ``--set``, those of the file and of the schema; each ends with ``=`` or a dot."""
    from mbsim_cli.cli.explain import explain
    from mbsim_cli.spec.model_file import MAPPINGS
    from mbsim_cli.spec.schema import written_out

    stem = incomplete.rpartition(".")[0]
    words, here = stem.split(".") if stem else [], _root(ctx)
    for word in words:
        inner = here.get(word)
        here = inner if isinstance(inner, dict) else {}
    found = {name: "." if isinstance(inner, dict) else "=" for name, inner in here.items()}
    if not words or len(words) == 1 + (words[0] in MAPPINGS):  # keys of the schema, down to this level
        place = ".".join([*words[:1], *filter(None, [here.get("type")])])
        with contextlib.suppress(Exception):
            below = explain(written_out(), place).get("keys", {})
            found = {name: "." if not words and name in {*MAPPINGS, "analysis"} else "=" for name in below} | found
    candidates = (".".join([*words, name]) + mark for name, mark in found.items())
    return sorted(name for name in candidates if name.startswith(incomplete))


def studies(ctx: Context, incomplete: str) -> list[str]:
    """Names of the studies of the model."""
    return [name for name in _names(ctx, "study") if name.startswith(incomplete)]


def optimizations(ctx: Context, incomplete: str) -> list[str]:
    """Names of the optimisations of the model."""
    return [name for name in _names(ctx, "optimization") if name.startswith(incomplete)]


def histories(ctx: Context, incomplete: str) -> list[str]:
    """Names of the histories in the first result on the command line."""
    from mbsim_cli.io.results import ResultFile

    with contextlib.suppress(Exception):
        path = next(path for path in _stated(ctx, "arguments") if str(path).endswith(".h5"))
        return [name for name in ResultFile(Path(path)).entries if name.startswith(incomplete)]
    return []


_OPEN_ENDS = {  # by shell, a line of its script and the replacement; fish appends no blank to these
    "bash": (
        "    return 0\n",
        "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *[=.] ]] && compopt -o nospace\n    return 0\n",
    ),
    "zsh": (
        '  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" %(autocomplete_var)s=complete_zsh %(prog_name)s)\n',
        '  local found="$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" %(autocomplete_var)s=complete_zsh'
        ' %(prog_name)s)"\n'
        """  if [[ $found == *[=.]'"))'* && $found != *'":"'* ]]; then\n"""
        "    compadd -S '' -- ${(Q)${(z)${${found#*'(('}%%'))'*}}}\n"
        "  else\n    eval $found\n  fi\n",
    ),
}


def leave_open() -> None:
    """Change the scripts of typer so that no blank follows NAME= and KEY., after which a value or key follows.

    typer has no public function for this. If another version has other scripts, these are not changed.
    """
    with contextlib.suppress(ImportError, AttributeError, KeyError):
        from typer import _completion_classes, _completion_shared

        for shell, name in (("bash", "BashComplete"), ("zsh", "ZshComplete")):
            script = _completion_shared._completion_scripts[shell].replace(*_OPEN_ENDS[shell])
            _completion_shared._completion_scripts[shell] = script
            getattr(_completion_classes, name).source_template = script


def _names(ctx: Context, section: str) -> list[str]:
    """Names in a section of the model file and its included files, without those that ``repeat`` generates."""
    inner = _root(ctx).get(section)
    return list(inner) if isinstance(inner, dict) else []


def _root(ctx: Context) -> dict[str, Any]:
    """The model file on the command line as nested mappings of texts; empty where it cannot be read."""
    from mbsim_cli.spec.reading.source import read_source

    with contextlib.suppress(Exception):
        source, _ = read_source(next(iter(_stated(ctx, "model", "models"))))
        return _plain(source.root)
    return {}


def _plain(node: Any) -> Any:
    """A node as nested mappings; lists are replaced by a text."""
    if isinstance(node.value, dict):
        return {name: _plain(inner) for name, inner in node.value.items()}
    return "" if isinstance(node.value, list) else node.value


def _stated(ctx: Context, *names: str) -> Iterator[Any]:
    """Files that the command line states for one of these arguments."""
    for name in names:
        value = ctx.params.get(name)
        if value is not None:
            yield from value if isinstance(value, list | tuple) else [value]
