"""``Review``: a model under review, what rules ask of it and report."""

from collections.abc import Iterable, Sequence

from mbsim_cli.errors import Issue
from mbsim_cli.spec.expressions.number import Number, Sign, is_moving
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import MAX_SUGGESTIONS, Path, suggest
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.system import cached_property

Broken = set[tuple[str | int, ...]]

GROUND = "ground"
FROM_TABLES = ("bodies", "joints")  # sections that tables add to
OF_CONTROLS = ("laws", "parameters")  # sections that controls add to
_MADE = ("sensors", "forces", "constraints")  # sections that controllers and cables add to


class Review:
    """A model under review; ``broken`` holds items that lost invalid parts: known by name, not checked further."""

    def __init__(self, model: ModelFile, source: Source, broken: Broken):
        self.model = model
        self.source = source
        self.issues: list[Issue] = []
        self.read: set[str] = set()  # numbers whose values were asked for, but literal ones
        self.unmade: set[str] = set()  # controllers that are wrong; what they add is missing
        self.unmade_cables: set[str] = set()  # and cables
        self._broken = broken
        self._suggested = 0
        self._names: dict[str, frozenset[str]] = {}
        self._values: dict[str, float | None] = {}

    def report(
        self, path: Path, message: str, hint: str | None = None, offset: int | None = None, key: bool = False
    ) -> None:
        """Add an issue at a path."""
        self.issues.append(self.source.issue(path, message, hint, offset, key))

    def each_once(self, path: Path, names: Iterable[str]) -> list[tuple[Path, str]]:
        """Places and names of a list, or of keys; reports names that stand in the list already, and leaves them out."""
        found: dict[str, Path] = {}
        for index, name in enumerate(names):
            if name in found:
                self.report((*path, index), f"{name!r} stands twice")
            else:
                found[name] = (*path, name if isinstance(names, dict) else index)
        return [(place, name) for name, place in found.items()]

    def intact(self, section: str, name: str | None = None) -> bool:
        """Whether a section, or one item of it, was read without errors."""
        if name is not None:
            return (section, name) not in self._broken
        sections = (section, "dh") if section in FROM_TABLES else (section,)
        return not any(entry[0] in sections for entry in self._broken)

    def lost(self, section: str) -> bool:
        """Whether a whole section could not be read, so that its names are not known."""
        sections = (section, "controls") if section in OF_CONTROLS else (section,)
        return any((one,) in self._broken for one in sections) or (section in FROM_TABLES and not self.intact("dh"))

    def names(self, section: str) -> frozenset[str]:
        """Names of a section, with those of invalid items."""
        if section not in self._names:
            sections = (section, "controls") if section in OF_CONTROLS else (section,)
            invalid = {str(entry[1]) for entry in self._broken if entry[0] in sections and entry[1:]}
            self._names[section] = frozenset(getattr(self.model, section)) | invalid
        return self._names[section]

    @cached_property
    def bodies(self) -> frozenset[str]:
        """Names of the bodies, with the ground."""
        return self.names("bodies") | {GROUND}

    def is_unmade(self, name: str, section: str) -> bool:
        """Whether a name may be one that a controller or cable would add to a section, and did not as it is wrong."""
        head, _, number = name.removesuffix("_torque").rpartition("_")
        cable = {"forces": head if number.isdecimal() else "", "constraints": name}.get(section)
        return cable in self.unmade_cables or any(name == one or name.startswith(f"{one}_") for one in self.unmade)

    def known(
        self, path: Path, name: str, section: str, what: str, choices: Iterable[str] | None = None, key: bool = False
    ) -> bool:
        """Return whether a name exists in a section (or among ``choices``); reports it where it does not."""
        names = choices if choices is not None else self.bodies if section == "bodies" else self.names(section)
        if name in names or self.lost(section) or (section in _MADE and self.is_unmade(name, section)):
            return True
        hint = self.suggest(name, names) if names else f"there are no {section}"
        self.report(path, f"unknown {what} {name!r}", hint, 0, key)
        return False

    def suggest(self, name: str, names: Iterable[str]) -> str | None:
        """Return a hint with the nearest name of the file."""
        self._suggested += 1
        known = sorted(set(names) - self.model.derived.hidden)
        return suggest(name, known) if self._suggested <= MAX_SUGGESTIONS else None

    def value(self, number: object) -> float | None:
        """Return the value of a number; None for ``auto``, nothing, or what is wrong (and reported elsewhere)."""
        if not isinstance(number, Number):
            return None
        if number.literal is not None:
            return number.literal
        if is_moving(number, self.model.expressions):
            return None
        self.read.add(number.text)
        if number.text not in self._values:
            try:
                self._values[number.text] = self.model.expressions.value(number).real
            except ExpressionError:
                self._values[number.text] = None
        return self._values[number.text]

    def has_sign(self, path: Path, number: object, sign: Sign) -> bool:
        """Return whether a number has a sign, as far as its value is known; reports it where it has not."""
        value = self.value(number)
        if value is None or value > 0 or (value == 0 and sign is Sign.NOT_NEGATIVE):
            return True
        self.report(path, f"{sign.value}, is {value:g}")
        return False

    def vector(self, numbers: Sequence[Number] | None) -> list[float] | None:
        """Return the values of a list of numbers, None where one has no value."""
        values = [value for number in numbers or [] if (value := self.value(number)) is not None]
        return values if numbers and len(values) == len(numbers) else None

    def matrix(self, rows: Sequence[Sequence[Number]]) -> list[list[float]] | None:
        """Return the values of rows of numbers, None where one has no value."""
        values = [row for numbers in rows if (row := self.vector(numbers)) is not None]
        return values if len(values) == len(rows) else None
