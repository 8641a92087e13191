"""Models that nothing moves: a body on the ground, whose reaction and place every analysis finds."""

import pytest

import mbsim_cli as mbsim

MODEL = """
mbsim: 1
parameters: {a: 1.0, m: 2.0}
gravity: [0, -9.81, 0]
points: {p: {ground: [0, 0, 0], b: [a, 0, 0]}}
bodies: {b: {mass: m, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {j: {type: fixed, bodies: [ground, b], point: p}}
sensors: {r: {type: position, point: b.origin}, f: {type: reaction, joint: j}}
objectives: {o: {mean: r.x + f.force.y}}
"""
STEPS = "step: 1e-2, duration: 2e-2"
SAMPLES = "type: kinematics, sampling: 1e-2, duration: 2e-2"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("analysis", "method"),
    [
        (f"formulation: ali3p-natural, {STEPS}", "none"),
        *((f"formulation: ali3p-{name}, {STEPS}", "ddm") for name in ("rtdyn0", "rtdyn1", "natural")),
        *((f"formulation: ali3p-{name}, {STEPS}", "adjoint") for name in ("rtdyn1", "natural")),
        (SAMPLES, "ddm"),
        (SAMPLES, "adjoint"),
    ],
)
def test_a_body_on_the_ground(tmp_path, analysis, method):
    path = tmp_path / "m.yaml"
    path.write_text(f"{MODEL}analysis: {{{analysis}, sensitivity: {{method: {method}}}}}\n")
    (found,) = mbsim.run(path).objectives.values()
    assert found.value == pytest.approx(2.0 * 9.81 - 1.0, rel=1e-12)  # m g - a
    if method != "none":
        assert [found.by("a"), found.by("m")] == pytest.approx([-1.0, 9.81], rel=1e-12)
