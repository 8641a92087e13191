"""What is recorded and no finite number is announced: which quantity, how often, from when on."""

import h5py
import numpy as np

from mbsim_cli.study.diagnostics.steps import FiniteHealth
from tests.io import fakes

TOUCHING = "sensors: {touching: {type: distance, points: [ground.O, rod.O]}, angle"


def test_a_distance_of_nothing(mbsim, variant):
    done = mbsim("run", variant("sensors: {angle", TOUCHING), "--json")
    (warning,) = (warning for warning in done.json["warnings"] if "finite" in warning)
    assert warning.startswith("the derivative of sensor touching is not finite at 51 time points, first at t = 0 s; ")
    assert done.code == 0
    with h5py.File("variant.h5") as file:
        assert np.isnan(file["sensitivity/sensors/touching"][()]).all()
        assert warning.encode() in list(file["meta/warnings"][()])


def test_nothing_is_said_where_all_is_finite(mbsim, pendulum):
    assert not [warning for warning in mbsim("run", pendulum, "--json").json["warnings"] if "finite" in warning]


def test_every_quantity_is_watched():
    block = fakes.block(0, 9)
    for number, (name, values) in enumerate(block._asdict().items()):
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or name == "gradient_error":
            continue
        watch, spoilt = FiniteHealth({"a": slice(0, 3), "b": slice(3, 4)}), values.copy()
        spoilt.reshape(9, -1)[3:5, 0] = (np.nan, -np.inf)[number % 2]
        if name == "time":
            continue
        watch.add(block)
        assert not watch.warnings
        watch.add(block._replace(**{name: spoilt}))
        (sentence,) = watch.warnings
        assert "2 time points, first at t = 0.03 s" in sentence, name
        assert ("sensor a" in sentence) == ("sensors" in name)


def test_what_lies_between_rows_is_no_quantity():
    block, room = fakes.block(0, 9), np.full((9, 4, 8), np.nan)
    derivatives = room[:, :, :2]
    derivatives[:] = 1.0
    watch = FiniteHealth({"a": slice(0, 4)})
    watch.add(block._replace(d_sensors=derivatives))
    assert not watch.warnings
    derivatives[-1, -1, -1] = np.inf
    watch.add(block._replace(d_sensors=derivatives))
    (sentence,) = watch.warnings
    assert "the derivative of sensor a is not finite at 1 time point," in sentence


def test_large_numbers_are_finite_and_warn_nobody():
    """Their squares overflow; and so may those of what lies between rows."""
    block, room = fakes.block(0, 9), np.full((9, 4, 8), 1e200)
    watch = FiniteHealth({"a": slice(0, 4)})
    with np.errstate(all="raise"):
        for derivatives in (room, room[:, :, :2]):
            watch.add(block._replace(d_sensors=derivatives))
    assert not watch.warnings


def test_what_is_no_number_by_intent_is_not_told_twice():
    block, watch = fakes.block(0, 9), FiniteHealth({"a": slice(0, 3), "b": slice(3, 4)})
    mask = np.tile([True, True, True, False], (9, 1))
    spoilt = {"sensors": np.full((9, 4), np.nan), "d_sensors": np.full((9, 4, 2), np.nan)}
    watch.add(block._replace(undetermined=mask, **spoilt))
    assert [sentence.split(" is")[0] for sentence in watch.warnings] == ["sensor b", "the derivative of sensor b"]
