"""Pages of the documentation that are made from the program: codes of messages, all keys of the model file.

``python scripts/reference.py`` writes them. The site makes them anew when it is built (``hooks`` in mkdocs.yml), so
that the reference of keys, which git ignores, is always that of the schema.
"""

from pathlib import Path
from typing import Any

from mbsim_cli import messages

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Texts by path."""
    return {DOCS / "messages.md": messages.page(), DOCS / "reference.md": keys_page()}


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
        lines += ["", f"## {section}", "", *found["description"], *_example(section, found["examples"][:1])]
        kinds = {kind: explain(whole, f"{section}.{kind}") for kind in found.get("types", {})}
        if not kinds:
            lines += _table(found.get("keys", {}))
        for kind, part in kinds.items():
            lines += ["", f"### {section}.{kind}", "", found["types"][kind], *_table(part.get("keys", {}))]
    return "\n".join(lines) + "\n"


def _table(keys: dict[str, dict[str, Any]]) -> list[str]:
    """Rows of keys: name, whether it is required, meaning."""
    if not keys:
        return []
    rows = [
        f"| `{key}` | {'yes' * entry['required']} | {_plain(entry['description'])} |" for key, entry in keys.items()
    ]
    return ["", "| key | required | meaning |", "| --- | --- | --- |", *rows]


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _example(name: str, examples: list[Any]) -> list[str]:
    from mbsim_cli.cli.explain import example_lines

    return ["", "```yaml", *(line for example in examples for line in example_lines(name, example)), "```"]


def on_pre_build(config: Any) -> None:
    """Write the pages; mkdocs calls this before it builds the site."""
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    on_pre_build(None)
