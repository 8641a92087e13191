"""A block of the section ``repeat``, as editors see it; ``spec/repeat.py`` writes blocks out before validation."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Any

from mbsim_cli.spec.base import by_kind, field, fixed_list
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.sections import Sections

_Named = dict[str, dict[str, Number] | None]


class Repetition(Sections):
    """Sections that stand for as many items as there are instances; {i} in a text or key is replaced."""

    for_: dict[str, by_kind(list=fixed_list(Number, 2), mapping=_Named)] = field(
        "What is counted: [first, last], or named instances with values; of several the last is the innermost.",
        {"i": [1, "n"]},
        {"side": {"left": {"sy": 1}, "right": {"sy": -1}}},
        alias="for",
        min_length=1,
    )
    with_: dict[str, Number] = field(
        "Further values of an instance: numbers, formulas or texts.", {"before": "link_{i-1}"}, alias="with", default={}
    )
    first: dict[str, Any] = field(
        "Laid over the first instance: 'with' and sections.", {"with": {"before": "ground"}}, default={}
    )
    last: dict[str, Any] = field(
        "Laid over the last instance: 'with' and sections.", {"bodies": {"link_{i}": {"mass": 2}}}, default={}
    )
    repeat: dict[str, "Repetition"] = field(
        "Blocks that are repeated in each instance.",
        {"toes": {"for": {"j": [1, 3]}, "points": {"toe_{i}_{j}": {"foot_{i}": ["j/10", 0, 0]}}}},
        default={},
    )


SECTIONS = tuple(Sections.model_fields)
