"""Rules: what can be judged about a model without a solver; one file each, in the order of reporting."""

from collections.abc import Callable

from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.rules import (
    analysis,
    bodies,
    checks,
    fits,
    flexible,
    formulas,
    laws,
    naming,
    optimizations,
    references,
    studies,
    suitability,
    vehicles,
)

RULES: tuple[Callable[[Review], None], ...] = (
    naming.check,
    naming.check_numbers,
    references.check,
    suitability.check,
    suitability.check_reactions,
    bodies.check_vectors,
    bodies.check,
    flexible.check,
    references.check_graph,
    laws.check,
    laws.check_tables,
    vehicles.check,
    suitability.check_constraints,
    suitability.check_forces,
    formulas.check_moving,
    formulas.check,
    analysis.check,
    checks.check,
    studies.check,
    optimizations.check,
    fits.check,
)

# What these say is about names, and holds whatever the values are.
OF_NAMES = frozenset(
    {
        naming.check,
        references.check,
        suitability.check,
        suitability.check_reactions,
        references.check_graph,
        suitability.check_forces,
    }
)

# What these judge is done with a model, by the values that it was read with.
OF_ITS_USE = frozenset({checks.check, studies.check, optimizations.check, fits.check})

# This one asks every number for its value, and not the review, as all others do.
OF_NUMBERS = frozenset({naming.check_numbers})
