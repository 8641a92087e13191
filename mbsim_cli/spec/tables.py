"""Tables of values: in which file and columns they stand, and how they continue beyond their ends."""

from typing import Any, ClassVar, Literal

from mbsim_cli.spec.base import Spec, field, named, optional
from mbsim_cli.spec.expressions.number import Number

Extrapolate = Literal["none", "hold", "linear"]


def beyond_its_ends() -> Any:
    """Return the field that says how a table continues."""
    return field(
        "Beyond the ends of the table: none, an error; hold, the value there; linear, straight on.",
        "linear",
        default="none",
    )


class ColumnsFile(Spec):
    """Columns of a CSV or HDF5 file."""

    file: named.File = field("CSV or HDF5 file, relative to the model file.", "measured.csv")
    columns: dict[named.Quantity, named.Text] = field(
        "Column of the file for each quantity; default the column of the quantity's name.", {"time": "t"}, default={}
    )
    scale: dict[named.Quantity, Number] = field(
        "Factors on the columns, to SI units, by quantity.", {"time": 0.001}, {"z": "mm"}, default={}
    )
    delimiter: named.Text | None = optional("Separator of the columns of a CSV file; default a comma.", ";")

    def column(self, quantity: str) -> str:
        """Column of the file that holds a quantity."""
        return self.columns.get(quantity, quantity)


class TableFile(ColumnsFile):
    """Columns of a file: an increasing argument, and values over it."""

    arguments: ClassVar[tuple[str, ...]] = ("time",)  # keys that the argument may have; one is given
    values: ClassVar[tuple[str, ...]] = ()  # keys of the values; none: coordinates of joints

    extrapolate: Extrapolate = beyond_its_ends()

    @property
    def argument(self) -> str:
        """Key of the argument."""
        named = {*self.columns, *self.scale}
        return next((key for key in self.arguments if key in named), self.arguments[0])
