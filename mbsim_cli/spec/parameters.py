"""Values of parameters: other values in a model, written back into its file, every number of a file as a parameter."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import yaml

from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.spec.analysis import Sensitivity
from mbsim_cli.spec.base import Spec, parts, with_entries
from mbsim_cli.spec.bodies import Parameter
from mbsim_cli.spec.expressions.number import Expression, Number, takes_lists
from mbsim_cli.spec.expressions.syntax import names as names_in
from mbsim_cli.spec.expressions.syntax import parse
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import suggest, unit_in
from mbsim_cli.spec.reading.nodes import Node, read_nodes
from mbsim_cli.spec.reading.source import join
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules import OF_ITS_USE, OF_NAMES, OF_NUMBERS, RULES

SECTIONS = (
    "gravity", "points", "vectors", "materials", "fields", "bodies", "joints", "dh", "constraints", "laws", "roads",
    "forces", "cables", "states", "controllers", "sensors", "objectives",
)  # fmt: skip
TOGETHER = ("rotation_matrix",)  # entries that make sense together only
SYMMETRIC = ("inertia", "stiffness_matrix", "damping_matrix")  # by rows: two entries are one number
_UNITS = {"points": "m", "vectors": "1"}  # of sections
Path = tuple[str | int, ...]


class Place(NamedTuple):
    """A number where it stands, within a section, mapping or list."""

    path: Path
    holder: Any
    number: Number
    unit: str
    is_component: bool  # of a vector


def with_every_number(model: ModelFile) -> ModelFile:
    """The model with a parameter for every number that the physics reads; symmetric entries share theirs."""
    parameters = model.parameters | {name: Parameter(value=number) for name, number in model.constants.items()}
    taken, names = {*parameters, *model.sensors, *model.objectives}, dict[Path, Number]()
    count = 0
    for place in places(model):
        opposite = (*place.path[:-2], *reversed(place.path[-2:]))  # of an entry of a matrix
        if opposite in names and place.path[-3] in SYMMETRIC:
            names[place.path] = names[opposite]
            continue
        while (name := f"number_{count}") in taken:
            count += 1
        count += 1
        parameters[name] = Parameter.model_construct(value=place.number, unit=place.unit)
        names[place.path] = Number(name)
        last = "xyz"[int(place.path[-1])] if place.is_component else place.path[-1]
        model.derived.paths[name] = join((*place.path[:-1], last))
        model.source.stands_at[("parameters", name)] = place.path
    sections = {section: with_entries(getattr(model, section), (section,), names) for section in SECTIONS}
    return model.having(parameters=parameters, constants={}, **sections)


def places(model: ModelFile) -> Iterator[Place]:
    """Numbers of the physics that the file states, but for those that are nothing but one name."""
    for section in SECTIONS:
        if section in model.model_fields_set:
            yield from _within(model, getattr(model, section), (section,), "m/s^2" if section == "gravity" else "")


def _within(holder: Any, value: Any, path: Path, unit: str, in_list: bool = False) -> Iterator[Place]:
    """Places of an entry; what the file leaves out has none."""
    if isinstance(value, Number):
        if value.plain_name is None and not (isinstance(value, Expression) and value.literal is None):
            yield Place(path, holder, value, unit, isinstance(holder, tuple) and len(holder) == 3 and not in_list)
    elif isinstance(value, Spec):
        lists = _lists_of(type(value))
        for name, known in type(value).model_fields.items():
            if name in value.model_fields_set and name not in TOGETHER:
                own = unit_in(known.description or "") or unit
                yield from _within(value, getattr(value, name), (*path, known.alias or name), own, name in lists)
    else:
        for key, entry in parts(value):
            yield from _within(value, entry, (*path, key), unit or _UNITS.get(str(path[0]), ""), in_list)


@cache
def _lists_of(kind: type[Spec]) -> frozenset[str]:
    """Keys that take lists which are no vectors, though they may have three entries."""
    known = kind.model_fields.items()
    return frozenset(name for name, entry in known if takes_lists(entry.annotation, entry.metadata))


Rule = Callable[[Review], None]


def with_values(model: ModelFile, values: Mapping[str, float | str]) -> ModelFile:
    """The same model where parameters have these values, or expressions, as after ``load`` with overrides.

    Where every number is a parameter, paths name them too. Constants are not moved: they may say how often something
    is repeated. Checks, studies and optimisations of the file are not checked again. Raises ModelError with all issues
    that the values cause, UsageError for names that are no parameters and numbers that are not finite.
    """
    by_path = {path: name for name, path in model.derived.paths.items()}
    named = {by_path.get(name, name): value for name, value in values.items()}
    moved = model.with_overrides({name: _number(model, name, value) for name, value in named.items()})
    # Rules that found nothing wrong find nothing again where the names that they read have the same values. Kept are
    # the model that was reviewed last, and the names by rule.
    before, read_before = model.derived.memo.get("reviewed", (None, {}))
    holding: frozenset[Rule] = frozenset()
    if before is not None and moved.has_sections_of(before):
        differing = moved.expressions.differing(before.expressions)
        holding = frozenset(rule for rule, names in read_before.items() if names.isdisjoint(differing))
    review, read = Review(moved, moved.source, set()), dict[Rule, set[str]]()
    for rule in RULES:
        if rule not in OF_NAMES | OF_ITS_USE | holding:
            review.read = read[rule] = set()
            rule(review)
    if review.issues:
        raise ModelError(review.issues)
    if not holding:
        names = {
            rule: frozenset(name for text in texts for name in names_in(parse(text)))
            for rule, texts in read.items()
            if rule not in OF_NUMBERS
        }
        model.derived.memo["reviewed"] = moved, names
    return moved


def with_adjoint_by(model: ModelFile, parameters: Sequence[str], fields: Sequence[str]) -> ModelFile:
    """The same model whose analysis takes gradients by these parameters and fields, by the adjoint."""
    sensitivity = Sensitivity(method="adjoint", parameters=tuple(parameters), fields=tuple(fields))
    return model.model_copy(update={"analysis": model.analysis.model_copy(update={"sensitivity": sensitivity})})


def _number(model: ModelFile, name: str, value: float | str) -> Number:
    if name in model.constants:
        raise UsageError(f"{name!r} is a constant, which has its value since the model was read; parameters can change")
    if name not in model.parameters:
        hint = suggest(name, model.parameters)
        raise UsageError(f"unknown parameter {name!r}" + (f"; {hint}" if hint else ""))
    if isinstance(value, str):
        return Number(value)
    number = float(value)
    if not abs(number) < float("inf"):
        raise UsageError(f"parameter {name!r} must be a finite number, not {number}")
    return Number(number)


def with_numbers(model_file: ModelFile, values: Mapping[str, float]) -> str:
    """The text of the model file where parameters and constants have these values, comments and layout kept.

    A parameter, constant or control that an included file defines is added to the file itself. Raises UsageError where
    a value cannot be written: it stands as an alias, or a repetition makes it.
    """
    source = model_file.source
    text = source.text
    root, _ = read_nodes(text.encode(), source.file)
    assert root is not None
    changes: list[tuple[int, int, int, int, str]] = []  # line, column of the start and of the end, new text
    added: dict[str, dict[str, str]] = {}  # texts of new entries by section
    values = dict(values)
    tree: Any = yaml.compose(text, Loader=yaml.SafeLoader) if model_file.controls else None
    for name, control in model_file.controls.items():
        keys = control.parameters(name)
        if not values.keys().isdisjoint(keys):
            scope = model_file.expressions.scope()
            found = str([float(values.pop(key, scope[key].real)) for key in keys])
            if (stated := _stated(tree, ("controls", name))) is not None:
                changes.append(_of_control(stated, text, name, found))
            else:
                added.setdefault("controls", {})[name] = f"{{initial: {found}}}"
    scalars = _scalars(text)
    for name, value in values.items():
        section = "parameters" if name in model_file.parameters else "constants"
        node = None  # the scalar that gives the value, in the file itself
        if section in root.value and isinstance(entries := root.value[section].value, dict):
            node = entries.get(name)
        if node is not None and isinstance(node.value, dict):
            node = node.value.get("value")
        if node is None and model_file.source.nearest((section, name)).instance:
            raise UsageError(f"the value of {name!r} cannot be saved: a repetition makes it")
        if node is None:
            number = repr(float(value))
            added.setdefault(section, {})[name] = f"{{value: {number}}}" if section == "parameters" else number
            continue
        place = (node.line - 1, node.column - 1)
        start = place if place in scalars else (place[0], place[1] - 1)  # nodes of quoted texts begin behind the quote
        end = scalars.get(start)
        if end is None or _count(root, node) > 1:
            raise UsageError(f"the value of {name!r} cannot be saved: it is an alias, or others are aliases of it")
        changes.append((*start, *end, repr(float(value))))
    for section, entries in added.items():
        changes.append(_insertion(root, section, entries, text))
    return _changed(text, changes)


def _stated(tree: Any, keys: Sequence[str]) -> Any:
    """The node at a path of a composed text, None where the text does not hold it."""
    for key in keys:
        pairs = tree.value if isinstance(tree, yaml.MappingNode) else ()
        tree = next((value for node, value in pairs if node.value == key), None)
    return tree


def _of_control(tree: Any, text: str, name: str, found: str) -> tuple[int, int, int, int, str]:
    """The change that makes ``found`` the initial values of a control; ``tree`` is its node."""
    if not isinstance(tree, yaml.MappingNode) or not tree.value:
        raise UsageError(f"the values of control {name!r} cannot be saved: its mapping is empty here")
    initial = next((value for node, value in tree.value if node.value == "initial"), None)
    if initial is None:
        first = tree.value[0][0].start_mark
        behind = ", " if tree.flow_style else "\n" + " " * first.column
        return first.line, first.column, first.line, first.column, f"initial: {found}{behind}"
    start, end = initial.start_mark, initial.end_mark
    old = text[start.index : end.index].rstrip()  # lists in lines of their own end where the next key begins
    rows = old.split("\n")
    last = start.line + len(rows) - 1
    return start.line, start.column, last, len(rows[-1]) + (start.column if len(rows) == 1 else 0), found


def _scalars(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Where scalars end, by where they begin: line and column, from 0."""
    events = yaml.parse(text, Loader=yaml.SafeLoader)  # whose marks count letters, with any characters before them
    return {
        (event.start_mark.line, event.start_mark.column): (event.end_mark.line, event.end_mark.column)
        for event in events
        if isinstance(event, yaml.ScalarEvent) and event.start_mark is not None and event.end_mark is not None
    }


