"""What natural coordinates do not know."""

from mbsim_cli.assembly.tree.joints import EULER_NAMES
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.spec.states import StateJoint

_HINT = "use formulation: ali3p-rtdyn1"


def check_natural(system: System) -> None:
    """Record what a model reads that natural coordinates do not have."""
    for name, joint in system.joints.items():
        if getattr(joint, "armature", None) is not None and not isinstance(joint, StateJoint):
            system.issue(f"joints.{name}.armature", "natural coordinates have no armatures", _HINT)
    for name, spec in system.model_file.sensors.items():
        if spec.type == "coordinate" and spec.coordinate.rpartition(".")[2] in EULER_NAMES:
            message = "natural coordinates have no Euler parameters"
            system.issue(f"sensors.{name}", message, "read directions or angles of the body, or " + _HINT)
    for name, spec in system.model_file.constraints.items():
        terms = list(getattr(spec, "factors", ()))
        terms += [spec.coordinate] if spec.type == "motion" else []
        if any(term.rpartition(".")[2] in EULER_NAMES for term in terms):
            system.issue(f"constraints.{name}", "natural coordinates have no Euler parameters", _HINT)
