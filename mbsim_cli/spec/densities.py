"""Fields of one number an element, and what a body makes of them: the density of its material, after a filter."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from mbsim_cli.spec.base import Spec, description, field, fixed_list
from mbsim_cli.spec.expressions.number import Formula, Number


class Filter(Spec):
    """Averages over neighbours, with weights that fall linearly to zero."""

    radius: Number = field("Distance of centres beyond which an element counts no more [m].", 0.0075)


class Field(Spec):
    """Numbers of elements: an expression, or a dataset of a file."""

    value: Formula | None = field(
        "Number of an element, of its centre's x, y and z [m].", 0.5, "0.7 + x/2", default=None
    )
    file: str | None = field("HDF5 file with a number for each element.", "rho.h5", default=None)
    dataset: str | None = field("Dataset of the file; default the field's name.", "fields/rho", default=None)
    bounds: fixed_list(Number, 2) | None = field("Lower and upper limit.", [0.01, 1], default=None)
    filter: Filter | None = field("Filter.", {"radius": 0.0075}, default=None)
    description: str | None = description()


class SimpLaw(Spec):
    """Stiffness and mass by powers of a density p: E p^s; rho p, below a threshold rho c p^q."""

    penalty: Number = field("Exponent s of the stiffness.", 3, default=Number(3.0))
    threshold: Number = field("Density below which mass falls faster.", 0.1, default=Number(0.1))
    factor: Number = field("Factor c below the threshold.", 1e5, default=Number(1e5))
    exponent: Number = field("Exponent q below the threshold.", 6, default=Number(6.0))


class Density(Spec):
    """Density of a body's elements, relative to its material."""

    name: str = field("Field of the densities.", "rho", alias="field")
    law: SimpLaw = field("How stiffness and mass follow.", {"penalty": 3}, default_factory=SimpLaw)
