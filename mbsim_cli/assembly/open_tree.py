"""What must hold where an analysis follows open trees: no loops, and no constraints but driven coordinates."""

from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.layout import NONE

_INVERSE = (
    "inverse dynamics follows open trees; in forward_dynamics a constraint of type motion drives a coordinate, "
    "and a sensor of type multiplier or reaction shows what it takes: Drives of closed loops, docs/model-file.md"
)
_FORWARD = "use formulation: ali3p-rtdyn1"


def check_inverse(system: System) -> None:
    """Raise ModelError for loops and constraints: a motion given for every coordinate would break them."""
    _refuse_loops(system, "torques in loops are not unique", _INVERSE)
    for name in system.model_file.constraints:
        system.issue(f"constraints.{name}", "inverse dynamics knows no constraints", _INVERSE)
    system.stop()


def check_open_tree(system: System, formulation: str) -> None:
    """Raise ModelError for loops, and for constraints other than a law for one coordinate."""
    _refuse_loops(system, f"{formulation} is for open trees", _FORWARD)
    driven: dict[int, str] = {}
    for name, spec in system.model_file.constraints.items():
        path = f"constraints.{name}"
        if spec.type != "motion":
            message = f"{formulation} is for open trees; of constraints it knows motion alone, not {spec.type}"
            system.issue(path, message, _FORWARD)
            continue
        column = system.coordinate(spec.coordinate).column
        if column == NONE:
            continue  # of a cut joint, so of a loop
        if column in driven:
            system.issue(path, f"{spec.coordinate!r} already follows the law of {driven[column]!r}")
        driven.setdefault(column, name)
    system.stop()


def _refuse_loops(system: System, why: str, hint: str) -> None:
    for loop in system.topology.loops:
        system.issue(f"joints.{loop[0]}", f"the joints {' - '.join(loop)} form a loop, and {why}", hint)
