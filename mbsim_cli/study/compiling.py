"""Kernels and expressions that an analysis needs, loaded or compiled before it is timed."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.evaluation import blocks_of
from mbsim_cli.study.listener import Listener

COMPILING = "compiling kernels, once: this takes a minute or two, later runs start at once"
COMPILING_COMPLEX = "compiling kernels for complex numbers, once: this takes minutes, later checks start at once"
NOT_KEPT = "compiled kernels cannot be kept for later runs: {}"
WAITING = "another run compiles the same kernels; waiting for it"


def compile_kernels(problem: Problem, listener: Listener, theta: np.ndarray | None = None) -> float:
    """Load or compile what the analysis needs, by its first step; return the seconds it took."""
    start = perf_counter()
    from mbsim_cli.kernels import _jit

    first_step = replace(problem, options=replace(problem.options, duration=problem.options.step))
    sentences = [COMPILING if theta is None else COMPILING_COMPLEX]
    with _jit.watch_compilation(lambda: listener.say(sentences.pop()), lambda: listener.say(WAITING)):
        deque(blocks_of(first_step, theta), maxlen=0)
    if _jit.STORE.trouble and not sentences:
        listener.say(NOT_KEPT.format(_jit.STORE.trouble))
    return perf_counter() - start


def compile_objectives(objectives: Sequence[Any]) -> None:
    """Compile the expressions of objectives, which loads what differentiates them: no part of solving."""
    for objective in objectives:
        objective.integrand  # noqa: B018
        compile_objectives(objective.operands)
