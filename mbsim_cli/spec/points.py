"""Points and vectors: what bodies carry, in their own axes or in the design position."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from mbsim_cli.spec.base import Spec, Vector, field


class DesignPoint(Spec):
    """A hardpoint: one global position in the design position, shared by several bodies."""

    design: Vector = field("Global position with all bodies in their design pose [m].", [0.88, 0.56, 0.36])
    bodies: list[str] = field("Bodies that carry the point.", ["knuckle", "upper_arm"], min_length=1)


class DesignVector(Spec):
    """A direction given once in global axes in the design position."""

    design: Vector = field("Global components with all bodies in their design pose.", [0, 0, 1])
    bodies: list[str] = field("Bodies that carry the vector.", ["knuckle", "upper_arm"], min_length=1)


def _way(value: Any) -> str:
    given = (isinstance(value, dict) and "design" in value) or isinstance(value, DesignPoint | DesignVector)
    return "<design>" if given else "<local>"


_Local = Annotated[
    dict[str, Vector],
    Field(min_length=1, description="Local coordinates in each body.", examples=[{"bar": [0.5, 0, 0]}]),
]
Point = Annotated[Annotated[DesignPoint, Tag("<design>")] | Annotated[_Local, Tag("<local>")], Discriminator(_way)]
VectorSpec = Annotated[
    Annotated[DesignVector, Tag("<design>")] | Annotated[_Local, Tag("<local>")], Discriminator(_way)
]
