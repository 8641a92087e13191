"""Bodies that deform under forces that are expressions of the motion, as a controlled arm is."""

from pathlib import Path

import pytest

import mbsim_cli as mbsim

PENDULUM = Path(__file__).parents[2] / "models/flexible/pendulum.yaml"
DRIVE = 'forces: {drive: {type: drive, coordinate: hinge.angle, value: "-3*angle - 0.1*tip.y"}}\n'
WAYS = {
    "ali3p-rtdyn1": {"formulation": "ali3p-rtdyn1"},
    "natural": {"formulation": "ali3p-natural"},
    "recursive": {"formulation": "recursive", "integrator": "rk4"},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_gradients_agree_where_a_sensor_of_the_body_drives_it(tmp_path, way):
    path = tmp_path / "arm.yaml"
    path.write_text(PENDULUM.read_text().split("checks:")[0].replace("sensors:", f"{DRIVE}sensors:"))
    model, short = mbsim.load(path), {"step": 1e-4, "duration": 5e-3} | WAYS[way]
    direct, adjoint = (model.run(sensitivity=method, **short).objectives["angle"] for method in ("ddm", "adjoint"))
    change = 1e-3 * 7850
    sides = [
        model.run(sensitivity="none", parameters={"rho": 7850 + side * change}, **short).objectives["angle"].value
        for side in (1, -1)
    ]
    for name in ("E", "rho", "thickness", "length"):
        assert adjoint.by(name) == pytest.approx(direct.by(name), rel=1e-9)
    assert direct.by("rho") == pytest.approx((sides[0] - sides[1]) / (2 * change), rel=1e-4)
