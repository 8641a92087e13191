"""Accepted means effective, in runs: every setting of an analysis changes what comes of it, whatever else is chosen.

``test_keys`` asks what the solver is given; here the solver itself is asked, formulation by formulation.
"""

from typing import Any

import pytest

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.spec.analysis import CLOSED_LOOPS, FORMULATIONS, METHODS, OPEN_TREES, SENSITIVITIES
from mbsim_cli.study.interface import load

ARM = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L: 0.6, m: 2}
points: {A: {upper: [L, 0, 0], lower: [0, 0, 0]}, B: {lower: [0.5, 0, 0]}}
bodies:
  upper: {shape: {type: rod, length: L, mass: m}}
  lower: {shape: {type: rod, length: 0.5, mass: 1}}
joints:
  turn: {type: revolute, bodies: [ground, upper], point: origin, axis: z, initial: {angle: 0.7, independent: true}}
  bend: {type: revolute, bodies: [upper, lower], point: A, axis: z, initial: {angle: -1.2}}
forces: {spring: {type: rotational_spring_damper, coordinate: turn.angle, stiffness: 30, damping: 1, natural_angle: 0}}
sensors: {r: {type: position, point: lower.B}}
objectives: {way: {integral: "dot(r, r)"}}
"""
SLIDES = (
    "constraints: {slot: {type: point_on_line, point: lower.B, line: {point: ground.origin, direction: ground.x}}}\n"
)
OTHER: dict[str, tuple[Any, ...]] = {  # one of them at least is too far from the usual value to change nothing
    "step": (0.025,),
    "duration": (0.2,),
    "tolerance": (0.1, 1e-14),
    "max_iterations": (2, 1),  # steps of one iteration are short: thousands by esdirk
    "penalty": (1e3,),
    "weighting": (1e4,),
    "projection": ("identity",),
    "absolute_tolerance": (0.1,),
    "error_control": (SENSITIVITIES,),
    "max_steps": (1,),
    "gradient_tolerance": (0.5, 1e-15),
}
OF_LOOPS = ("tolerance", "max_iterations", "penalty", "weighting", "projection")
OF_STEPS = ("tolerance", "absolute_tolerance", "max_steps")
USUAL = {"step": 0.05, "duration": 0.4}  # so long that iterations and adaptive steps have something to do


def integrators_of(formulation: str) -> tuple[str | None, ...]:
    """Those that it has; None alone where it has none to choose from."""
    return tuple(INTEGRATORS) if formulation in (*OPEN_TREES, *CLOSED_LOOPS) else (None,)


def ways() -> list[tuple[str, str | None, str]]:
    """Formulations with their integrators, each with every method of gradients."""
    pairs = [(name, each) for name in FORMULATIONS for each in integrators_of(name)]
    return [(*pair, method) for pair in pairs for method in METHODS if method != "auto"]


def settings_of(integrator: str | None, method: str) -> list[str]:
    """Settings that must have an effect. Those of gradients are for `mbsim check` where a run computes none."""
    exact = ["gradient_tolerance"] if method in ("ddm", "adjoint") else []
    if integrator is None:
        return ["step", "duration", *OF_LOOPS, *exact]
    kind = INTEGRATORS[integrator]
    controlled = [*OF_STEPS, *(["error_control"] if method == "ddm" else [])] if kind.adaptive else []
    return ["step", "duration", *controlled, *(["max_iterations", *exact] if kind.implicit else [])]


def outcome(folder: Any, analysis: dict[str, Any]) -> Any:
    """What a run tells, but for what it took; the sentence that it ends with where it fails."""
    path = folder / "arm.yaml"
    path.write_text(ARM + (SLIDES if analysis["formulation"] not in OPEN_TREES else "") + f"analysis: {analysis}\n")
    try:
        report = load(path).run().report
    except AnalysisError as error:
        return str(error)
    told = {key: report[key] for key in ("objectives", "steps", "diagnostics", "warnings")}
    return repr(told)


def without_effect(folder: Any, formulation: str, integrator: str | None, method: str) -> list[str]:
    """Settings that change nothing."""
    base = {"formulation": formulation, **USUAL, "sensitivity": {"method": method}}
    if integrator is not None:
        base["integrator"] = integrator
    keys = settings_of(integrator, method)
    if "gradient_tolerance" in keys:  # the usual one asks more of the motion than any other tolerance does
        base["gradient_tolerance"] = 1e-4
    usual = outcome(folder, base)
    return [key for key in keys if all(outcome(folder, base | {key: value}) == usual for value in OTHER[key])]


COVERING = [("ali3p-rtdyn1", None, "ddm"), ("recursive", "dop853", "ddm"), ("recursive", "esdirk", "ddm")]


@pytest.mark.parametrize(("formulation", "integrator", "method"), COVERING)
def test_a_setting_changes_a_run(tmp_path, formulation, integrator, method):
    assert without_effect(tmp_path, formulation, integrator, method) == []


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "integrator", "method"), sorted(set(ways()) - set(COVERING), key=str))
def test_a_setting_changes_any_run(tmp_path, formulation, integrator, method):
    assert without_effect(tmp_path, formulation, integrator, method) == []
