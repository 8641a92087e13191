"""Pages: texts of a model stay texts, arrays keep their numbers, and nothing is fetched."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np

from mbsim_cli.report.page import SCRIPTS, page

EVIL = '</script><img src=x onerror="document.title=1"><!-- <script>\u2028{{SCRIPT}}'


class Elements(HTMLParser):
    """Names of elements with their attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.title, self._inside = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, content):
        if self._inside == "script" and content.strip():
            self.scripts.append(content)
        if self._inside == "title":
            self.title += content

    def handle_endtag(self, tag):
        self._inside = ""


def test_texts_of_a_model_are_no_markup():
    data = {"kind": "error", "title": EVIL, "errors": [EVIL], EVIL: 1}
    found = Elements(page(data, EVIL))
    assert [tag for tag, _ in found.found].count("script") == 2 and "img" not in [tag for tag, _ in found.found]
    assert json.loads(found.scripts[0]) == data | {"live": False}
    assert found.title == EVIL


def test_no_script_but_its_own_may_run_and_nothing_is_fetched():
    found = Elements(page({"kind": "error", "title": "", "errors": []}, ""))
    policy = next(a["content"] for _, a in found.found if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "connect-src" not in policy and "'unsafe-inline'; img-src" in policy
    assert "script-src 'sha256-" in policy
    assert not [a for _, a in found.found if "src" in a or "href" in a]
    assert "innerHTML" not in found.scripts[1] and "insertAdjacentHTML" not in found.scripts[1]


def test_arrays_keep_their_numbers():
    numbers = np.array([[1.5, np.nan], [-np.inf, 1e-30]])
    data = {
        "kind": "error",
        "title": "",
        "errors": [],
        "numbers": numbers,
        "places": np.array([3, 70000]),
        "none": np.nan,
    }
    read = json.loads(Elements(page(data, "")).scripts[0])
    stored = np.frombuffer(base64.b64decode(read["numbers"]["f4"]), "<f4").reshape(read["numbers"]["shape"])
    np.testing.assert_array_equal(stored, numbers.astype("f4"))
    assert np.frombuffer(base64.b64decode(read["places"]["u4"]), "<u4").tolist() == [3, 70000]
    assert read["none"] is None


def test_a_page_without_data_is_small():
    assert len(page({"kind": "error", "title": "", "errors": []}, "")) < 100_000  # 1.5 MB are allowed


def test_every_script_is_part_of_the_page():
    from importlib.resources import files

    there = {entry.name for entry in (files("mbsim_cli.report") / "assets").iterdir() if entry.name.endswith(".js")}
    assert there == set(SCRIPTS)
    assert not re.search(r"https?://(?!www\.w3\.org/)", page({"kind": "error", "title": "", "errors": []}, ""))
