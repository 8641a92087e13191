"""State space of a model about an equilibrium, its start, or a later time: ``mbsim linearize``, ``Model.linearize``."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import outputs_of
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import UsageError, option, require_names


@dataclass(frozen=True)
class StateSpace:
    """x' = A x + B u, y = C x + D u of small changes x of states, u of inputs and y of outputs, in SI units.

    ``scipy.signal.StateSpace(*system)`` and ``control.ss(*system)`` take it: it unpacks to A, B, C, D.
    """

    A: np.ndarray  # (s, s)
    B: np.ndarray  # (s, k)
    C: np.ndarray  # (o, s)
    D: np.ndarray  # (o, k)
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_units: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    output_values: np.ndarray  # (o,) what outputs show where nothing changes
    time: float  # s
    about: str  # equilibrium | start | time
    modes: list[dict[str, Any]]  # as in reports of runs: number, frequency [Hz], damping_ratio, shape and others
    neutral: int  # eigenvalues that are zero, which belong to no mode

    def __iter__(self):
        return iter((self.A, self.B, self.C, self.D))

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A in increasing magnitude, zeros included."""
        values = np.linalg.eigvals(self.A)
        return values[np.argsort(np.abs(values), kind="stable")]

    def frequency_response(self, frequencies: Sequence[float] | np.ndarray) -> np.ndarray:
        """C (2 pi i f - A)^-1 B + D (F, o, k) at frequencies f [Hz]."""
        unit = np.eye(len(self.A))
        points = 2j * np.pi * np.asarray(frequencies, dtype=float)
        return np.array([self.C @ np.linalg.solve(s * unit - self.A, self.B) + self.D for s in points])

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write X.h5, X.npz or X.mat by the ending; raises UsageError and InputOutputError."""
        from mbsim_cli.io.findings import write_state_space

        write_state_space(Path(path), self.content, force=force)

    @property
    def content(self) -> dict[str, Any]:
        """What files hold, by name: all but the modes, which follow from A."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("modes", "neutral")}


def linearized(
    assembled: Assembled, at: str | float, inputs: Sequence[str], outputs: Sequence[str] | None
) -> StateSpace:
    """The state space of an assembled model; raises UsageError and AnalysisError."""
    from mbsim_cli.solve.linear.equations import at_equilibrium, at_start, at_time
    from mbsim_cli.solve.linear.modes import found_at
    from mbsim_cli.solve.linear.state_space import inputs_of, state_space, with_expressed
    from mbsim_cli.study.diagnostics.health import plain_modes

    require_names(option("inputs"), inputs)
    require_names(option("outputs"), outputs or ())
    problem = assembled.problem
    if at == "equilibrium" and (states := assembled.states):
        unsolved = f"the search for an equilibrium does not solve for states ({', '.join(states)})"
        raise UsageError(f"{unsolved}; take the start or a time")
    if at == "equilibrium":
        point = at_equilibrium(problem)
    elif at == "start":
        point = at_start(problem)
    else:
        if problem.options.analysis != "forward_dynamics":
            raise UsageError(f"a time is one of a motion; type: {problem.options.analysis} has none")
        point = at_time(problem, float(at))
    given = inputs_of(problem, inputs, point.time)
    require_names(option("inputs"), given.names)  # F has the components F.x, F.y and F.z
    found = state_space(problem, point, given)
    shown, C, D = with_expressed(problem.expressed, found, point.time)
    readable = {name: part for name, part in assembled.sensor_rows.items() if part.stop <= shown.size}
    for name in outputs or ():
        if name.partition(".")[0] in assembled.sensor_rows.keys() - readable.keys():
            torques = f"{name!r} shows torques of inverse dynamics"
            raise UsageError(f"{option('outputs')}: {torques}; small motions have none")
    labels, units, rows = outputs_of(problem.names, readable, outputs)
    rate = [f"{unit}/s" for unit in found.units]
    modes = found_at(problem, point, moves=False)
    return StateSpace(
        found.A, found.B, C[rows], D[rows],
        (*found.coordinates, *(f"{name}'" for name in found.coordinates)), tuple(given.names), tuple(labels),
        (*found.units, *rate), tuple(given.units), tuple(units), shown[rows], point.time,
        at if isinstance(at, str) else "time", plain_modes(modes, problem.names), modes.neutral,
    )  # fmt: skip
