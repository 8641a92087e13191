"""Diagnostics of small motions; modes and frequency responses as plain data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.solve.linear.modes import damping_ratio, frequency
from mbsim_cli.study.diagnostics.health import InstantHealth
from mbsim_cli.system import cached_property

CLOSE = "eigenvalues that meet have no derivatives each for itself: these are NaN"


class LinearHealth(InstantHealth):
    """Whether small motions stay small."""

    @property
    def found(self) -> Any:
        """The modes, or the responses."""
        assert self._block is not None
        return self._block.linear[0]

    @property
    def drift(self) -> float:
        """Largest violation of a constraint, m or 1."""
        return 0.0 if self._block is None else float(self._block.drift[0, 0])

    @cached_property
    def report(self) -> dict[str, Any]:
        """Diagnostics as ``run --json`` prints them."""
        assert self._block is not None
        rest, names = self._block.rest[0], self._problem.names.coordinates
        held = [] if rest is None else [names[c] for c in rest.held if c not in self._problem.hold]
        return {
            "stability": "stable" if self.found.stable else "unstable",
            "about": self._problem.options.at,
            "neutral_coordinates": held,
            "independent_coordinates": list(self.found.independent),
            "iterations": int(self._block.iterations[0]),
            "drift": self.drift,
        }

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        found = [f"objective {name} integrates over no time, and is zero; final: reads it" for name in self._integrals]
        if self._block is not None and self._block.rest[0] is not None and not self._block.rest[0].modes.stable:
            found.append("the equilibrium is unstable: the smallest disturbance drives the mechanism away from it")
        return found


class ModalHealth(LinearHealth):
    """Also which modes are only one choice or none."""

    @cached_property
    def report(self) -> dict[str, Any]:
        """Diagnostics as ``run --json`` prints them."""
        return super().report | {"neutral": self.found.neutral}

    @cached_property
    def modes(self) -> list[dict[str, Any]]:
        """Modes as plain data; derivatives by parameter, none without gradients."""
        found, names = self.found, self._problem.names
        parts = {
            "frequency": frequency(found.value, found.d_value),
            "damping_ratio": damping_ratio(found.value, found.d_value),
            "real_part": (found.value.real, found.d_value.real),
            "imaginary_part": (found.value.imag, found.d_value.imag),
        }
        listed = []
        for k in range(found.value.size):
            shape = {
                name: [float(part.real), float(part.imag)]
                for name, part in zip(names.coordinates, found.shape[:, k], strict=True)
            }
            entry: dict[str, Any] = {"number": k + 1} | {name: float(part[0][k]) for name, part in parts.items()}
            entry["gradient"] = {
                name: dict(zip(names.parameters, map(float, part[1][k]), strict=True)) for name, part in parts.items()
            }
            listed.append(entry | {"shape": shape, "equal_to": [other + 1 for other in found.close[k]]})
        return listed

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        found, modes = super().warnings, self.found
        if self._problem.names.parameters:
            found += [f"{_numbers(group)}: {CLOSE}" for group in _groups(modes.close)]
        if modes.unsteady.size:
            found.append(
                f"the motion is not steady: eigenvalues of {_numbers(modes.unsteady.tolist())} change by up to "
                f"{100 * modes.drift.max():.2g} % in a time constant; they are those of the start alone"
            )
        return found


class ResponseHealth(LinearHealth):
    """Also whether an input has no response."""

    @cached_property
    def responses(self) -> dict[str, Any]:
        """The frequency response as plain data: gains and phases by output and input, one a frequency."""
        found = self.found
        parts = {"gain": np.abs(found.value), "phase": np.angle(found.value)}
        return {
            "frequencies": found.frequencies.tolist(),
            "inputs": dict(zip(found.inputs, found.input_units, strict=True)),
            "outputs": dict(zip(found.outputs, found.output_units, strict=True)),
        } | {
            name: {
                output: {given: part[:, o, k].tolist() for k, given in enumerate(found.inputs)}
                for o, output in enumerate(found.outputs)
            }
            for name, part in parts.items()
        }

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        found, warnings = self.found, super().warnings
        if not found.stable:
            warnings.append("small motions grow by themselves, and inputs have no steady response")
        if found.resonances.size:
            listed = ", ".join(f"{f:g}" for f in found.resonances[:4])
            warnings.append(f"at {listed} Hz nothing damps a resonance: there is no response, and its numbers are NaN")
        return warnings


def _groups(close: Sequence[Sequence[int]]) -> list[list[int]]:
    """Modes that are as good as equal to each other."""
    groups = {tuple(sorted({k, *others})) for k, others in enumerate(close) if others}
    return [list(group) for group in sorted(groups)]


def _numbers(modes: Sequence[int]) -> str:
    """Modes in words, counted from 1."""
    names = [str(k + 1) for k in modes]
    return f"mode {names[0]}" if len(names) == 1 else f"modes {', '.join(names[:-1])} and {names[-1]}"