def _count(node: Node, wanted: Node) -> int:
    """How many nodes stand where the wanted one does: aliases of it stand there, too."""
    found = int((node.line, node.column) == (wanted.line, wanted.column) and not isinstance(node.value, dict | list))
    return found + sum(_count(part, wanted) for part in node.below)


def _insertion(root: Node, section: str, entries: Mapping[str, str], text: str) -> tuple[int, int, int, int, str]:
    """New entries of a section (texts by name), at its beginning, or as a new section at the end of the text."""
    node = root.value.get(section)
    pairs = [f"{name}: {entry}" for name, entry in entries.items()]
    if node is None:
        lines = text.split("\n")
        place = len(lines) - 1, len(lines[-1])
        return *place, *place, "\n" * bool(lines[-1]) + f"{section}:\n" + "".join(f"  {pair}\n" for pair in pairs)
    if not node.value:
        raise UsageError(f"values of {', '.join(entries)} cannot be saved: the section {section} is empty here")
    line, column = node.line - 1, node.column - 1
    if text.split("\n")[line][column] == "{":
        return line, column + 1, line, column + 1, ", ".join(pairs) + ", "
    return line, column, line, column, "".join(f"{pair}\n{' ' * column}" for pair in pairs)


def _changed(text: str, changes: list[tuple[int, int, int, int, str]]) -> str:
    """The text with pieces replaced, the last first."""
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    for line, column, last, end, new in sorted(changes, reverse=True):
        text = text[: starts[line] + column] + new + text[starts[last] + end :]
    return text
