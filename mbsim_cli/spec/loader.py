"""``load``: from a path to a validated ``ModelFile``, or one error that holds everything that is wrong."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from mbsim_cli.errors import Issue, ModelError, UsageError
from mbsim_cli.spec.base import by_type
from mbsim_cli.spec.expand import expand, with_values_of_controls
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.model_file import MAPPINGS, AnyAnalysis, ModelFile
from mbsim_cli.spec.parameters import with_every_number
from mbsim_cli.spec.reading import messages
from mbsim_cli.spec.reading.nodes import replace_wildcards, resolve
from mbsim_cli.spec.reading.source import Source, is_key, read_source, set_keys
from mbsim_cli.spec.review import Broken, Review
from mbsim_cli.spec.rules import RULES

KEYS = tuple(messages.keys_in(ModelFile))
OF_ANALYSES = {name: messages.keys_in(kind) for name, kind in by_type(get_args(get_args(AnyAnalysis)[0])).items()}
OWN = "x-"  # what sections of the user's own begin with


def load(
    path: str | os.PathLike[str],
    overrides: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    every_number: bool = False,
) -> ModelFile:
    """Return the model in a file, with ``overrides`` (texts) of parameters, constants, or keys as ``.analysis.step``.

    ``texts`` by name take the place of files; with ``every_number`` each number of the file is a parameter.
    Raises ModelError with all issues, InputOutputError when the file cannot be read, UsageError for a wrong override.
    """
    source, issues = read_source(path, texts, OF_ANALYSES)
    if any(issue.path == "include" for issue in issues):  # what is not there would be missed everywhere
        raise ModelError(_in_order(issues, source.file))
    source.root.value = {key: node for key, node in source.root.value.items() if not key.startswith(OWN)}
    issues += _rename_sections(source)
    overrides = overrides or {}
    of_made_items = set_keys(source, overrides, MAPPINGS)
    if "repeat" in source.root.value:
        from mbsim_cli.spec.repeat import write_out

        if wrong := write_out(source, overrides):
            raise ModelError(_in_order(issues + wrong, source.file))
        set_keys(source, of_made_items, MAPPINGS)
    replace_wildcards(source.root)
    model, broken = _validated(source, issues)
    if model is not None:
        model, wrong_controls = with_values_of_controls(model.read_from(source))
        model = _with_overrides(model, {name: text for name, text in overrides.items() if not is_key(name)})
        if every_number and not issues:
            model = with_every_number(model)
        review = Review(model, source, broken | {(section,) for section in source.twice})
        expand(review, wrong_controls)
        review.model = model = model.sealed()
        for rule in RULES:
            rule(review)
        issues += review.issues
    if issues or model is None:
        raise ModelError(_in_order(issues, source.file))
    return model


def _in_order(issues: Iterable[Issue], first: str) -> list[Issue]:
    distinct = dict.fromkeys(issues)
    rank = {file: place for place, file in enumerate(dict.fromkeys([first, *(issue.file for issue in distinct)]))}
    return sorted(distinct, key=lambda issue: (rank[issue.file], issue.line, issue.column))


def _rename_sections(source: Source) -> list[Issue]:
    """Report misspelt sections, and correct their names, so that what they hold is found."""
    root, issues = source.root, []
    for key in [key for key in root.value if key not in KEYS]:
        other = messages.OTHER_KEYS.get(key.lower(), key)
        meant = other if other in KEYS else messages.nearest(key, KEYS)
        if any(other in keys for keys in OF_ANALYSES.values()):
            hint = "it is a key of analysis" if other == key else f"did you mean {other!r} in analysis?"
            issues.append(source.issue((key,), f"unknown key {key!r}", hint, key=True))
            del root.value[key]
        elif meant is not None and meant not in root.value:
            issues.append(source.issue((key,), f"unknown key {key!r}", f"did you mean {meant!r}?", key=True))
            root.value[meant] = root.value.pop(key)
    return issues


def _with_overrides(model: ModelFile, overrides: Mapping[str, str]) -> ModelFile:
    """The model with other values of parameters and constants, given as texts; raises UsageError."""
    known, wrong, found = (*model.parameters, *model.constants), [], {}
    if not overrides:
        return model
    for name, text in overrides.items():
        if name in known:
            try:
                found[name] = Number.read(resolve(text.strip()))
                continue
            except PydanticCustomError as error:
                hint = (error.context or {}).get("hint")
                sentence = f"value {text!r} of parameter {name!r}: {error.message()}"
        else:
            hint, sentence = messages.suggest(name, known), f"unknown parameter {name!r}"
        wrong.append(f"{sentence}; {hint}" if hint else sentence)
    if wrong:
        raise UsageError("; ".join(wrong))
    model = model.with_overrides(found)
    errors = ((name, model.expressions.errors.get(name)) for name in overrides)
    if wrong := [
        f"value {overrides[name]!r} of parameter {name!r}: {error.message}"
        for name, error in errors
        if error is not None and (not error.reported or "defined by itself" in error.message)
    ]:
        raise UsageError("; ".join(wrong))
    return model


# Validation: the valid part of a file's data, so that the rest can be reviewed in the same pass.

MOST = 10_000  # errors that are listed
LARGE = 100_000  # items of all sections: above that they are validated in pieces first, for each error takes a kilobyte
PIECE = 1_000  # items validated at once
ROUNDS = 8
Entry = Mapping[str, Any]  # of ``ValidationError.errors()``


def _validated(source: Source, issues: list[Issue]) -> tuple[ModelFile | None, Broken]:
    """The valid part of a file and places of the rest; adds ``issues``, raises ModelError if these are very many."""
    data: dict[str, Any] = source.root.data()
    classes: dict[int, Any] = {id(data): ModelFile}
    if sum(len(items) for items in data.values() if isinstance(items, dict)) > LARGE:
        _refuse_many(issues, classes, data, source)
    try:
        return ModelFile.model_validate(data, context=classes), set()
    except ValidationError as error:
        if error.error_count() <= MOST:
            issues += _issues_of(error.errors(include_url=False), classes, data, source)
            return _valid_part(data, error)
    _refuse_many(issues, classes, data, source)
    return None, set()


def _issues_of(entries: Sequence[Entry], classes: dict[int, Any], data: Any, source: Source) -> list[Issue]:
    """Issues of a validation error, but of keys that are cut off wrong expressions, or missing as misspelt."""
    pieces = messages.cut_off(entries, data)
    paths = [(entry, messages.path_of(entry["loc"])) for entry in entries]
    paths = [(entry, path) for entry, path in paths if entry["type"] != "extra_forbidden" or path not in pieces]
    meant: set[messages.Path] = set()
    for entry, path in paths:
        if entry["type"] == "extra_forbidden":
            *place, key = path
            known, given = messages.keys_of(classes, data, tuple(place))
            match = messages.nearest(str(key), [name for name in known if name not in given])
            meant |= {(*place, match)} if match is not None else set()
    causes = (entry for entry, path in paths if entry["type"] != "missing" or path not in meant)
    return [messages.issue_of(entry, classes, data, source) for entry in causes]


def _refuse_many(issues: list[Issue], classes: dict[int, Any], data: Any, source: Source) -> None:
    """Raise ModelError with the first errors of a large file, if there are any."""
    entries = list(islice(_errors(data, classes), MOST))
    if not entries:
        return
    found = _in_order([*issues, *_issues_of(entries, classes, data, source)], source.file)
    if len(entries) == MOST:
        found.append(Issue(source.file, 0, 0, "", f"only the first {MOST} errors are listed"))
    raise ModelError(found)


def _errors(data: dict[str, Any], classes: dict[int, Any]) -> Iterator[Entry]:
    """Errors of all sections, each validated as a file of its own, long ones in pieces."""
    for section, content in data.items():
        pieces = [content]
        if cut := isinstance(content, dict) and len(content) > PIECE:
            items = list(content.items())
            pieces = [dict(items[start : start + PIECE]) for start in range(0, len(items), PIECE)]
        for piece in pieces:
            try:
                ModelFile.model_validate({section: piece}, context=classes)
                continue
            except ValidationError as error:
                message = f"more than {MOST} of its entries are wrong"
                many: list[Any] = [{"type": "many", "loc": (section,), "msg": message}]
                entries = error.errors(include_url=False) if error.error_count() <= MOST else many
            for entry in entries:
                path = messages.path_of(entry["loc"])
                absent = entry["type"] == "missing" and len(path) == (2 if cut else 1)  # it may be in another piece
                if path[:1] == (section,) and not absent:
                    yield entry


def _valid_part(data: dict[str, Any], error: ValidationError) -> tuple[ModelFile | None, Broken]:
    """Return the model without invalid parts, if any, and items (section, name) that lost some; changes ``data``."""
    broken: Broken = set()
    for _ in range(ROUNDS):
        for entry in error.errors(include_url=False, include_context=False):
            path = messages.path_of(entry["loc"])
            broken.add(path[:2])
            inside = path[:-1] if entry["type"] == "missing" else path
            if inside:
                broken.add(inside[:2])  # a section that lacks a key goes as a whole
                _remove(data, inside)
        data["mbsim"] = 1
        try:
            return ModelFile.model_validate(data), broken
        except ValidationError as remaining:
            error = remaining
    return None, broken


def _remove(data: Any, path: messages.Path) -> None:
    """Take out what stands at a path; of a list the whole goes: the places of its other entries must not move."""
    owner: tuple[dict[str, Any], str] | None = None
    for key in path:
        if isinstance(key, int) or not isinstance(data, dict):
            break
        if key not in data:
            return  # an earlier error took it out
        owner, data = (data, key), data[key]
    if owner is not None:
        del owner[0][owner[1]]
