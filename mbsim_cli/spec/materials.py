"""Materials of flexible bodies."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from mbsim_cli.spec.base import Spec, description, field
from mbsim_cli.spec.expressions.number import Number


class Material(Spec):
    """A linear elastic material, the same in all directions."""

    youngs_modulus: Number = field("Young's modulus [Pa].", 2.1e11)
    poisson_ratio: Number = field("Poisson's ratio.", 0.3)
    density: Number = field("Density [kg/m^3].", 7850)
    description: str | None = description()
