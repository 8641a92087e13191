"""Sections that hold items by name."""

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic import Field as pydantic_field

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.cables import Cable
from mbsim_cli.spec.constraints import Constraint
from mbsim_cli.spec.controls import Control
from mbsim_cli.spec.densities import Field
from mbsim_cli.spec.dh import Table
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.forces import Force
from mbsim_cli.spec.joints import Joint
from mbsim_cli.spec.laws import Law
from mbsim_cli.spec.objectives import Check, Objective
from mbsim_cli.spec.quantities import Material, ParameterOrValue, Point, VectorSpec
from mbsim_cli.spec.roads import Road
from mbsim_cli.spec.sensors import Sensor
from mbsim_cli.spec.states import Controller, State

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads


def _section(kind: Any, description: str, *examples: Any) -> Any:
    # a section without entries is null in YAML
    read_empty = BeforeValidator(lambda value: {} if value is None else value)
    return Annotated[
        dict[str, kind],
        read_empty,
        pydantic_field(default_factory=dict, description=description, examples=list(examples)),
    ]


class Sections(Spec):
    """Items of all kinds by name."""

    constants: _section(Number, "Numbers and formulas by name.", {"g": 9.81, "half": "L/2"})
    parameters: _section(ParameterOrValue, "Design parameters by name.", {"L": {"value": "sqrt(2)", "unit": "m"}})
    points: _section(Point, "Points by name.", {"A": {"ground": [0, 0, 0], "A1": [0, 0, 0]}})
    vectors: _section(VectorSpec, "Vectors by name; all: in every body.", {"z": {"all": [0, 0, 1]}})
    materials: _section(
        Material, "Materials by name.", {"steel": {"youngs_modulus": 2.1e11, "poisson_ratio": 0.3, "density": 7850}}
    )
    fields: _section(Field, "Fields of one number an element, by name.", {"rho": {"value": 0.5}})
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
    cables: _section(
        Cable,
        "Cables through points and over pulleys, by name.",
        {"rope": {"path": ["ground.A", "load.B"], "stiffness": 1e5, "length": 2}},
    )
    states: _section(State, "States of one's own by name.", {"x": {"initial": 0, "rate": "(u - x)/T"}})
    controllers: _section(
        Controller,
        "Controllers, motors and filters by name.",
        {"hip": {"type": "pid", "coordinate": "hip.angle", "target": 0.5, "kp": 80, "kd": 2}},
    )
    controls: _section(
        Control,
        "Functions of time that an optimisation finds, by name.",
        {"u": {"force": "push", "intervals": 40, "bounds": [-20, 20]}},
    )
    roads: _section(
        Road, "Roads by name.", {"track": {"type": "step", "position": 5.5, "width": 0.02, "height": -0.01}}
    )
    laws: _section(Law, "Laws by name.", {"ramp": {"type": "polynomial", "coefficients": [0, 1]}})
    sensors: _section(Sensor, "Sensors by name.", {"r2": {"type": "position", "point": "bar12.P2"}})
    objectives: _section(Objective, "Objectives by name.", {"psi": {"integral": "dot(v2, v2)"}})
    checks: _section(Check, "Reference values by name.", {"table 7": {"objective": "psi", "value": 0.727}})


SECTIONS = tuple(Sections.model_fields)
