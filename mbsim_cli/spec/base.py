"""Base class and field types of all sections of a model file, and ``walk``, which iterates over their parts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationInfo, model_validator
from pydantic.annotated_handlers import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from mbsim_cli.spec.expressions.number import Number, Pair, Sign
from mbsim_cli.spec.reading.messages import Path, marks_of
from mbsim_cli.system import cached_property

# What all sections share: the strict base class, common field types, unions told apart by kind or ``type``.


def _with_example(schema: dict[str, Any], of: type["Spec"]) -> None:
    """Add an example of a type: its required keys and those of ``in_example``, with the values of their examples."""
    fields = of.model_fields
    if "type" not in fields:
        return
    example = {"type": get_args(fields["type"].annotation)[0]}
    for name, each in fields.items():
        if name != "type" and (each.is_required() or name in of.in_example):
            example[each.alias or name] = (each.examples or [None])[0]
    schema["examples"] = [example]


class Spec(BaseModel):
    """Base of everything that stands in a model file: unknown keys and wrong types are errors."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        defer_build=True,
        json_schema_extra=_with_example,
    )

    in_example: ClassVar[tuple[str, ...]] = ()  # optional keys in the example of a type, beside the required ones

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """In a field of another class, its validator is built when a model first has one: a model uses few of them."""
        if handler.field_name is None:
            return handler(source)
        ref = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"  # pydantic's own, by which JSON Schema names it
        return core_schema.with_info_plain_validator_function(cls.read, ref=ref)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        if schema["type"] != "function-plain":
            return handler(schema)
        cls.model_rebuild()
        return handler(cls.__pydantic_core_schema__)

    @classmethod
    def read(cls, value: Any, info: ValidationInfo) -> "Spec":
        """Validate a part of a file."""
        # the second, reporting pass asks which class read a mapping, to suggest its keys
        if info.context is not None and isinstance(value, dict):
            info.context[id(value)] = cls
        return cls.__pydantic_validator__.validate_python(value, context=info.context)


def _kind(value: object) -> str:
    for kind, tag in ((bool, "<true or false>"), (str, "<text>"), (list | tuple, "<list>"), (dict, "<mapping>")):
        if isinstance(value, kind):
            return tag
    return "<number>" if isinstance(value, int | float) else f"<{type(value).__name__}>"


class Names(NamedTuple):
    """Annotation of a text: the kind of thing in the model that it names; empty where it names nothing there."""

    kind: str

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> core_schema.StringSchema:
        return core_schema.str_schema()


