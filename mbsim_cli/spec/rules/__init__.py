"""Rules: what can be judged about a model without a solver; one file each, in the order of reporting."""

from collections.abc import Callable

from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.rules import (
    analysis,
    bodies,
    checks,
    constraints,
    fits,
    flexible,
    forces,
    formulas,
    graph,
    laws,
    moving,
    naming,
    numbers,
    optimizations,
    reactions,
    references,
    studies,
    suitability,
    tables,
    vectors,
    vehicles,
)

RULES: tuple[Callable[[Review], None], ...] = (
    naming.check,
    numbers.check,
    references.check,
    suitability.check,
    reactions.check,
    vectors.check,
    bodies.check,
    flexible.check,
    graph.check,
    laws.check,
    tables.check,
    vehicles.check,
    constraints.check,
    forces.check,
    moving.check,
    formulas.check,
    analysis.check,
    checks.check,
    studies.check,
    optimizations.check,
    fits.check,
)

# What these say is about names, and holds whatever the values are.
OF_NAMES = frozenset({naming.check, references.check, suitability.check, reactions.check, graph.check, forces.check})

# What these judge is done with a model, by the values that it was read with.
OF_ITS_USE = frozenset({checks.check, studies.check, optimizations.check, fits.check})

# This one asks every number for its value, and not the review, as all others do.
OF_NUMBERS = frozenset({numbers.check})
