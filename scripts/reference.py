"""Pages of the documentation that are made from the program: codes of messages, keys of the model file, the library.

``python scripts/reference.py`` writes them. The site makes them anew when it is built (``hooks`` in mkdocs.yml), so
that the references of keys and of the library, which git ignores, are always those of schema and docstrings.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mbsim_cli import messages

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Texts by path."""
    texts = {"messages": messages_page(), "reference": keys_page(), "library": library_page()}
    return {DOCS / f"{name}.md": text for name, text in texts.items()}


def messages_page() -> str:
    """The page of documentation that lists all codes."""
    titles = {
        "model": "Model file", "usage": "Command", "analysis": "Analysis", "file": "Files", "warning": "Warnings",
        "internal": "Defects",
    }  # fmt: skip
    lines = [
        "# Messages", "",
        "Each error and warning ends in a code, in text and in `--json`; `mbsim explain MB106` prints what stands "
        "here.",
        "This page is made from `mbsim_cli/messages.py` by `python scripts/reference.py`.",
    ]  # fmt: skip
    before = None
    for kind in sorted(messages.KINDS.values(), key=lambda kind: kind.code):
        if kind.family != before:
            lines += ["", f"## {titles[kind.family]}"]
            before = kind.family
        lines += ["", f"### {kind.code} {kind.title}", "", kind.cause, "", f"*Cure.* {kind.cure}", ""]
        lines += ["```text", kind.example, "```"]
    return "\n".join(lines) + "\n"


def keys_page() -> str:
    """All keys of the model file by section and type, with meaning and example, from the schema's descriptions."""
    from mbsim_cli.cli.explain import explain
    from mbsim_cli.spec.schema import written_out

    whole = written_out()
    lines = [
        "# All keys",
        "",
        "Made from the schema. [The model file](model-file.md) explains them in their context.",
        "`mbsim explain KEY` prints one.",
    ]
    for section in whole["properties"]:
        found = explain(whole, section)
        lines += ["", f"## {section}", "", *found["description"], *_example(found["examples"][:1])]
        kinds = {kind: explain(whole, f"{section}.{kind}") for kind in found.get("types", {})}
        if not kinds:
            lines += _table(found.get("keys", {}))
        for kind, part in kinds.items():
            lines += ["", f"### {section}.{kind}", "", found["types"][kind], *_example(part["examples"])]
            lines += _table(part.get("keys", {}))
    return "\n".join(lines) + "\n"


def _table(keys: dict[str, dict[str, Any]]) -> list[str]:
    """Rows of keys: name, whether it is required, meaning."""
    if not keys:
        return []
    rows = [
        f"| `{key}` | {'yes' * entry['required']} | {_plain(entry['description'])} |" for key, entry in keys.items()
    ]
    return ["", "| key | required | meaning |", "| --- | --- | --- |", *rows]


def library_page() -> str:
    """Signatures and docstrings of what the library offers; functions first, then classes with their methods."""
    import mbsim_cli

    lines = ["# The library", "", "Made from the docstrings. [Python](python.md) shows how they work together."]
    offered = {name: getattr(mbsim_cli, name) for name in mbsim_cli.__all__}
    for name, found in sorted(offered.items(), key=lambda item: (inspect.isclass(item[1]), item[0])):
        if not inspect.isclass(found):
            lines += ["", f"## {name}", "", f"`{name}{_signature(found)}`", "", _text_of(found)]
            continue
        lines += ["", f"## {name}", "", _text_of(found)]
        for method, inner in _public(found):
            lines += ["", f"`{name}.{method}{_signature(inner)}`", "", _text_of(inner)]
    return "\n".join(lines) + "\n"


def _public(found: type) -> Iterator[tuple[str, Any]]:
    """Documented methods and properties of a class, in the order of its source."""
    for name, inner in vars(found).items():
        function = getattr(inner, "func", None) or getattr(inner, "fget", None) or getattr(inner, "__func__", inner)
        if not name.startswith("_") and inspect.isfunction(function) and inspect.getdoc(function):
            yield name, function if function is inner or hasattr(inner, "__func__") else inner


def _signature(found: Any) -> str:
    """Arguments with their defaults, without types; none for a property."""
    if not inspect.isfunction(found):
        return ""
    bare = [p.replace(annotation=p.empty) for p in inspect.signature(found).parameters.values() if p.name != "self"]
    return str(inspect.Signature(bare))


def _text_of(found: Any) -> str:
    return (inspect.getdoc(getattr(found, "func", found)) or "").replace("``", "`").replace("<", "&lt;")


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _example(examples: list[Any]) -> list[str]:
    from mbsim_cli.cli.explain import example_lines

    return ["", "```yaml", *(line for example in examples for line in example_lines(example)), "```"]


def on_pre_build(config: Any) -> None:
    """Write the pages; mkdocs calls this before it builds the site."""
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    on_pre_build(None)