class named:
    """What a text of the model file is: the name of one thing in another, by the kind of thing, or anything else.

    Fields are annotated with these types; ``references`` finds the names, ``rules.names`` looks them up.
    """

    Text = Annotated[str, Names("")]  # free text, the name of something outside, or one that is given here
    File = Annotated[str, Names("file")]
    Body = Annotated[str, Names("body")]
    Carrier = Annotated[str, Names("carrier")]  # a body, or all
    Frame = Annotated[str, Names("frame")]  # a body, or a node of one that deforms, body.node
    Point = Annotated[str, Names("point")]  # body.name
    Vector = Annotated[str, Names("vector")]  # body.name
    Points = Pair[Point]
    Vectors = Pair[Vector]
    OwnPoint = Annotated[str, Names("own point")]  # of the body, or of a body of the joint
    OwnVector = Annotated[str, Names("own vector")]
    Set = Annotated[str, Names("set")]  # of nodes of the mesh of one body
    Node = Annotated[str, Names("node")]  # of one body that deforms
    Load = Annotated[str, Names("load")]  # a node, rotation or acceleration
    Coordinate = Annotated[str, Names("coordinate")]  # JOINT.coordinate
    OwnCoordinate = Annotated[str, Names("own coordinate")]  # of the joint
    RubbingCoordinate = Annotated[str, Names("rubbing coordinate")]  # of the joint
    MovedCoordinate = Annotated[str, Names("moved coordinate")]  # JOINT.coordinate, or BODY.q1 of one that deforms
    SweptCoordinate = Annotated[str, Names("swept coordinate")]  # JOINT.coordinate
    Drive = Annotated[str, Names("drive")]  # JOINT.coordinate
    Row = Annotated[str, Names("row")]  # of a table, or a body
    Constraint = Annotated[str, Names("constraint")]  # or a joint, with the equation where it has several
    ConstraintThatMoves = Annotated[str, Names("constraint that moves")]
    ReactingJoint = Annotated[str, Names("reacting joint")]
    ReactingConstraint = Annotated[str, Names("reacting constraint")]
    ReactingBody = Annotated[str, Names("reacting body")]
    Force = Annotated[str, Names("force")]
    Tyre = Annotated[str, Names("tyre")]
    Contact = Annotated[str, Names("contact")]
    Bushing = Annotated[str, Names("bushing")]
    Law = Annotated[str, Names("law")]
    LawOrFormula = Annotated[str, Names("law or formula")]
    Road = Annotated[str, Names("road")]
    Material = Annotated[str, Names("material")]
    Field = Annotated[str, Names("field")]
    FieldOfGradients = Annotated[str, Names("field of gradients")]
    VariedField = Annotated[str, Names("varied field")]
    Quantity = Annotated[str, Names("quantity")]  # of a table, which may be a coordinate or a parameter
    Shown = Annotated[str, Names("shown")]  # a sensor or a part of one
    Kept = Annotated[str, Names("kept")]  # an objective or a sensor
    History = Annotated[str, Names("history")]  # a sensor, a coordinate, or a component of one
    Input = Annotated[str, Names("input")]  # a force or law, or a component of a force
    Output = Annotated[str, Names("output")]  # SENSOR or SENSOR.component
    Objective = Annotated[str, Names("objective")]
    Parameter = Annotated[str, Names("parameter")]
    Varied = Annotated[str, Names("varied")]  # a parameter of a study, a search or a measurement
    Measurement = Annotated[str, Names("measurement")]


class ByKind:
    """Annotation of a union told apart by the YAML kind; a number takes texts, too, where no other member does."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = {_tag_of(member): handler.generate_schema(member) for member in get_args(source)}
        if Number in get_args(source):
            members.setdefault("<text>", members["<number>"])
        return core_schema.tagged_union_schema(members, _kind)


def _tag_of(member: Any) -> str:
    while get_origin(member) is Annotated:
        member = get_args(member)[0]
    if get_origin(member) is Literal:
        return "<text>"
    if get_origin(member) in (tuple, dict):
        return "<list>" if get_origin(member) is tuple else "<mapping>"
    tags = {str: "<text>", bool: "<true or false>", int: "<number>", Number: "<number>"}
    return tags.get(member, "<mapping>")


class ByType:
    """Annotation of a union of classes told apart by ``type``; a member imported ``later`` may be a union."""

    def __init__(self, default: str | None = None):
        self._default = default  # where ``type`` is left out
        self._members: tuple[Any, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        self._members = get_args(source) or (source,)
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _schema_of_any(self._all, handler)

    @cached_property
    def _common(self) -> dict[str, type[Spec]]:
        """Classes by type, without those that are imported later."""
        return by_type(each for each in self._members if isinstance(each, type))

    @cached_property
    def _all(self) -> dict[str, type[Spec]]:
        """Classes by type, in the order of the union."""
        parts = ([each] if isinstance(each, type) else get_args(each.__metadata__[0].kind) for each in self._members)
        return by_type(each for part in parts for each in part)

    def _read(self, value: Any, info: ValidationInfo) -> Any:
        stated = value.get("type", self._default) if isinstance(value, dict) else getattr(value, "type", self._default)
        kind = str(stated)
        found = self._common.get(kind) or self._all.get(kind)
        if found is None:
            expected = ", ".join(f"'type={each}'" for each in self._all)
            given = {"discriminator": "type", "tag": kind, "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", given)
        return found.read(value, info)


def by_type(classes: Iterable[type[Spec]]) -> dict[str, type[Spec]]:
    """Classes by the words for them."""
    return {get_args(each.model_fields["type"].annotation)[0]: each for each in classes}


class ByKey:
    """Annotation of a union of classes: validates a mapping by the one whose first key it has, else by the last."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        self._classes = {next(iter(each.__annotations__)): each for each in get_args(source)}
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _schema_of_any(self._classes, handler)

    def _read(self, value: Any, info: ValidationInfo) -> Any:
        given = value if isinstance(value, dict) else value.__dict__ if isinstance(value, Spec) else ()
        *first, last = self._classes.items()
        return next((kind for key, kind in first if key in given), last[1]).read(value, info)


