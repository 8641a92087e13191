"""Runs that come to no end: what was computed is kept, be it the start alone, and interruption does not wait."""

import itertools

import h5py
import numpy as np
import pytest

from mbsim_cli.cli import signals
from mbsim_cli.cli.output import Terminal

BLOW = """\
mbsim: 1
bodies: {a: {mass: 1}}
vectors: {x: {all: [1, 0, 0]}}
joints: {slide: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
forces: {blow: {type: drive, coordinate: slide.displacement, law: {type: polynomial, coefficients: [1, 0, 1e300]}}}
sensors: {x: {type: coordinate, coordinate: slide.displacement}}
objectives: {end: {final: x}}
analysis: {type: forward_dynamics, formulation: FORMULATION, step: 1e3, duration: 1e7}
"""
STIFF = """\
mbsim: 1
points: {O: {ground: [0, 0, 0], rod: [0, 0, 0]}}
vectors: {z: {all: [0, 0, 1]}}
bodies: {rod: {shape: {type: rod, length: 1, mass: 3}}}
joints: {A: {type: revolute, bodies: [ground, rod], point: O, axis: z, initial: {angle: 1}}}
forces: {spring: {type: rotational_spring_damper, coordinate: A.angle, stiffness: 1e12, damping: 1, natural_angle: 0}}
sensors: {angle: {type: coordinate, coordinate: A.angle}}
objectives: {swing: {integral: angle}}
analysis: {type: forward_dynamics, formulation: recursive, step: 5, duration: 10, max_steps: MOST}
"""


def assert_start_is_kept(path, name):
    with h5py.File(path) as file:
        assert file["time"][()].tolist() == [0.0] and file.attrs["status"] == "partial"
        assert np.isfinite(file[f"sensors/{name}"]).all()


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
def test_a_first_step_that_fails_leaves_the_start(mbsim, tmp_path, formulation):
    (tmp_path / "m.yaml").write_text(BLOW.replace("FORMULATION", formulation))
    done = mbsim("run", "m.yaml", "--json")
    assert done.code == 4 and "slide.displacement" in done.json["message"]
    assert done.json["partial"].endswith("m.h5.partial")
    assert_start_is_kept(tmp_path / "m.h5.partial", "x")


def test_however_long_a_run_steps_are_limited(mbsim, tmp_path):
    (tmp_path / "m.yaml").write_text(STIFF.replace("MOST", "2000"))
    done = mbsim("run", "m.yaml", "--duration", "1e5", "--json")
    assert done.code == 4 and "all 2 000 steps that max_steps allows were tried before t = " in done.json["message"]
    assert "the error is largest in 'A.angle'" in done.json["message"] and "esdirk" in done.json["message"]
    assert_start_is_kept(tmp_path / "m.h5.partial", "angle")


def test_interruption_does_not_wait_for_the_next_instant(mbsim, tmp_path, monkeypatch):
    (tmp_path / "m.yaml").write_text(STIFF.replace("MOST", "100000"))
    polls = itertools.count()

    def terminated(self):
        if next(polls) == 9:  # two are before the first step, and the next instant is never reached
            raise signals.Stopped(15)

    monkeypatch.setattr(Terminal, "poll", terminated)
    done = mbsim("run", "m.yaml")
    assert done.code == 143 and next(polls) == 10, done.err
    assert_start_is_kept(tmp_path / "m.h5.partial", "angle")
