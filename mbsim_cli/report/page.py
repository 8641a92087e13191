"""One HTML file that shows a result, a study or a fit: the data, and the scripts and style that draw them.

The files in ``assets`` are put into the page as they are. Nothing is fetched: the page forbids it to itself, and allows
no script but its own, so that texts of a model file cannot become one.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from mbsim_cli.plain_data import plain

SCRIPTS = tuple(
    f"{name}.js" for name in ["base", "charts", "shapes", "view", "motion", "gradients", "tables", "study", "main"]
)
_KINDS = {"f": "f4", "i": "u4", "u": "u4"}  # of arrays: as the page calls them


def page(data: Mapping[str, Any], title: str, live: bool = False) -> str:
    """The text of a page; arrays among the data are stored in single precision.

    A ``live`` page asks its server whether there is a newer one.
    """
    assets = files("mbsim_cli.report") / "assets"
    read = {name: (assets / name).read_text("utf-8") for name in (*SCRIPTS, "page.html", "page.css")}
    script = "".join(read[name] for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # no text in the data ends the script element that holds it, or begins a comment
    data = plain({**data, "live": live}, _as_bytes)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    parts = {
        "POLICY": policy + "; connect-src 'self'" * live,
        "TITLE": escape(title),
        "STYLE": read["page.css"],
        "DATA": text,
        "SCRIPT": script,
    }
    before, *rest = read["page.html"].split("{{")
    return before + "".join(parts[name] + after for name, after in (piece.split("}}", 1) for piece in rest))


def _as_bytes(value: np.ndarray) -> dict[str, Any]:
    """An array as bytes with its shape."""
    kind = _KINDS[value.dtype.kind]
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(value.astype(f"<{kind}"))
    return {kind: base64.b64encode(stored.tobytes()).decode(), "shape": list(value.shape)}
