"""Every number of a result has its unit, in the file, in what the commands print, and in pictures."""

import h5py
import numpy as np
import pytest

from mbsim_cli.io.results import ResultFile
from mbsim_cli.model.units import quotient

CRANE = """\
mbsim: 1
parameters:
  m: {value: 2.0, unit: kg, bounds: [1, 3]}
  L: {value: 0.7, unit: m}
points: {hook: {ground: [0, 0, 0], trolley: [0, 0, 0]}, pin: {trolley: [0, 0, 0], rod: [0, 0, 0]}}
bodies: {trolley: {mass: 5}, rod: {shape: {type: rod, length: L, mass: m}}}
joints:
  track: {type: prismatic, bodies: [ground, trolley], point: hook, axis: x}
  swing: {type: revolute, bodies: [trolley, rod], point: pin, axis: z, initial: {angle: -60 deg}}
"""
TORQUES = """\
sensors: {tau: {type: torques}, one: {type: torque, coordinate: track.displacement}}
objectives: {effort: {integral: one**2, unit: N^2 s}}
analysis:
  type: inverse_dynamics
  sampling: 0.1
  duration: 0.2
  motion: {all: {type: harmonic, amplitude: 1, frequency: 1}}
  sensitivity: {method: ddm, parameters: all}
"""
ROWS = """\
  ball: {type: floating, bodies: [ground, stone]}
constraints:
  drive: {type: motion, coordinate: swing.angle, law: {type: constant, value: -60 deg}}
  rack: {type: coupling, terms: {track.displacement: 1, swing.angle: 0.1}}
sensors:
  M: {type: multiplier, constraint: drive}
  F: {type: multiplier, constraint: rack}
  r: {type: position, point: stone.origin}
objectives: {fall: {final: r.z, unit: m}}
analysis: {step: 1e-3, duration: 3e-3, sensitivity: {method: ddm, parameters: all}}
"""