def _schema_of_any(classes: Mapping[str, type[Spec]], handler: GetJsonSchemaHandler) -> dict[str, Any]:
    for each in classes.values():
        each.model_rebuild()
    members = {name: each.__pydantic_core_schema__ for name, each in classes.items()}
    return handler(core_schema.tagged_union_schema(members, _kind))


class Later:
    """Annotation of a part that few files have: its type is imported when a file first has one."""

    def __init__(self, name: str):
        self._module, _, self._name = name.partition(".")

    @cached_property
    def kind(self) -> Any:
        """The type: a class, an annotated union, or a union that is a member of another one."""
        return getattr(import_module(f"mbsim_cli.spec.{self._module}"), self._name)

    @cached_property
    def _read(self) -> Callable[[Any, ValidationInfo], Any]:
        if isinstance(self.kind, type):
            return self.kind.read  # type: ignore[attr-defined]
        of_union = TypeAdapter(self.kind).validator
        return lambda value, info: of_union.validate_python(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(lambda value, info: self._read(value, info))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        # in a chain: pydantic asks the type of a step for its JSON schema, and not that of a schema given to a handler
        return handler(core_schema.chain_schema([TypeAdapter(self.kind).core_schema]))


def later(name: str) -> Any:
    """Return the type with a name in ``spec``, such as ``laws.Law``, as one that is imported later."""
    return Annotated[Any, Later(name)]


def field(description: str, *examples: Any, **options: Any) -> Any:
    """Return a field, which is required without a default; a float is that of a number, a list that of a vector."""
    default = options.get("default")
    if isinstance(default, float):
        options["default"] = Number(default)
    elif isinstance(default, list):
        options["validate_default"] = True
    return Field(description=description, examples=list(examples), **options)


def optional(description: str, *examples: Any, **options: Any) -> Any:
    """Return a field that is None where it is left out."""
    return field(description, *examples, default=None, **options)


# of a choice of whole numbers, that true and false are not, which Python counts among them
WHOLE = BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool) else value)


class Described(Spec):
    """A part of the file that stands for a thing of the model."""

    description: named.Text | None = optional("Free text for the reader.", "bar between the points A and P1")


def require_one(what: str, wrong: bool) -> None:
    """Raise "give ..." when a combination of keys makes no sense."""
    if wrong:
        raise PydanticCustomError("combination", "{text}", {"text": f"give {what}"})


def needs(what: str, wrong: Callable[[Any], bool]) -> Any:
    """Return a validator of a class that raises "give ..." for an item whose keys are wrong."""
    return complete(lambda item: require_one(what, wrong(item)))


def complete(check: Callable[[Any], None]) -> Any:
    """Make a validator of a class of a function that raises for an item whose keys do not fit each other."""

    def checked(item: Any) -> Any:
        check(item)
        return item

    return model_validator(mode="after")(checked)


def one_of(what: str, *names: str) -> Any:
    """Return a validator of a class that asks for exactly one of some fields."""
    return needs(what, lambda item: sum(getattr(item, name) is not None for name in names) != 1)


def walk(value: Any, path: Path, kind: type) -> Iterator[tuple[Path, Any]]:
    """Yield what is of a kind in a part of the file, with its path; nothing is looked for inside of it."""
    if isinstance(value, kind):
        yield path, value
        return
    for key, entry in parts(value):
        if entry is not None and (type(entry) is not str or kind is str):
            yield from walk(entry, (*path, key), kind)


def parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    """What a section, a mapping or a list is made of, with its keys in the file; nothing of anything else."""
    if isinstance(value, Spec):
        fields = type(value).model_fields
        return [(fields[name].alias or name, entry) for name, entry in value.__dict__.items() if name in fields]
    if type(value) in (dict, MappingProxyType):
        return value.items()
    return enumerate(value) if type(value) is tuple else ()


