"""Elastic coordinates of 1e-5 beside rigid ones of 1 m: Newton's iteration knows the round-off of either."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.reduced_bodies import standard_input
from tests.models.command import ROOT

AT_THE_END = "  phi2: {final: phi2, unit: rad}", "  torque: {final: torque}\n  phi2: {final: phi2, unit: rad}"


@pytest.mark.slow
@pytest.mark.parametrize("step", [2.5e-6, 5e-6, 2e-5])
def test_motions_of_both_methods_are_one(tmp_path, step):
    """Those of the direct method and of the adjoint, which take other numbers of iterations.

    Where all coordinates counted for 1 m, values differed by 3e-9 and derivatives of the torque by 5e-8. Beside each
    other at 2.4, 2.5 and 2.6 us, round-off of 4000 steps leaves 1e-10 and 3e-9.
    """
    text = (ROOT / "models/flexible/simeon.yaml").read_text()
    assert text.count(AT_THE_END[0]) == 1
    path = tmp_path / "simeon.yaml"
    path.write_text(text.replace(*AT_THE_END))
    model, found = spec.load(path), []
    for method in ("ddm", "adjoint"):
        built = assembly.build(
            model, step=step, duration=0.01, sensitivity=method, sensitivity_parameters=["E"],
            standard_input=standard_input,
        )  # fmt: skip
        found.append(evaluate(built.problem, built.objectives))
    for name in ("torque", "q1", "q4"):
        direct, adjoint = (each[name] for each in found)
        assert direct.value == pytest.approx(adjoint.value, rel=5e-10)
        np.testing.assert_allclose(direct.gradient, adjoint.gradient, rtol=6e-9)


@pytest.mark.slow
def test_both_methods_agree_where_a_body_deforms():
    """Three times the round-off of coordinates of 1 m, in each step, changed derivatives by 4e-9 of themselves."""
    model, found = spec.load(ROOT / "models/flexible/rotating_beam.yaml"), []
    for method in ("ddm", "adjoint"):
        built = assembly.build(model, step=2.5e-4, duration=0.5, sensitivity=method, standard_input=standard_input)
        found.append(evaluate(built.problem, built.objectives)["psi"].gradient)
    np.testing.assert_allclose(*found, rtol=1e-9)