def numbers(file):
    """Numeric datasets of a result by name."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf":
            found[name] = item

    file.visititems(visit)
    return found


def assert_units(path):
    with h5py.File(path) as file:
        found = numbers(file)
        assert [name for name, dataset in found.items() if not dataset.attrs.get("unit")] == []
        for name, dataset in found.items():
            units = dataset.attrs["unit"].split(", ")
            assert dataset.attrs["units"] == dataset.attrs["unit"]
            if f"units/{name}" in file:
                each = file[f"units/{name}"]
                axes = [dimension.label for dimension in each.dims]
                assert len(units) > 1 and set(each[()].astype("U").ravel()) == set(units)
                assert set(axes) <= {dimension.label for dimension in dataset.dims}
                assert each.shape == tuple(len(file[axis]) for axis in axes)
            elif not name.startswith(("parameters/", "diagnostics/drift")):
                assert len(units) == 1, name


@pytest.fixture
def crane(tmp_path, mbsim):
    def run(text, name):
        (tmp_path / f"{name}.yaml").write_text(text)
        return mbsim("run", f"{name}.yaml", "--json", "--quiet"), tmp_path / f"{name}.h5"

    return run


def test_of_a_closed_loop(fivebar):
    assert_units(fivebar)
    with h5py.File(fivebar) as file:
        assert file["objectives/psi1/gradient"].attrs["unit"] == "m^2 s/m, m^2 s/kg"
        assert file["units/objectives/psi1/gradient"].asstr()[:3].tolist() == ["m^2 s/m", "m^2 s/m", "m^2 s/kg"]


def test_of_inverse_dynamics(crane):
    done, path = crane(CRANE + TORQUES, "lift")
    assert done.code == 0, done.err
    assert_units(path)
    with h5py.File(path) as file:
        assert file["units/torque"].asstr()[()].tolist() == ["N", "N m"]
        assert file["units/coordinates/velocity"].asstr()[()].tolist() == ["m/s", "rad/s"]
        by_velocity = file["units/sensitivity/torque/velocity"].asstr()[()]
        assert by_velocity.tolist() == [["N/(m/s)", "N/(rad/s)"], ["N m/(m/s)", "N m/(rad/s)"]]
        assert file["component_of_tau"].asstr()[()].tolist() == ["track.displacement", "swing.angle"]
        assert [dimension.label for dimension in file["sensors/tau"].dims] == ["time", "component_of_tau"]
        assert file["sensors/one"].attrs["unit"] == "N"
    content = ResultFile(path)
    assert content.entries["swing.angle.torque"].unit == "N m"
    assert content.entries["tau"].components == ("track.displacement", "swing.angle")
    effort = done.json["objectives"]["effort"]
    assert effort["gradient_units"] == {"m": "N^2 s/kg", "L": "N^2 s/m"}


def test_of_torques_by_coordinates(crane, mbsim):
    """Pictures name them as histories, with signs as coordinates have them: here some are stored negated."""
    planar = CRANE.replace("revolute, bodies: [trolley, rod]", "planar, bodies: [rod, trolley]")
    done, path = crane(planar + TORQUES, "lift")
    assert done.code == 0, done.err
    content = ResultFile(path)
    with h5py.File(path) as file:
        names = file["coordinates/name"].asstr()[()].tolist()
        by_velocity, by_position = (file[f"sensitivity/torque/{kind}"][()] for kind in ("velocity", "position"))
    track, swing = names.index("track.displacement"), names.index("-swing.angle")
    found = content.sensitivity("track.displacement.torque", "swing.angle.velocity")
    assert found.unit == "N/(rad/s)" and found.values.any()
    np.testing.assert_array_equal(found.values[:, 0], -by_velocity[:, track, swing])
    found = content.sensitivity("swing.angle.torque", "swing.angle")
    np.testing.assert_array_equal(found.values[:, 0], by_position[:, swing, swing])
    drawn = mbsim("plot", "lift.h5", "--by", "swing.angle,m", "--json").json["histories"]
    assert drawn[::2] == [f"∂{name.removeprefix('-')}.torque/∂swing.angle" for name in names]
    listed = mbsim("plot", "lift.h5", "--list", "--json").json["results"]["lift.h5"]["coordinates"]
    assert len(listed) == 12 and "track.displacement.acceleration" in listed
    for by, words in (("swing.angle", "torques alone"), ("swing.angel", "did you mean 'swing.angle")):
        refused = mbsim("plot", "lift.h5", "tau", "--by", by)
        assert refused.code == 2 and words in refused.err


def test_of_multipliers(crane):
    done, path = crane(
        CRANE.replace("5}, rod", "5}, stone: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}, rod") + ROWS, "rows"
    )
    assert done.code == 0, done.err
    assert_units(path)
    with h5py.File(path) as file:
        names = file["constraint"].asstr()[()].tolist()
        units = dict(zip(names, file["units/multipliers/lambda"].asstr()[()], strict=True))
        assert units["drive"] == "N m" and units["rack"] == "N"
        assert file["sensors/M"].attrs["unit"] == "N m" and file["sensors/F"].attrs["unit"] == "N"
        impulses = dict(zip(names, file["units/multipliers/sigma"].asstr()[()], strict=True))
        assert impulses["drive"] == "N m s"
    assert ResultFile(path).entries["rack.kappa"].unit == "N"


def test_a_unit_that_is_not_stated_gives_none_to_a_gradient():
    assert quotient("", "m") == quotient("m", "") == "" and quotient("m", "1") == "m" and quotient("1", "m") == "1/m"


def test_bounds_and_overrides_are_said(mbsim, tmp_path):
    (tmp_path / "lift.yaml").write_text(CRANE + TORQUES)
    info = mbsim("info", "lift.yaml", "-p", "m=2.5", "--json").json
    assert info["overrides"] == {"m": "2.5"}
    assert [(p["name"], p["value"], p["bounds"]) for p in info["parameters"]] == [("m", 2.5, [1, 3]), ("L", 0.7, None)]
    assert "1 to 3" in mbsim("info", "lift.yaml").out
    run = mbsim("run", "lift.yaml", "-p", "m=2.5", "--json", "--quiet").json
    assert run["overrides"] == {"m": "2.5"}
    assert run["parameters"]["m"] == {"value": 2.5, "unit": "kg", "bounds": [1, 3]}
    kept = mbsim("inspect", "lift.h5", "--json").json
    assert kept["overrides"] == {"m": "2.5"} and kept["parameters"] == run["parameters"]
    with h5py.File(tmp_path / "lift.h5") as file:
        np.testing.assert_array_equal(file["parameters/bounds"], [[1, 3], [np.nan, np.nan]])
