"""Doubts about what is valid: degrees where radians stand, parameters that nothing reads."""

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.doubts import doubts_of
from tests.spec.example import VALID, variant, write

ARM = """\
mbsim: 1
parameters: {tilt: {value: 20, unit: rad}}
dh: {arm: {rows: {hip: {alpha: 90, theta: tilt}, knee: {alpha: 2*pi, initial: {angle: -30}}}}}
forces: {stop: {type: bump_stop, coordinate: knee.angle, maximum: 100, stiffness: 10}}
"""


def _doubts(folder, text):
    return [doubt.replace(f"{folder}/", "") for doubt in doubts_of(spec.load(write(folder, text)))]


def test_there_are_none(tmp_path):
    assert _doubts(tmp_path, VALID) == []


def test_degrees_without_their_unit(tmp_path):
    assert _doubts(tmp_path, ARM) == [
        "model.yaml:2:28: parameters.tilt.value: 20 rad are 3.18 turns; degrees are written 20 deg",
        "model.yaml:3:32: dh.arm.rows.hip.alpha: 90 rad are 14.3 turns; degrees are written 90 deg",
        "model.yaml:3:87: dh.arm.rows.knee.initial.angle: -30 rad are 4.77 turns; degrees are written -30 deg",
        "model.yaml:4:67: forces.stop.maximum: 100 rad are 15.9 turns; degrees are written 100 deg",
    ]


@pytest.mark.parametrize("read", ["checks: {a: {objective: psi, value: k}}", "study: {a: {grid: {k: [1, 2]}}}", ""])
def test_parameters_that_nothing_reads(tmp_path, read):
    text = variant("  m: 1.5\n", "  m: 1.5\n  k: 3\n").replace("checks:", "x-a:") + read
    assert _doubts(tmp_path, text) == [
        "model.yaml:8:3: parameters.k: nothing reads this parameter; gradients by it are zero"
    ]
