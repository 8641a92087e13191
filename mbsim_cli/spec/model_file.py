"""``ModelFile``: a whole model file, validated section by section."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag

from mbsim_cli.errors import Issue
from mbsim_cli.spec.analysis import Analysis
from mbsim_cli.spec.base import Spec, Vector, field
from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.checks import Check
from mbsim_cli.spec.constraints import Constraint
from mbsim_cli.spec.dh import Table
from mbsim_cli.spec.expressions import Expressions
from mbsim_cli.spec.forces import Force
from mbsim_cli.spec.inverse import InverseDynamics
from mbsim_cli.spec.joints import Joint
from mbsim_cli.spec.laws import Law
from mbsim_cli.spec.number import Number
from mbsim_cli.spec.objectives import Objective
from mbsim_cli.spec.parameters import ParameterOrValue
from mbsim_cli.spec.points import Point, VectorSpec
from mbsim_cli.spec.roads import Road
from mbsim_cli.spec.sensors import Sensor
from mbsim_cli.spec.source import Source


def _analysis_type(value: Any) -> str:
    # forward dynamics need not say so
    kind = value.get("type", "forward_dynamics") if isinstance(value, dict) else getattr(value, "type", None)
    return f"type={kind if isinstance(value, dict | Spec) else 'forward_dynamics'}"


AnyAnalysis = Annotated[
    Annotated[Analysis, Tag("type=forward_dynamics")] | Annotated[InverseDynamics, Tag("type=inverse_dynamics")],
    Discriminator(_analysis_type),
]


def _section(kind: Any, description: str, *examples: Any) -> Any:
    # a section without entries is null in YAML
    read_empty = BeforeValidator(lambda value: {} if value is None else value)
    return Annotated[
        dict[str, kind], read_empty, Field(default_factory=dict, description=description, examples=list(examples))
    ]


class ModelFile(Spec):
    """A multibody model with its parameters, objectives, analysis and reference values."""

    mbsim: Literal[1] = field("Version of the format.", 1)
    name: str = field("Name of the model.", "Five-bar linkage", default="")
    description: str | None = field("Free text for the reader.", "A planar mechanism.", default=None)
    include: list[str] = field("Files that this one is merged over, relative to it.", ["common.yaml"], default=[])
    gravity: Vector = field(
        "Acceleration of free fall, global axes [m/s^2].",
        [0, -9.81, 0],
        default=[0.0, 0.0, -9.81],
        validate_default=True,
    )
    constants: _section(Number, "Numbers and formulas by name.", {"g": 9.81, "half": "L/2"})
    parameters: _section(ParameterOrValue, "Design parameters by name.", {"L": {"value": "sqrt(2)", "unit": "m"}})
    points: _section(Point, "Points by name.", {"A": {"ground": [0, 0, 0], "A1": [0, 0, 0]}})
    vectors: _section(VectorSpec, "Vectors by name; all: in every body.", {"z": {"all": [0, 0, 1]}})
    bodies: _section(Body, "Bodies by name; ground exists.", {"A1": {"mass": 1, "inertia": {"zz": "1/6"}}})
    joints: _section(
        Joint, "Joints by name.", {"A": {"type": "revolute", "bodies": ["ground", "A1"], "point": "A", "axis": "z"}}
    )
    dh: _section(
        Table,
        "Denavit-Hartenberg tables by name.",
        {"arm": {"rows": {"q1": {"d": 0.4, "alpha": "-pi/2"}, "q2": {"a": "L_2"}}}},
    )
    constraints: _section(
        Constraint, "Constraints by name.", {"rod": {"type": "distance", "points": ["ground.B", "A1.P1"]}}
    )
    forces: _section(
        Force, "Forces by name.", {"s": {"type": "spring_damper", "points": ["ground.B", "A1.P1"], "stiffness": 100}}
    )
    roads: _section(
        Road, "Roads by name.", {"track": {"type": "step", "position": 5.5, "width": 0.02, "height": -0.01}}
    )
    laws: _section(Law, "Laws by name.", {"ramp": {"type": "polynomial", "coefficients": [0, 1]}})
    sensors: _section(Sensor, "Sensors by name.", {"r2": {"type": "position", "point": "bar12.P2"}})
    objectives: _section(Objective, "Objectives by name.", {"psi": {"integral": "dot(v2, v2)"}})
    analysis: AnyAnalysis = field("What is computed.", {"step": 1e-3, "duration": 5}, default_factory=Analysis)
    checks: _section(Check, "Reference values by name.", {"table 7": {"objective": "psi", "value": 0.727}})

    _source: Source = PrivateAttr()
    _overrides: dict[str, Number] = PrivateAttr(default_factory=dict)
    _made: set[tuple[str, str]] = PrivateAttr(default_factory=set)  # (section, name) of what tables stand for

    @property
    def source(self) -> Source:
        """Text and positions that the model was read from."""
        return self._source

    @cached_property
    def expressions(self) -> Expressions:
        """Constants and parameters, with overrides in place."""
        over = self._overrides
        parameters = {name: over.get(name, parameter.value) for name, parameter in self.parameters.items()}
        constants = {name: over.get(name, number) for name, number in self.constants.items()}
        return Expressions(parameters, constants)

    def width_of(self, sensor: str) -> int:
        """Components of what a sensor shows."""
        spec = self.sensors[sensor]
        if spec.type != "torques":
            return spec.width
        every = spec.coordinates == "all"
        return sum(len(joint.coordinates) for joint in self.joints.values()) if every else len(spec.coordinates)

    def issue(self, path: str, message: str, hint: str | None = None) -> Issue:
        """Return an issue at a path such as ``bodies.coupler.points.B2``, with its file, line and column."""
        return self._source.issue(path, message, hint)
