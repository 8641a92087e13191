"""From a mechanism to the arrays that kernels read."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from mbsim_cli.assembly.options import options_of
from mbsim_cli.assembly.packed import Packed
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.tables import Tables
from mbsim_cli.assembly.tree.joints import EULER_NAMES
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.unfolding import check_flexible, unfolded_system
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Options
from mbsim_cli.spec.analysis import InverseDynamics
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.states import StateJoint

# Models that natural coordinates cannot represent.

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


# Settings of inverse dynamics that open trees do not have; formulations that take open trees alone.

_FORWARD = "use formulation: ali3p-rtdyn1"


def check_inverse(system: System) -> None:
    """Raise ModelError for what only mechanisms with loops or constraints can use."""
    analysis = cast(InverseDynamics, system.model_file.analysis)
    if system.topology.loops or system.model_file.constraints:
        return
    for key in ("drives", "redundancy", "weights"):
        if getattr(analysis, key):
            message = "the mechanism is an open tree, of which all coordinates are driven"
            system.issue(f"analysis.{key}", message, f"leave {key} out; torque sensors choose what results show")
    if analysis.motion.constraints:
        system.issue("analysis.motion.constraints", "the model has no constraints", "give laws of its coordinates")
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


# The tables of a model with the numbers in them, which are all that changes at other values of parameters.

SOURCES = ("read_table", "standard_input")  # choices that tables hold data of
OTHERS = ("sensitivity_parameters", *SOURCES)  # choices that are no options of the analysis


@dataclass(frozen=True)
class Packing:
    """Tables, the options of an analysis, and what both were made from."""

    model_file: ModelFile
    choices: Mapping[str, Any]
    options: Options
    system: System
    packed: Packed
    decisive: frozenset[Any]  # numbers that the tables themselves depend on

    @property
    def numbers(self) -> Numbers:
        """What gives the numbers of the file."""
        return self.system.geometry.numbers

    @property
    def lends(self) -> bool:
        """Whether it serves other values: shapes of bodies that deform take part in tables, and hold much memory."""
        return not self.system.elastic

    @contextmanager
    def renewed(self, model_file: ModelFile, choices: Mapping[str, Any]) -> Iterator["Packing | None"]:
        """The packing of a file with other values of its parameters, as long as these are read: equal to a new one.

        None where the file is another one, where the tables may be others or something is wrong at these values, which
        packing anew will say, and where another thread has it.
        """
        if not self._serves(model_file, choices) or not self.numbers.lock.acquire(blocking=False):
            yield None
            return
        with ExitStack() as stack:
            stack.callback(self.numbers.lock.release)
            yield self._at(stack, model_file, choices)

    def _serves(self, model_file: ModelFile, choices: Mapping[str, Any]) -> bool:
        """Whether only values of parameters can be different."""
        sources = all(choices[name] is self.choices[name] for name in SOURCES)
        return self.lends and sources and model_file.has_sections_of(self.model_file)

    def _at(self, stack: ExitStack, model_file: ModelFile, choices: Mapping[str, Any]) -> "Packing | None":
        try:
            changed = stack.enter_context(self.numbers.reading(model_file.expressions))
            options = _options_at(model_file, self.numbers, choices)
            system = None if self._decided_by(changed, options) else self.system.renewed(changed)
        except Exception:
            return None
        if system is None:
            return None
        return replace(self, model_file=model_file, choices=choices, options=options, system=system)

    def _decided_by(self, changed: frozenset[Any], options: Options) -> bool:
        """Whether the tables depend on what is different."""
        kinds = [(each.analysis, each.formulation) for each in (options, self.options)]
        motion = options.analysis == "inverse_dynamics" and options.duration != self.options.duration
        return kinds[0] != kinds[1] or motion or not self.decisive.isdisjoint(changed)


def pack(model_file: ModelFile, choices: Mapping[str, Any]) -> Packing:
    """Pack a file; raises ModelError with what is wrong with the mechanism."""
    system = unfolded_system(model_file, choices["standard_input"])
    numbers = system.geometry.numbers
    options = _options_at(model_file, numbers, choices)
    inverse = options.analysis == "inverse_dynamics"
    if inverse:
        check_inverse(system)
    elif options.open_tree:
        check_open_tree(system, options.formulation)
    elif options.natural:
        check_natural(system)
    check_flexible(system)
    system.tables = Tables(model_file, choices["read_table"], system.issue)
    packed = Packed(system, options if inverse else None)
    return Packing(model_file, choices, options, system, packed, frozenset(numbers.read))


def _options_at(model_file: ModelFile, numbers: Numbers, choices: Mapping[str, Any]) -> Options:
    """Options of an analysis, as choices and the numbers of the file state them."""
    with numbers.recorded():  # no table depends on them
        return options_of(model_file, numbers, **{k: v for k, v in choices.items() if k not in OTHERS})
