"""``ModelFile``: a whole model file, validated section by section; ``Sections`` hold items by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, get_origin

from pydantic import BeforeValidator, ConfigDict, PrivateAttr

from mbsim_cli.errors import Issue
from mbsim_cli.spec import families
from mbsim_cli.spec.analysis import Analysis, Equilibrium, FrequencyResponse, InverseDynamics, Kinematics, Modes
from mbsim_cli.spec.base import WHOLE, ByType, Spec, field, named, optional, parts, references, signed, walk
from mbsim_cli.spec.bodies import Body, ParameterOrValue, Point, VectorSpec
from mbsim_cli.spec.expressions.evaluate import width
from mbsim_cli.spec.expressions.named_numbers import Expressions, sort
from mbsim_cli.spec.expressions.number import Expression, Many, Number, Sign, Vector, is_moving, written_out
from mbsim_cli.spec.expressions.syntax import ExpressionError, comparisons_in, names, parse, unchained
from mbsim_cli.spec.forces import Force
from mbsim_cli.spec.joints import Joint
from mbsim_cli.spec.objectives import Check, Objective
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.sensors import Sensor
from mbsim_cli.system import cached_property

T = TypeVar("T")
# a section without entries is null in YAML
Section = Annotated[dict[named.Text, T], BeforeValidator(lambda value: {} if value is None else value)]


def _items(description: str, example: dict[str, Any]) -> Any:
    """Return the field of a section, which is empty where it is left out."""
    return field(description, example, default_factory=dict)


class Sections(Spec):
    """Items of all kinds by name."""

    constants: Section[Number] = _items("Numbers and formulas by name.", {"g": 9.81, "half": "L/2"})
    parameters: Section[ParameterOrValue] = _items(
        "Design parameters by name.", {"L": {"value": "sqrt(2)", "unit": "m"}}
    )
    points: Section[Point] = _items("Points by name.", {"A": {"ground": [0, 0, 0], "A1": [0, 0, 0]}})
    vectors: Section[VectorSpec] = _items("Vectors by name; all: in every body.", {"z": {"all": [0, 0, 1]}})
    materials: Section[families.Material] = _items(
        "Materials by name.", {"steel": {"youngs_modulus": 210000000000.0, "poisson_ratio": 0.3, "density": 7850}}
    )
    fields: Section[families.Field] = _items("Fields of one number an element, by name.", {"rho": {"value": 0.5}})
    bodies: Section[Body] = _items("Bodies by name; ground exists.", {"A1": {"mass": 1, "inertia": {"zz": "1/6"}}})
    joints: Section[Joint] = _items(
        "Joints by name.", {"A": {"type": "revolute", "bodies": ["ground", "A1"], "point": "A", "axis": "z"}}
    )
    dh: Section[families.JointTable] = _items(
        "Denavit-Hartenberg tables by name.",
        {"arm": {"rows": {"q1": {"d": 0.4, "alpha": "-pi/2"}, "q2": {"a": "L_2"}}}},
    )
    constraints: Section[families.Constraint] = _items(
        "Constraints by name.", {"rod": {"type": "distance", "points": ["ground.B", "A1.P1"]}}
    )
    forces: Section[Force] = _items(
        "Forces by name.", {"s": {"type": "spring_damper", "points": ["ground.B", "A1.P1"], "stiffness": 100}}
    )
    cables: Section[families.Cable] = _items(
        "Cables through points and over pulleys, by name.",
        {"rope": {"path": ["ground.A", "load.B"], "stiffness": 100000.0, "length": 2}},
    )
    states: Section[families.State] = _items("States of one's own by name.", {"x": {"initial": 0, "rate": "(u - x)/T"}})
    controllers: Section[families.Controller] = _items(
        "Controllers, motors and filters by name.",
        {"hip": {"type": "pid", "coordinate": "hip.angle", "target": 0.5, "kp": 80, "kd": 2}},
    )
    controls: Section[families.Control] = _items(
        "Functions of time that an optimisation finds, by name.",
        {"u": {"force": "push", "intervals": 40, "bounds": [-20, 20]}},
    )
    roads: Section[families.Road] = _items(
        "Roads by name.", {"track": {"type": "step", "position": 5.5, "width": 0.02, "height": -0.01}}
    )
    laws: Section[families.Law] = _items("Laws by name.", {"ramp": {"type": "polynomial", "coefficients": [0, 1]}})
    sensors: Section[Sensor] = _items("Sensors by name.", {"r2": {"type": "position", "point": "bar12.P2"}})
    objectives: Section[Objective] = _items("Objectives by name.", {"psi": {"integral": "dot(v2, v2)"}})
    checks: Section[Check] = _items("Reference values by name.", {"table 7": {"objective": "psi", "value": 0.727}})


SECTIONS = tuple(Sections.model_fields)


AnyAnalysis = Annotated[
    Analysis | InverseDynamics | Equilibrium | Modes | FrequencyResponse | Kinematics, ByType("forward_dynamics")
]


@dataclass(frozen=True)
class Derived:
    """What follows from a file beside its sections; copies of a model with other values share it."""

    made: set[tuple[str, str]] = dataclass_field(default_factory=set)  # (section, name) that short forms stand for
    hidden: set[str] = dataclass_field(default_factory=set)  # sensors that forces read, and no result shows
    # parts of expressions of the motion by name, each made of sensors and of parts before it
    parts: dict[str, str] = dataclass_field(default_factory=dict)
    calls: dict[str, str] = dataclass_field(default_factory=dict)  # of laws: see ``ModelFile.calls``
    comparisons: dict[str, str] = dataclass_field(default_factory=dict)  # of t: see ``ModelFile.calls``
    paths: dict[str, str] = dataclass_field(default_factory=dict)  # of the numbers that parameters stand for
    memo: dict[str, Any] = dataclass_field(default_factory=dict)  # what is computed once: see ``with_values``

    def sealed(self) -> "Derived":
        """The same, to which nothing can be added but to the memo."""
        given = map(MappingProxyType, (self.parts, self.calls, self.comparisons, self.paths))
        return Derived(frozenset(self.made), frozenset(self.hidden), *given)  # type: ignore[arg-type]


class ModelFile(Sections):
    """A multibody model with its parameters, objectives, analysis and reference values."""

    model_config = ConfigDict(
        json_schema_extra={"patternProperties": {"^x-": {}}},  # the user's own: see ``loader.OWN``
        ignored_types=(cached_property,),
    )

    mbsim: Annotated[Literal[1], WHOLE] = field("Version of the format.", 1)
    name: named.Text = field("Name of the model.", "Five-bar linkage", default="")
    description: named.Text | None = optional("Free text for the reader.", "A planar mechanism.")
    include: Many[named.Text] = field(
        "Files that this one is merged over, relative to it.", ["common.yaml"], default=()
    )
    gravity: Vector = field("Acceleration of free fall, global axes [m/s^2].", [0, -9.81, 0], default=[0.0, 0.0, -9.81])
    repeat: dict[named.Text, Any] = field(  # written out before validation; editors see ``schema.Repetition``
        "Blocks that stand for many items.",
        {"row": {"for": {"i": [1, "n"]}, "bodies": {"ball_{i}": {"mass": 1}}}},
        default={},
    )
    analysis: AnyAnalysis = field("The analysis to run.", {"step": 1e-3, "duration": 5}, default_factory=Analysis)
    study: Section[families.Study] = field(
        "Parameter studies by name, for mbsim sweep.", {"corners": {"grid": {"k_f": [2e4, 3e4]}}}, default={}
    )
    optimization: Section[families.Optimization] = field(
        "Optimisations by name, for mbsim optimize.", {"calm": {"minimize": "psi1", "variables": ["L_s1"]}}, default={}
    )
    measurements: Section[families.Measurement] = field(
        "Measured runs by name, for mbsim fit.",
        {"lab": {"file": "run1.csv", "time": "t", "columns": {"x2": {"sensor": "r2.x", "sigma": 1e-3}}}},
        default={},
    )
    fit: Section[families.Fit] = field(
        "Fits of parameters to measurements by name, for mbsim fit.",
        {"all": {"measurements": ["lab"], "parameters": ["k", "c"]}},
        default={},
    )

    _source: Source = PrivateAttr()
    _derived: Derived = PrivateAttr(default_factory=Derived)
    _overrides: dict[str, Number] = PrivateAttr(default_factory=dict)
    _field_values: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def source(self) -> Source:
        """Text and positions that the model was read from."""
        return self._source

    @property
    def derived(self) -> Derived:
        """What follows from the file beside its sections."""
        return self._derived

    @property
    def overrides(self) -> dict[str, Number]:
        """Values of parameters and constants in place of those that the file gives."""
        return self._overrides

    @property
    def field_values(self) -> dict[str, Any]:
        """Numbers (ne) of fields in place of what the file says."""
        return self._field_values

    def read_from(self, source: Source) -> "ModelFile":
        """This model, which was read from a source."""
        self._source = source
        return self

    def sealed(self) -> "ModelFile":
        """This model with all that its short forms stand for; nothing changes it any more."""
        found = self.model_copy()
        found.__dict__.update({name: MappingProxyType(self.__dict__[name]) for name in MAPPINGS})
        found._derived = self._derived.sealed()
        self._source.stands_at = MappingProxyType(self._source.stands_at)  # type: ignore[assignment,arg-type]
        return found

    def having(self, **parts: Any) -> "ModelFile":
        """The same model with other sections."""
        found = self.model_copy()
        found.__dict__.update(parts)
        found.__dict__.pop("expressions", None)  # cached for the parameters before
        return found

    def with_overrides(self, overrides: Mapping[str, Number]) -> "ModelFile":
        """The same model where parameters and constants have these values too."""
        moved = self.having()
        moved._overrides = {**self._overrides, **overrides}
        return moved

    def with_fields(self, values: Mapping[str, Any]) -> "ModelFile":
        """The same model where fields have these numbers (ne) too."""
        moved = self.model_copy()
        moved._field_values = {**self._field_values, **values}
        return moved

    def note_made(self, section: str, name: str, path: Path) -> None:
        """Note that an item stands for something at a path of the file, where messages about it point."""
        self.derived.made.add((section, name))
        self.source.stands_at[section, name] = path

    @cached_property
    def expressions(self) -> Expressions:
        """Constants and parameters, with overrides in place."""
        constants = {name: self._overrides.get(name, number) for name, number in self.constants.items()}
        return Expressions(self.definitions, constants)

    @cached_property
    def computed(self) -> tuple[tuple[Path, Number], ...]:
        """Numbers that are expressions, with their paths; without what tables stand for, which is not written."""
        found: list[tuple[Path, Number]] = []
        for section in ModelFile.model_fields:
            entries = getattr(self, section)
            if section in MAPPINGS:
                entries = {name: entry for name, entry in entries.items() if (section, name) not in self.derived.made}
            found += (entry for entry in walk(entries, (section,), Number) if entry[1].literal is None)
        return tuple(entry for entry in found if not is_moving(entry[1], self.expressions))

    @cached_property
    def moving(self) -> tuple[tuple[Path, Expression], ...]:
        """Expressions of the motion, with their paths."""
        found = walk(self.forces, ("forces",), Expression)
        return tuple((path, number) for path, number in found if is_moving(number, self.expressions))

    @cached_property
    def signed(self) -> tuple[tuple[Path, Number, Sign], ...]:
        """Numbers whose fields ask for a sign, with their paths; those of DH tables are in the joints made of these."""
        sections = (name for name in ModelFile.model_fields if name != "dh")
        return tuple(each for name in sections for each in signed(getattr(self, name), (name,)))

    @property
    def tables(self) -> list[FilePath]:
        """Files of numbers that laws, roads, motions, fields and bodies that deform name, those that exist."""
        names = ("laws", "roads", "forces", "constraints", "fields", "analysis")
        bodies = {name: {"flexible": body.flexible} for name, body in self.bodies.items()}
        return self._files_in({name: getattr(self, name) for name in names} | {"bodies": bodies})

    @property
    def files(self) -> list[FilePath]:
        """All files that the model names and that exist: tables, measurements, cases of studies, meshes to draw."""
        names = ("measurements", "study", "bodies")
        return [*self.tables, *self._files_in({name: getattr(self, name) for name in names})]

    def _files_in(self, sections: Mapping[str, Any]) -> list[FilePath]:
        named = (found for found in references(sections) if found.kind == "file")
        files = dict.fromkeys(self.source.file_at(found.path, found.name) for found in named)
        return [file for file in files if file.is_file()]

    @property
    def calls(self) -> dict[str, str]:
        """Names that objectives and sensors read in the place of calls of laws: values of forces on the ground.

        Sums over time also read such values for comparisons of t with formulas of parameters, in brackets here.
        """
        return {**self.derived.calls, **{f"({text})": name for text, name in self.derived.comparisons.items()}}

    def written_out(self, text: str) -> str:
        """An expression with those of sensors in the place of their names, and without chains of comparisons."""
        return unchained(written_out(text, self.formulas))

    def integrand(self, text: str, *, summed: bool = False) -> str:
        """An expression made of sensors, t and parameters alone; if ``summed``, switches stand for comparisons of t."""
        found = written_out(self.written_out(text), self.derived.calls)
        for first, end in sorted(comparisons_in(found), reverse=True) if summed and self.derived.comparisons else ():
            found = found[:first] + self.derived.comparisons.get(found[first:end], found[first:end]) + found[end:]
        return found

    @property
    def definitions(self) -> dict[str, Number]:
        """What defines each parameter, overrides in place."""
        return {name: self._overrides.get(name, parameter.value) for name, parameter in self.parameters.items()}

    def has_sections_of(self, other: "ModelFile") -> bool:
        """Whether nothing but values of parameters can be different: both come from one reading of a file."""
        sections = all(getattr(self, name) is getattr(other, name) for name in ModelFile.model_fields)
        return sections and self._field_values is other._field_values

    def parameter_label(self, name: str) -> str:
        """How results name a parameter: by its name, or by the path of the number that it stands for."""
        return self.derived.paths.get(name, name)

    @cached_property
    def formulas(self) -> dict[str, str]:
        """Values of sensors of type expression by name, written out: no other such sensor is named in them."""
        given = {name: spec.value for name, spec in self.sensors.items() if spec.type == "expression"}
        found: dict[str, str] = {}
        for name in sort({name: list(names(parse(text, vectors=True))) for name, text in given.items()})[0]:
            found[name] = written_out(given[name], found)
        return found

    @property
    def shown(self) -> dict[str, int]:
        """What sensors show, by the names that expressions and results use, with the number of components."""
        return {shown: self._width(name, spec) for name, spec in self.sensors.items() for shown in spec.shows(name)}

    def width_of(self, shown: str) -> int:
        """Components of what a sensor shows."""
        name = shown.partition(".")[0]
        return self._width(name, self.sensors[name])

    def _width(self, name: str, spec: Sensor) -> int:
        if spec.type == "expression":  # 1 or 3; 1 where the expression is wrong
            others = {other: given for other, given in self.sensors.items() if given.type != "expression"}
            widths = {part: self._width(other, given) for other, given in others.items() for part in given.shows(other)}
            try:
                return width(parse(self.formulas[name], vectors=True), widths)
            except ExpressionError:
                return 1
        if spec.type == "force":
            force = self.forces.get(spec.force)
            return 3 if force is not None and force.is_vector else 1
        if spec.type != "torques":
            return spec.width
        every = spec.coordinates == "all"
        return sum(len(joint.coordinates) for joint in self.joints.values()) if every else len(spec.coordinates)

    def issue(self, path: str, message: str, hint: str | None = None) -> Issue:
        """Return an issue at a path such as ``bodies.coupler.points.B2``, with its file, line and column."""
        return self._source.issue(path, message, hint)


# sections of items whose names users choose
MAPPINGS = frozenset(name for name, entry in ModelFile.model_fields.items() if get_origin(entry.annotation) is dict)


def descriptions_of(part: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every description in a part of a model, with the path of what it describes; that of the model is ()."""
    if isinstance(part, Spec) and (text := getattr(part, "description", None)):
        yield path, text
    for key, entry in parts(part):
        yield from descriptions_of(entry, (*path, key))
