"""A run before it starts: what is solved, with which step, and by which parameters it is differentiated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mbsim_cli.caller import flag, option
from mbsim_cli.errors import UsageError
from mbsim_cli.study.analyses import ANALYSES, Analysis
from mbsim_cli.study.assembling import build, by_adjoint, stated_method
from mbsim_cli.study.automatic_step import Halving, settled
from mbsim_cli.study.choice import AUTO as AUTO_METHOD
from mbsim_cli.study.choice import chosen
from mbsim_cli.study.compiling import compile_kernels, compile_objectives
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing


@dataclass(frozen=True)
class Plan:
    """What a run needs; ``named`` has the parameters of gradients also where differences give them."""

    model_file: Any
    settings: Settings  # with a step in seconds
    method: str
    named: Any
    assembled: Any
    halving: Halving | None = None  # how the step was chosen
    second_run: bool = False  # whether errors that one run does not tell are worth another, ``study.coarse_run``

    @property
    def analysis(self) -> Analysis:
        """The kind of analysis."""
        return ANALYSES[self.assembled.problem.options.analysis]

    @property
    def stores_sensitivities(self) -> bool:
        """Whether records have histories of derivatives; by every number they would be too many."""
        return not self.settings.all_numbers and self.analysis.stores_sensitivities(self.assembled.problem)

    @property
    def parameters(self) -> Sequence[Any]:
        """Parameters of gradients, with their values."""
        return self.named.parameters

    def compile(self, listener: Listener) -> None:
        """Load or compile everything, so that solving is solving."""
        compile_kernels(self.assembled.problem, listener, objectives=self.assembled.objectives)
        compile_objectives(self.assembled.objectives)


@dataclass(frozen=True)
class Draft:
    """A model that is read and assembled, so that all that it reads is known; a step may still be ``auto``."""

    model_file: Any
    settings: Settings
    method: str
    named: Any
    wanted: list[str] | None  # parameters of gradients, None for the file's
    why: str = ""  # the method was chosen

    @property
    def _by_method(self) -> list[str] | None:
        """Parameters that runs themselves differentiate by."""
        return self.wanted if self.method in ("ddm", "adjoint") else []

    def plan(self, timing: Timing, listener: Listener) -> Plan:
        """Choose the step where that is automatic, which takes runs, and leave out what differences differentiate."""
        file, named = self.model_file, self.named
        if self.why:
            listener.say(f"gradients by {self.method}: {self.why}")
        with timing.phase("solve"):
            settings, halving = settled(file, self.settings, self._by_method, listener)
        timing.move(halving.compiling if halving else 0.0, "solve", "compile")
        with timing.phase("load"):
            if halving:
                named = build(file, settings, self.wanted)
            assembled = named if self.method != "fd" else build(file, settings, [])
        return Plan(file, settings, self.method, named, assembled, halving)


def draft(
    model_file: Any,
    settings: Settings,
    timing: Timing,
    by: Sequence[str] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    before: Any = None,
) -> Draft:
    """Assemble a model that is read, and choose the method where that is automatic.

    Gradients are taken ``by`` parameters, None for those of the settings, or else of the file, which have other
    ``values`` where these are given; raises ModelError where they do not fit. What was assembled ``before`` of the same
    file saves time.
    """
    if values:
        with timing.phase("load"):
            model_file, settings = moved(model_file, settings, values)
    stated = stated_method(model_file, settings)
    method = "ddm" if stated == AUTO_METHOD else stated
    if settings.all_numbers and method == "none":
        every, no_method = flag("all_numbers"), option("sensitivity", "none")
        raise UsageError(f"{every} takes gradients, and {no_method} computes none; leave one of them out")
    wanted = _wanted(method, model_file, settings, settings.by if by is None else by)
    with timing.phase("load"):
        named = build(model_file, settings, wanted, before)
    if stated != AUTO_METHOD:
        return Draft(model_file, settings, method, named, wanted)
    method, why = chosen(model_file, settings, named)
    if method == "adjoint":
        return Draft(model_file, replace(settings, method=method), method, by_adjoint(named), wanted, why)
    return Draft(model_file, replace(settings, method=method, memory=None), method, named, wanted, why)


def moved(model_file: Any, settings: Settings, values: Mapping[str, float]) -> tuple[Any, Settings]:
    """The model at other values of its parameters, and settings that tell of them."""
    from mbsim_cli.spec import with_values

    texts = {name: repr(float(value)) for name, value in values.items()}
    return with_values(model_file, values), replace(settings, overrides={**settings.overrides, **texts})


def _wanted(method: str, model_file: Any, settings: Settings, by: Sequence[str] | None) -> list[str] | None:
    """Parameters of gradients: none without a method, those asked for, all for every number, None for the file's."""
    if method == "none":
        return []
    if by is not None:
        return list(by)
    return list(model_file.parameters) if settings.all_numbers else None
