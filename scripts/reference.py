"""Writes the pages of docs that are made from the program: codes of messages, keys of the model file.

``python scripts/reference.py``; tests see that the pages are current.
"""

from pathlib import Path

from mbsim_cli import messages

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Texts by path."""
    return {DOCS / "messages.md": messages.page()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
