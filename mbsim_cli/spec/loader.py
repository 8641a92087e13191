"""``load``: from a path to a validated ``ModelFile``, or one error that holds everything that is wrong."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_origin

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from mbsim_cli.errors import Issue, ModelError, UsageError
from mbsim_cli.spec.every_number import name_numbers
from mbsim_cli.spec.expand import expand, expand_sweep
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.causes import (
    MOST,
    consequences,
    first_errors,
    is_large,
    leave_out_own_sections,
    rename_sections,
)
from mbsim_cli.spec.judging.review import Broken, Review, valid_part
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.include import read_source
from mbsim_cli.spec.reading.messages import issue_of
from mbsim_cli.spec.reading.nodes import replace_wildcards, resolve
from mbsim_cli.spec.reading.setting import is_key, set_keys
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.repeat.writer import write_out
from mbsim_cli.spec.rules import RULES

NAMED = frozenset(  # sections of items whose names users choose
    field.alias or name for name, field in ModelFile.model_fields.items() if get_origin(field.annotation) is dict
)


def load(
    path: str | os.PathLike[str],
    overrides: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    every_number: bool = False,
) -> ModelFile:
    """Return the model in a file, with parameters or constants replaced by ``overrides`` (texts by name).

    A name of ``overrides`` that begins with a dot is the path of a key, as ``.analysis.step``.

    ``texts`` by file name take the place of files, as when a result is read again. With ``every_number`` each number of
    the file is a parameter.
    Raises ModelError with all issues, InputOutputError when the file cannot be read, UsageError for a wrong override.
    """
    source, issues = read_source(path, texts)
    if any(issue.path == "include" for issue in issues):  # what is not there would be missed everywhere
        raise ModelError(_in_order(issues, source.file))
    leave_out_own_sections(source)
    issues += rename_sections(source)
    overrides = overrides or {}
    made = set_keys(source, overrides, NAMED)
    if wrong := write_out(source, overrides):
        raise ModelError(_in_order(issues + wrong, source.file))
    set_keys(source, made, NAMED)
    if source.root is not None:
        replace_wildcards(source.root)
    model, broken = _validated(source, issues)
    if model is not None:
        model._source = source
        wrong_controls = _add_controls(model)
        _override(model, {name: text for name, text in overrides.items() if not is_key(name)})
        if every_number and not issues:
            name_numbers(model)
        broken |= {(section,) for section in source.twice}
        review = Review(model, source, broken)
        expand(review)
        if model.controls:
            from mbsim_cli.spec.expand_controls import expand_controls

            expand_controls(review, wrong_controls)
        _expand_states(review)
        for rule in RULES:
            rule(review)
        issues += review.issues
    if issues or model is None:
        raise ModelError(_in_order(issues, source.file))
    return model


def _add_controls(model: ModelFile) -> dict[str, list[str]]:
    """Add the parameters of controls; returns what is wrong with these."""
    if not model.controls:
        return {}
    from mbsim_cli.spec.expand_controls import add_values

    return add_values(model)


def _expand_states(review: Review) -> None:
    """Add what states, controllers, cables, sweeps and friction stand for; each imports what it needs."""
    model = review.model
    if model.states:
        from mbsim_cli.spec.expand_states import expand_states

        expand_states(review)
    if model.controllers:
        from mbsim_cli.spec.expand_states import expand_controllers

        expand_controllers(review)
    if model.cables:
        from mbsim_cli.spec.expand_cables import expand_cables

        expand_cables(review)
    expand_sweep(review)
    if any(getattr(joint, "friction", None) for joint in model.joints.values()):
        from mbsim_cli.spec.expand_states import expand_friction

        expand_friction(review)


def _validated(source: Source, issues: list[Issue]) -> tuple[ModelFile | None, Broken]:
    """The valid part of a file, and the places of the rest, whose ``issues`` are added.

    Raises ModelError with the first errors where there are very many.
    """
    data: dict[str, Any] = source.data()
    classes: dict[int, Any] = {}
    if is_large(data):
        _refuse_many(issues, classes, data, source)
    try:
        return ModelFile.model_validate(data, context=classes), set()
    except ValidationError as error:
        if error.error_count() <= MOST:
            issues += _issues_of(error.errors(include_url=False), classes, data, source)
            return valid_part(data, error)
    _refuse_many(issues, classes, data, source)
    return None, set()


def _issues_of(entries: Sequence[Any], classes: dict[int, Any], data: Any, source: Source) -> list[Issue]:
    follow = set(consequences(entries, classes, data))
    causes = [entry for number, entry in enumerate(entries) if number not in follow]
    return [issue_of(entry, classes, data, source) for entry in causes]


def _refuse_many(issues: list[Issue], classes: dict[int, Any], data: Any, source: Source) -> None:
    """Raise ModelError with the first errors of a large file, if there are any."""
    entries = first_errors(data, classes)
    if not entries:
        return
    found = _in_order([*issues, *_issues_of(entries, classes, data, source)], source.file)
    if len(entries) == MOST:
        found.append(Issue(source.file, 0, 0, "", f"only the first {MOST} errors are listed"))
    raise ModelError(found)


def _override(model: ModelFile, overrides: Mapping[str, str]) -> None:
    if wrong := [sentence for name, text in overrides.items() if (sentence := _put(model, name, text))]:
        raise UsageError("; ".join(wrong))
    errors = ((name, model.expressions.errors.get(name)) for name in overrides)
    if wrong := [
        f"value {overrides[name]!r} of parameter {name!r}: {error.message}"
        for name, error in errors
        if error is not None and (not error.reported or "defined by itself" in error.message)
    ]:
        raise UsageError("; ".join(wrong))


def _put(model: ModelFile, name: str, text: str) -> str:
    """Replace the value of a parameter or constant; return what is wrong with that."""
    known = (*model.parameters, *model.constants)
    if name not in known:
        hint, sentence = suggest(name, known), f"unknown parameter {name!r}"
    else:
        try:
            model._overrides[name] = Number.read(resolve(text.strip()))
            return ""
        except PydanticCustomError as error:
            hint = (error.context or {}).get("hint")
            sentence = f"value {text!r} of parameter {name!r}: {error.message()}"
    return f"{sentence}; {hint}" if hint else sentence


def _in_order(issues: Iterable[Issue], first: str) -> list[Issue]:
    distinct = dict.fromkeys(issues)
    rank = {file: place for place, file in enumerate(dict.fromkeys([first, *(issue.file for issue in distinct)]))}
    return sorted(distinct, key=lambda issue: (rank[issue.file], issue.line, issue.column))