def signed(part: Any, path: Path, sign: Sign | None = None) -> Iterator[tuple[Path, Number, Sign]]:
    """Yield the numbers of a part of the file whose fields, or the ``sign`` of its own one, ask for a sign."""
    if isinstance(part, Number):
        if sign is not None:
            yield path, part, sign
        return
    own = _signs(type(part)) if isinstance(part, Spec) else None
    for key, entry in parts(part):
        yield from signed(entry, (*path, key), sign if own is None else own.get(key))


@cache
def _signs(kind: type[Spec]) -> dict[str | int, Sign]:
    """Signs that fields of a class ask for, by their keys."""
    marks = ((entry.alias or name, marks_of(entry)) for name, entry in kind.model_fields.items())
    return {key: sign for key, found in marks for sign in found if isinstance(sign, Sign)}


def with_entries(part: Any, path: Path, entries: Mapping[Path, Any]) -> Any:
    """A part of the file, which stands at a path, with other entries at some paths."""
    if path in entries:
        return entries[path]
    made = {key: with_entries(entry, (*path, key), entries) for key, entry in parts(part)}
    changed = {key: made[key] for key, entry in parts(part) if made[key] is not entry}
    if not changed:
        return part
    if isinstance(part, Spec):
        names = {entry.alias or name: name for name, entry in type(part).model_fields.items()}
        return part.model_copy(update={names[str(key)]: entry for key, entry in changed.items()})
    return tuple(made.values()) if isinstance(part, tuple) else made


class Reference(NamedTuple):
    """A name that stands at a path, or is its last key, in what it belongs to; ``kind`` as of ``Names``."""

    path: Path
    kind: str
    name: str
    is_key: bool
    holder: Spec


class _Named(NamedTuple):
    """A field that may hold references: the kind of its texts, and of keys of mappings from the outermost on."""

    field: str
    key: str
    texts: list[str]
    keys: list[str]
    words: set[Any]  # texts that stand for themselves in place of a list or mapping


def references(part: Any, path: Path = ()) -> list[Reference]:
    """Return every name of something else in a part of a model."""
    found: list[Reference] = []
    _add_references(part, path, None, None, 0, found)
    return found


def _add_references(
    value: Any, path: Path, named: _Named | None, holder: Spec | None, depth: int, found: list[Reference]
) -> None:
    """Add those of a part, which ``named`` describes where it stands in a field of a holder."""
    if isinstance(value, Spec):
        for field in _named_in(type(value)):
            entry = value.__dict__[field.field]
            if entry is not None:
                _add_references(entry, (*path, field.key), field, value, 0, found)
    elif isinstance(value, str):
        is_word = named is not None and value in named.words and path[-1] == named.key
        if named is not None and holder is not None and any(named.texts) and not is_word:
            found.append(Reference(path, named.texts[0], value, False, holder))
    elif not isinstance(value, Number):
        kind = named.keys[depth] if named is not None and depth < len(named.keys) else ""
        is_mapping = not isinstance(value, tuple)
        for key, entry in parts(value):
            if kind and is_mapping and holder is not None:
                found.append(Reference((*path, key), kind, str(key), True, holder))
            if not isinstance(entry, Number):
                _add_references(entry, (*path, key), named, holder, depth + is_mapping, found)


@cache
def _named_in(kind: type[Spec]) -> list[_Named]:
    """Fields of a class that may hold references."""
    found = []
    for name, entry in kind.model_fields.items():
        texts = [each.kind for each in entry.metadata if isinstance(each, Names)]
        named = _Named(name, entry.alias or name, texts, [], set())
        if _gather(entry.annotation, named, texts) or any(texts) or any(named.keys):
            found.append(named)
    return found


def _gather(annotation: Any, named: _Named, kinds: list[str]) -> bool:
    """Add the kinds of names in the type of a field; whether it may hold sections, which have some of their own."""
    of, inner = get_origin(annotation), get_args(annotation)
    if of is Annotated:
        kinds += [each.kind for each in inner[1:] if type(each) is Names and each.kind not in kinds[:1]]
        return isinstance(inner[-1], ByType | ByKey | Later) or _gather(inner[0], named, kinds)
    if of is Literal:
        named.words.update(inner)
    elif of is dict:
        return _gather(inner[0], named, named.keys) | _gather(inner[1], named, kinds)
    elif isinstance(annotation, type) and issubclass(annotation, Spec):
        return True
    return any([_gather(each, named, kinds) for each in inner])
