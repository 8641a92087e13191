"""What is wrong with the description of a flexible body."""


class Refused(Exception):
    """A part of the description cannot be met; ``place`` is its path below the description, as (sets, hub)."""

    def __init__(self, place: tuple[str | int, ...], message: str, hint: str | None = None):
        super().__init__(message)
        self.place, self.message, self.hint = place, message, hint


class NoDerivative(Refused):
    """The description can be met, but has no derivative along a parameter."""
