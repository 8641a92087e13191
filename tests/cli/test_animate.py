"""``mbsim animate``: as many frames as the time takes, from the result alone."""

import signal
import sys

import numpy as np
import pytest
from PIL import Image

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.scene import moving_scene
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.results import ResultFile
from mbsim_cli.study.pictures.motion import RunFilm
from tests.assembly.test_scene import natural_coordinates

from .conftest import ROOT
from .test_interruption import stop


@pytest.fixture
def animate(mbsim, fivebar):
    """Animate the five-bar's result, small, with ``--json``."""

    def call(*arguments):
        done = mbsim("animate", fivebar, "--size", "160x120", *arguments, "--json")
        assert done.code == 0, done.out
        return done.json

    return call


@pytest.mark.parametrize(
    "arguments, frames, duration",
    [((), 13, 40), (("--fps", "10"), 6, 100), (("--fps", "20", "--speed", "0.5"), 21, 50), (("--speed", "5"), 3, 40)],
)
def test_frames(animate, tmp_path, arguments, frames, duration):
    report = animate(*arguments)
    assert report["frames"] == frames and report["start"] == 0.0 and report["output"] == "fivebar.gif"
    with Image.open(tmp_path / "fivebar.gif") as image:
        assert (image.n_frames, image.info["duration"], image.size) == (frames, duration, (160, 120))


def test_a_motion_shorter_than_a_frame_is_said(mbsim, pendulum):
    assert mbsim("run", pendulum, "--duration", "0.02", "--sensitivity", "none", "--quiet").code == 0
    film = "animate", "pendulum.h5", "--size", "64x64"
    done = mbsim(*film)
    assert "1 frame, 0 to 0 s" in done.out and "the motion takes 0.02 s, less than a frame does" in done.err
    assert "less than a frame" not in mbsim(*film, "--speed", "0.1").err


@pytest.mark.parametrize(
    "arguments",
    [("--view", "xz"), ("--view", "-60,20", "--follow", "bar_23"), ("--trace", "bar_12.P2", "--trace", "bar_A1.P1")],
)
def test_views(animate, arguments):
    assert animate(*arguments, "--fps", "4")["frames"] == 3


@pytest.mark.slow  # kernels of bodies that deform
def test_places_on_bodies_that_deform(mbsim):
    model = ROOT / "models/flexible/pendulum.yaml"
    assert mbsim("run", model, "--duration", "1e-3", "--sensitivity", "none").code == 0
    assert mbsim("animate", "pendulum.h5", "--trace", "plate.end", "--follow", "plate").code == 0
    done = mbsim("animate", "pendulum.h5", "--follow", "plate:end")
    assert (
        done.code == 2 and done.err == "mbsim: --follow: there is no body 'plate:end'; did you mean 'plate'? [MB301]\n"
    )


def test_the_result_alone_is_enough(mbsim, variant, tmp_path):
    """The model may be gone, with the file that it includes; overrides are as they were."""
    (tmp_path / "parts").mkdir()
    variant("checks:", "checks:", "parts/base.yaml")
    (tmp_path / "top.yaml").write_text("mbsim: 1\ninclude: [parts/base.yaml]\nname: Top\n")
    assert mbsim("run", "top.yaml", "-p", "L=2", "--quiet").code == 0
    for path in (tmp_path / "parts/base.yaml", tmp_path / "top.yaml"):
        path.unlink()
    assert mbsim("animate", "top.h5", "--fps", "4", "--trace", "rod.O").code == 0


def test_natural_coordinates_make_the_same_film(fivebar):
    """The result of the five-bar, as a run in natural coordinates would have written it."""
    model, content = spec.load(ROOT / "models/fivebar.yaml"), ResultFile(fivebar)
    moving, system = moving_scene(model), build(model, formulation="ali3p-natural").problem.system
    wanted, stored = RunFilm(content, speed=1.0, fps=50.0).positions, content.motion()[0]
    content.coordinates = list(system.coordinate_names)
    content.motion = lambda: [np.array([natural_coordinates(moving, system, z) for z in stored])]
    np.testing.assert_allclose(RunFilm(content, speed=1.0, fps=50.0).positions, wanted, atol=1e-6)
    content.coordinates = ["a", "b"]
    with pytest.raises(InputOutputError, match="are not those of the model"):
        RunFilm(content, speed=1.0, fps=50.0)


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("--follow", "bar_24"), "did you mean 'bar_23'?"),
        (("--trace", "bar_12.P9"), "did you mean 'bar_12.P2'?"),
        (("--view", "top"), "--view must be"),
        (("--size", "2x2"), "--size must be"),
        (("--size", "640"), "--size must be"),
        (("--speed", "0"), "--speed must be"),
        (("--fps", "0"), "--fps"),
        (("-o", "a.png"), ".gif, .mp4"),
    ],
)
def test_wrong_usage(mbsim, fivebar, tmp_path, arguments, word):
    done = mbsim("animate", fivebar, *arguments)
    assert done.code == 2 and word in done.err and not list(tmp_path.iterdir())


def test_without_ffmpeg(mbsim, fivebar, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    done = mbsim("animate", fivebar, "-o", "a.mp4")
    assert done.code == 2 and "ffmpeg" in done.err and not list(tmp_path.iterdir())


def test_interrupted_it_leaves_nothing(fivebar, tmp_path):
    def drawing():
        return any(tmp_path.glob(".fivebar.gif.*.tmp"))

    run, _, err = stop(["animate", str(fivebar), "--speed", "0.001"], tmp_path, signal.SIGINT, drawing)
    assert run.returncode == 130 and err.strip() == "mbsim: interrupted" and not list(tmp_path.iterdir())
