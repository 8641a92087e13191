"""Sentences say what their reader can give: options to those at a shell, arguments to those who write programs."""

import ast
import re
from pathlib import Path

import pytest

import mbsim_cli
from mbsim_cli import errors

ROOT = Path(mbsim_cli.__file__).parent
OPTION = re.compile(r"(?<![-\w'(])(--[a-z][-a-z]*|-[opj])(?![-\w])")
OF_COMMANDS = (  # reached from commands alone, or about shells
    "errors.py",
    "cli/",
    "exchange/",
    "kernels/",
    "messages.py",
    "report/",
    "spec/reading/source.py",
    "study/reduced_bodies.py",
    "study/pictures/",
    "study/compiling.py",
    "study/sweep/collecting.py",
    "study/sweep/running.py",
    "study/sweep/job_script.py",
    "study/verification.py",
)


def sentences(path):
    """Texts of a file with their lines, but for docstrings and what ``either`` says at a shell."""
    tree = ast.parse(path.read_text())
    apart = {id(inner) for node in ast.walk(tree) if told_apart(node) for inner in ast.walk(node.args[0])}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    apart |= {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and has_docstring(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def told_apart(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "either"


def has_docstring(node):
    return bool(node.body) and isinstance(node.body[0], ast.Expr)


def test_no_sentence_of_the_library_names_options_of_a_command():
    files = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}
    found = [
        f"{name}:{line}: {text}"
        for name, path in files.items()
        if not name.startswith(OF_COMMANDS)
        for line, text in sentences(path)
        if OPTION.search(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("said", "command", "program"),
    [
        (lambda: errors.option("step"), "--step", "step"),
        (lambda: errors.option("case_timeout"), "--case-timeout", "case_timeout"),
        (
            lambda: errors.option("sensitivity", "ddm", "none"),
            "--sensitivity ddm or none",
            "sensitivity='ddm' or 'none'",
        ),
        (lambda: errors.flag("all_numbers"), "--all-numbers", "all_numbers=True"),
        (lambda: errors.either("-o", "path"), "-o", "path"),
    ],
)
def test_who_calls_is_told_what_can_be_given(said, command, program):
    assert said() == program
    with errors.at_a_shell():
        assert said() == command
    assert said() == program


@pytest.mark.parametrize(
    ("noun", "plural"), [("mode", "modes"), ("body", "bodies"), ("analysis", "analyses"), ("axis", "axes")]
)
def test_nouns_agree_with_their_number(noun, plural):
    assert errors.counted(1, noun) == f"1 {noun}" and errors.counted(2, noun) == f"2 {plural}"
