"""One HTML file with a result, a study or a fit: the data, and the scripts and styles that display them.

The files in ``assets`` are embedded unchanged. The content security policy of the page forbids loading anything, and
all scripts but its own, so that texts from a model file cannot be executed.
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
_KINDS = {"f": "f4", "i": "u4", "u": "u4"}  # types of arrays, as the script of the page names them


def page(data: Mapping[str, Any], title: str, live: bool = False) -> str:
    """The text of a page, arrays in single precision; a ``live`` page polls its server for a newer version."""
    assets = files("mbsim_cli.report") / "assets"
    read = {name: (assets / name).read_text("utf-8") for name in (*SCRIPTS, "page.html", "page.css")}
    script = "".join(read[name] for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # escaped, so that no text in the data ends the script element or begins a comment
    data = plain({**data, "live": live}, _as_bytes)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    policy += "; connect-src 'self'" * live
    parts = {"POLICY": policy, "TITLE": escape(title), "STYLE": read["page.css"], "DATA": text, "SCRIPT": script}
    before, *rest = read["page.html"].split("{{")
    return before + "".join(parts[name] + after for name, after in (piece.split("}}", 1) for piece in rest))


def _as_bytes(value: np.ndarray) -> dict[str, Any]:
    """An array as bytes with its shape."""
    kind = _KINDS[value.dtype.kind]
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(value.astype(f"<{kind}"))
    return {kind: base64.b64encode(stored.tobytes()).decode(), "shape": list(value.shape)}
