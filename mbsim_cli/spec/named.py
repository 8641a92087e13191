"""What a text of the model file is: the name of one thing in another, by the kind of thing, or anything else.

Fields are annotated with these types; ``base.references`` finds the names, ``rules.names`` looks them up.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field as Limits
from pydantic_core import core_schema


@dataclass(frozen=True)
class Names:
    """Annotation of a text: the kind of thing in the model that it names; empty where it names nothing there."""

    kind: str

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> core_schema.StringSchema:
        return core_schema.str_schema()


Text = Annotated[str, Names("")]  # free text, the name of something outside, or one that is given here
File = Annotated[str, Names("file")]
Body = Annotated[str, Names("body")]
Carrier = Annotated[str, Names("carrier")]  # a body, or all
Frame = Annotated[str, Names("frame")]  # a body, or a node of one that deforms, body.node
Point = Annotated[str, Names("point")]  # body.name
Vector = Annotated[str, Names("vector")]  # body.name
Points = Annotated[list[Point], Limits(min_length=2, max_length=2)]
Vectors = Annotated[list[Vector], Limits(min_length=2, max_length=2)]
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
