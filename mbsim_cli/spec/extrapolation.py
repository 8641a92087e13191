"""What a table says beyond its ends."""

from typing import Any, Literal

from mbsim_cli.spec.base import field

Extrapolate = Literal["none", "hold", "linear"]


def beyond_its_ends() -> Any:
    """Return the field that says how a table goes on."""
    return field(
        "Beyond the ends of the table: none, an error; hold, the value there; linear, straight on.",
        "linear",
        default="none",
    )
