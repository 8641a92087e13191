"""Mutated files: either valid or a ModelError with places, never anything else."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mbsim_cli import spec
from tests.spec.example import VALID

MODELS = Path(__file__).parents[2] / "models"
TEXTS = [VALID, *(path.read_text() for path in sorted(MODELS.glob("**/*.yaml")) if path.stat().st_size < 20_000)]
PIECES = ["", "0", "-1", "1e400", ".nan", "null", "[]", "{}", "true", "x", "ground", "all", "auto", "'", '"', "[", "}"]
PIECES += [
    ":",
    "- ",
    "&a ",
    "*a",
    "\t",
    "\n",
    "  ",
    "#",
    "1/0",
    "sqrt(-1)",
    "deg",
    "[0, 0, 0]",
    "{type: rod}",
    "é",
    "\0",
]


@st.composite
def mutated(draw):
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        if draw(st.booleans()):
            # a whole token: keeps the YAML valid more often, so that what lies behind is reached
            while 0 < start < len(text) and text[start - 1].isalnum():
                start -= 1
            end = start
            while end < len(text) and text[end].isalnum():
                end += 1
        else:
            end = min(len(text), start + draw(st.integers(0, 8)))
        other = draw(st.sampled_from(PIECES) | st.text(max_size=3) | st.just(text[:0]))
        if draw(st.integers(0, 3)) == 0:
            at = draw(st.integers(0, len(text)))
            other = text[at : at + draw(st.integers(1, 30))]
        text = text[:start] + other + text[end:]
    return text


@settings(max_examples=300)
@given(text=mutated())
def test_mutated_files_are_valid_or_refused(tmp_path, text):
    path = tmp_path / "model.yaml"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    lines = text.count("\n") + 2
    try:
        spec.load(path)
    except spec.ModelError as error:
        assert error.exit_code == 3
        assert error.issues
        for issue in error.issues:
            assert 1 <= issue.line <= lines
            assert issue.column >= 1
            assert issue.message
