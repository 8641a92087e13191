"""Codes of messages: each is documented, is used by a sentence of the program, and classifies its own example."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mbsim_cli import messages
from mbsim_cli.errors import Issue
from mbsim_cli.messages import KINDS, code_of
from scripts.reference import messages_page

ROOT = Path(__file__).parents[2]
RAISED = {"UsageError": "usage", "InputOutputError": "file", "AnalysisError": "analysis"}
REPORTED = {"report": 1, "issue": 1, "RepeatError": 1, "NodeError": 0, "ExpressionError": 0, "Issue": 4, "warn": 0}
REST = {"MB210", "MB310", "MB410", "MB510", "MB620"}  # last of each family


def text_of(node):
    """The text of a literal, with an x for each value that is put in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
    return None


def sentences():
    """Family and text of the sentences that stand where they are raised or reported, then those of any other place."""
    for path in sorted((ROOT / "mbsim_cli").rglob("*.py")):
        if "kernels" in path.relative_to(ROOT).parts or path == Path(messages.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                place = 0 if name in RAISED else REPORTED.get(name)
                if place is not None and len(node.args) > place and (text := text_of(node.args[place])):
                    yield RAISED.get(name, "warning" if name == "warn" else "model"), text
            elif (text := text_of(node)) and text.count(" ") > 2:
                yield "", text


@cache
def found():
    """All sentences."""
    return list(sentences())


@cache
def used(family):
    """Codes of the sentences that a family has, or may have."""
    families = (family, "") if family in ("warning", "analysis", "model") else (family,)  # named before they are given
    return {code_of(text, family) for stated, text in found() if stated in families}


@pytest.mark.parametrize("code", KINDS)
def test_a_code_is_documented_and_used(code):
    kind = KINDS[code]
    assert re.fullmatch(r"MB\d{3}", code) and kind.title and kind.cause.endswith(".") and kind.cure.endswith((".", ")"))
    message = kind.example.partition("; ")[0] if kind.family == "model" else kind.example  # hints of issues stand apart
    assert code_of(message, kind.family) == code
    if kind is messages.INTERNAL:
        assert any("internal error" in text for _, text in found())
        return
    assert code in used(kind.family), f"no sentence of the program is {kind.title!r}"


def test_the_page_is_current():
    assert (ROOT / "docs" / "messages.md").read_text() == messages_page(), "python scripts/reference.py makes it"


def test_most_sentences_have_a_kind_of_their_own():
    count = Counter(code_of(text, family) in REST for family, text in found() if family)
    assert count[False] + count[True] > 400 and count[True] < 0.3 * count.total(), count


def test_places_and_hints_do_not_matter():
    sentence = "must be greater than zero, is -1"
    assert code_of(f"warning: a/m.yaml:3:4: forces.s.stiffness: {sentence}", "model") == code_of(sentence, "model")
    assert Issue("m.yaml", 1, 1, "a.b", sentence).as_dict()["code"] == "MB106"


@pytest.mark.parametrize("name", ["objective energy", "objective drift", "the motion of crank.q1"])
def test_names_in_a_sentence_do_not_matter(name):
    assert code_of(f"{name} has an estimated discretisation error of 2 %; try a shorter step", "warning") == "MB601"


@pytest.mark.parametrize("name", ["axis", "mass", "law", "YAML", "main rotation"])
def test_names_of_the_file_do_not_matter(name):
    assert code_of(f"body {name!r} is not connected to the ground by joints", "model") == "MB203"
    assert code_of(f"joint {name!r} exerts nothing on body 'rod'", "model") == "MB210"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("must be 1, not 2", "MB103"),
        ("needs one parameter at least", "MB105"),
        ("2 laws stand for 2 breaks", "MB105"),
        ("3 samples, and A.angle has 5: ranges have the same count", "MB105"),
        ("unknown unit 'furlong'", "MB113"),
        ("'mass' is made twice", "MB107"),
        ("has the same values as case 0 of the list", "MB107"),
        ("a rotation by 3.16 rad is half a turn or more, which no bushing reaches", "MB106"),
        ("the brace '{' has no partner", "MB110"),
        ("2 is more than at_most, 1", "MB106"),
        ("1 is less than 2", "MB106"),
        ("'A.angle' is not a displacement", "MB108"),
        ("'a.b' cannot be a name", "MB109"),
        ("'pi' has a meaning in expressions already", "MB109"),
        ("expression is longer than 10000 characters", "MB110"),
        ("a text with braces stands without quotes", "MB111"),
        ("'m:' is not a key", "MB111"),
        ("nested more than 64 deep", "MB111"),
        ("there are more than 1 000 000 entries", "MB111"),
        ("natural coordinates have no armatures", "MB210"),
        ("a force of type tyre takes no law of time", "MB210"),
        ("give axis and angle together", "MB211"),
        ("give one of integral, mean, expression or a number of a mode", "MB211"),
        ("give no tolerance: whole numbers agree or do not", "MB211"),
    ],
)
def test_a_sentence_has_the_code_whose_cure_helps(sentence, code):
    assert code_of(sentence, "model") == code


@pytest.mark.parametrize(
    "sentence",
    [
        "unknown study 's': the model has none: write one, or give --grid or --csv",
        "--outputs: no sensor 'r'; did you mean 'q'?",
    ],
)
def test_a_name_that_a_command_does_not_find_has_one_code(sentence):
    assert code_of(sentence, "usage") == "MB301"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("r.urdf: limits of elbow is not finite", "MB506"),
        ("loops.yaml: c: there is no body 'x'; the robot has a, b", "MB506"),
        ("loops.yaml: c: places of b must have three numbers", "MB506"),
        ("r.h5 holds positions that are not finite numbers, which cannot be drawn", "MB505"),
        ("crank.msh has points whose coordinates are not finite", "MB505"),
        ("crank.mtx is of no body: row 3 has -1 on the diagonal, less than 0", "MB510"),
    ],
)
def test_files_of_robots_alone_have_the_code_of_robots(sentence, code):
    assert code_of(sentence, "file") == code


@pytest.mark.parametrize(
    "sentence",
    [
        "m.yaml:5:3: parameters.mass: nothing reads this parameter; gradients by it are zero",
        "m.yaml:9:3: laws.l: nothing uses this law; it acts where its name stands",
        "m.yaml:9:3: forces.s: exerts nothing with zero stiffness; leave it out",
        "m.yaml:9:3: states.s.rate: is zero: nothing changes the state; make it a constant",
        "m.yaml:1:1: the model has no bodies, and nothing moves; they stand under bodies",
    ],
)
def test_what_has_no_effect_has_one_code(sentence):
    assert code_of(sentence, "warning") == "MB614"


def test_reading_and_writing_have_codes_of_their_own():
    assert code_of("cannot read a.h5: No such file or directory", "file") == "MB501"
    assert code_of("cannot write a.h5: No such file or directory", "file") == "MB502"


def test_a_search_that_ends_early_has_a_code():
    sentence = "the optimality conditions hold to 3.1e-01 (L), not to 1e-08: the limit of 3 analyses is reached"
    assert code_of(sentence, "warning") == "MB609"


def test_no_code_stands_twice():
    with pytest.raises(ValueError, match="MB101 stands twice"):
        messages._family("model", ("MB101", "", "", "", "", ""))
