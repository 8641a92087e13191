"""Kernels and expressions that an analysis needs, loaded or compiled before it is timed."""

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, InputOutputError
from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.evaluation import blocks_of, rehearse
from mbsim_cli.study.listener import SILENT, Listener

COMPILING = (
    "compiling {}{}, which later runs find in the cache; all that a run needs, some 350 kernels, takes a minute on a "
    "quiet machine with two cores, and three on a busy one"
)
NEXT = "compiling {}{}"
COMPILED = "compiled {} in {:.0f} s: {}"
NOT_KEPT = "compiled kernels cannot be kept for later runs: {}"
READY = "kernels ready:"
ENOUGH = 100  # steps of an adaptive integrator, after which all that it calls was called
WAITING = "another run compiles {}; waiting for it"


@dataclass
class Compiled:
    """Kernels that had to be compiled, by the names of what Python calls, and the seconds of loading and compiling."""

    names: list[str]
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """Names and number in words."""
        count = f"{len(self.names)} kernels" if len(self.names) > 1 else "1 kernel"
        return COMPILED.format(count, self.seconds, ", ".join(self.names))


def compile_kernels(
    problem: Problem,
    listener: Listener,
    theta: np.ndarray | None = None,
    objectives: Sequence[Any] = (),
    *,
    in_vain: bool = True,
) -> Compiled:
    """Load or compile what the analysis needs, by its first step, and tell what is compiled.

    Where that step fails the analysis itself does, too, and keeps what is before. ``objectives`` are those that an
    adjoint is for. What cannot be kept is compiled ``in_vain``, or raises InputOutputError before it takes minutes.
    """
    start, compiled = perf_counter(), Compiled([])
    from mbsim_cli.kernels.compiler import watch as _watch
    from mbsim_cli.kernels.compiler.companion import Companion

    companion = Companion(compile_kernels, problem, SILENT, theta, objectives)
    shown, show, ready = ExitStack(), None, 0  # the count of kernels, from the first that is compiled on
    in_complex = np.iscomplexobj(problem.theta if theta is None else theta)

    def begin(name: str) -> None:
        nonlocal show
        if not in_vain:
            require_keeping()
        sentence = NEXT if compiled.names else COMPILING
        compiled.names.append(name)
        listener.say(sentence.format(name, " for complex numbers" if in_complex else ""))
        show = show or shown.enter_context(listener.count(READY))
        companion.start()

    def count() -> None:
        nonlocal ready
        ready += 1
        if show:
            show(ready)

    options = problem.options
    few = replace(options, duration=options.step, max_steps=min(options.max_steps, ENOUGH))
    first_step = replace(problem, options=few)
    watch = _watch.watch_compilation(begin, lambda name: listener.say(WAITING.format(name)), count)
    tape = None
    if options.sensitivity == "adjoint" and theta is None:
        tape = ANALYSES[options.analysis].tape(replace(problem, options=replace(options, memory=None)))
    try:
        with shown, watch, suppress(AnalysisError):
            deque(blocks_of(first_step, theta, tape), maxlen=0)
            if tape:
                rehearse(first_step, objectives, tape)
    finally:
        companion.stop()
    compiled.seconds = perf_counter() - start
    if compiled.names:
        listener.say(NOT_KEPT.format(_watch.STORE.trouble) if _watch.STORE.trouble else compiled.sentence)
    return compiled


def require_keeping() -> None:
    """Raise InputOutputError where what is compiled cannot be kept."""
    from mbsim_cli.kernels.compiler.watch import STORE

    if trouble := STORE.check()[0]:
        raise InputOutputError(f"compiled kernels cannot be kept: {trouble}; mbsim doctor says more")


def compile_objectives(objectives: Sequence[Any]) -> None:
    """Compile the expressions of objectives, which loads what differentiates them: no part of solving."""
    for objective in objectives:
        objective.integrand  # noqa: B018
        compile_objectives(objective.operands)
