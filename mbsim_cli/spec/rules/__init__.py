"""Rules: checks of a model that need no solver, a file a subject, in the order of reporting."""

from collections.abc import Callable

from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules import analysis, bodies, formulas, laws, names, studies, suitability

RULES: tuple[Callable[[Review], None], ...] = (
    names.check_names, names.check_numbers, names.check_references,
    suitability.check_signs, suitability.check, suitability.check_reactions,
    bodies.check_vectors, bodies.check, bodies.check_flexible,
    names.check_graph, laws.check, laws.check_tables,
    suitability.check_sizes, suitability.check_constraints, suitability.check_forces,
    formulas.check_moving, formulas.check, analysis.check, formulas.check_values,
    suitability.check_signs_of_use, studies.check,
)  # fmt: skip

# Rules about names: their issues do not depend on values of parameters.
OF_NAMES = {
    names.check_names, names.check_references, names.check_graph,
    suitability.check, suitability.check_reactions, suitability.check_forces,
}  # fmt: skip

# Rules about checks, studies, fits and optimisations, which are validated once, at the values of the file.
OF_ITS_USE = {formulas.check_values, suitability.check_signs_of_use, studies.check}

# Rules that evaluate every number themselves; the others ask ``Review.value``.
OF_NUMBERS = {names.check_numbers}
