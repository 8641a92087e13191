"""What is said of an equilibrium is known from finding it."""

import pytest

from mbsim_cli import spec
from mbsim_cli.solve.equilibrium import NearestEquilibrium
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run
from mbsim_cli.study.run import run

ON_TOP = """
mbsim: 1
gravity: [0, 0, -10]
bodies: {{rod: {{mass: 1, center_of_mass: [0, 0, 1], inertia: {{yy: 0.1}}}}}}
joints: {{pin: {{type: revolute, bodies: [ground, rod], point: origin, axis: y}}}}
analysis: {{{}}}
"""
MOTION = "start: equilibrium, step: 0.1, duration: 0.1, formulation: {}"


@pytest.mark.parametrize(
    ("analysis", "expected"),
    [
        ("type: equilibrium", "the equilibrium is unstable: "),
        *((MOTION.format(name), "starts at an unstable equilibrium: ") for name in ("ali3p-rtdyn1", "recursive")),
        pytest.param(
            MOTION.format("ali3p-natural"), "starts at an unstable equilibrium: ", marks=pytest.mark.interpreted
        ),
    ],
)
def test_it_is_searched_once(tmp_path, monkeypatch, analysis, expected):
    path, timing, searches, search = tmp_path / "model.yaml", Timing(), [], NearestEquilibrium.search
    path.write_text(ON_TOP.format(analysis))
    plan = plan_run(spec.load(path), Settings(), timing, SILENT)
    monkeypatch.setattr(NearestEquilibrium, "search", lambda self: searches.append(self) or search(self))
    outcome = run(plan, timing, SILENT)
    assert expected in outcome.warnings[0] and outcome.report
    assert len(searches) == 1
