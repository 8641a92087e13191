"""Pages in a browser: they load from a file without an error, the time moves the view, sliders move charts."""

import io

import numpy as np
import pytest
from PIL import Image

from mbsim_cli.cli import outcome
from tests.cli.conftest import fivebar, springs  # noqa: F401
from tests.report.browser import Browser, program

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(program() is None, reason="there is no chromium (apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


SLIDE = "{ const s = document.querySelector('%s'); s.value = %s; s.dispatchEvent(new Event('input')); }"
PRESS = "[...document.querySelectorAll('button')].find((b) => b.textContent === '%s').click()"


def written(source, path):
    assert outcome.call(["report", str(source), "-o", str(path), "--quiet", "--force"]) == 0
    return path


def seen(browser):
    """The view as an array (height, width, 3)."""
    left, top, wide, high = map(round, browser.box(".view"))
    with Image.open(io.BytesIO(browser.picture())) as image:
        return np.asarray(image.convert("RGB").crop((left, top, left + wide, top + high))).astype(int)


def coloured(pixels):
    """Mask of pixels that differ from the background in colour, not in brightness alone."""
    return np.ptp(pixels, axis=2) > 40


@pytest.fixture(scope="module")
def mechanism(browser, fivebar, tmp_path_factory):  # noqa: F811
    browser.open(written(fivebar, tmp_path_factory.mktemp("pages") / "fivebar.html"))
    return browser


def test_it_loads_from_a_file_without_an_error_or_a_request(mechanism):
    assert mechanism.errors == [] and len(mechanism.asked) == 1 and mechanism.asked[0].startswith("file://")
    assert mechanism.evaluate("document.querySelectorAll('.chart[data-history]').length") == 3


def test_the_mechanism_is_in_the_picture(mechanism):
    """Bars of several colours, within the frame, and not all over it."""
    pixels = seen(mechanism)
    mask = coloured(pixels)
    assert 0.01 < mask.mean() < 0.3
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    height, width = mask.shape
    assert rows[0] > 2 and rows[-1] < height - 3 and columns[0] > 2 and columns[-1] < width - 3
    assert rows[-1] - rows[0] > 0.5 * height
    blue, green = (pixels[..., 2] - pixels[..., 0] > 60), (pixels[..., 1] - pixels[..., 0] > 60)
    assert blue.sum() > 300 and green.sum() > 300


def test_the_time_moves_view_and_cursors(mechanism):
    mechanism.evaluate("mbsim.moveTo(0)")
    assert "e−1" not in mechanism.evaluate("document.querySelector('.columns').textContent")  # round-off is zero
    before = seen(mechanism)
    cursor = "document.querySelector('.chart[data-history] .cursor').getAttribute('x1')"
    start = float(mechanism.evaluate(cursor))
    x, y, wide, _ = mechanism.box(".chart[data-history] svg")
    mechanism.drag((x + 0.3 * wide, y + 60), (x + 0.8 * wide, y + 60))
    assert float(mechanism.evaluate(cursor)) == pytest.approx(0.8 * 640, abs=4) and start < 100
    assert "t = 0.3" in mechanism.evaluate("document.querySelector('.clock').textContent")
    assert np.abs(seen(mechanism) - before).max(axis=2).mean() > 0.5
    mechanism.evaluate(SLIDE % ("input[aria-label=Time]", 0.1))
    assert mechanism.evaluate("document.querySelector('.clock').textContent") == "t = 0.100 s"


def test_it_plays_to_the_end(mechanism):
    mechanism.evaluate("mbsim.moveTo(0.3); document.querySelector('.play').click()")
    mechanism.wait("document.querySelector('.clock').textContent === 't = 0.500 s'")
    assert "Play" in mechanism.evaluate("document.querySelector('.play').textContent")


def test_the_view_turns(mechanism):
    mechanism.evaluate("mbsim.moveTo(0)")
    before = seen(mechanism)
    x, y, _, _ = mechanism.box(".view")
    mechanism.drag((x + 200, y + 200), (x + 320, y + 240))
    assert (np.abs(seen(mechanism) - before).max(axis=2) > 20).mean() > 0.01
    mechanism.evaluate(PRESS % "Home")
    np.testing.assert_array_equal(seen(mechanism), before)


def test_sliders_move_histories_and_objectives_by_first_order(mechanism):
    mechanism.evaluate(SLIDE % ("input[data-parameter=L_A1]", 1.5))
    told = """(() => {
      const named = (list, name) => list.findIndex((each) => each.name === name);
      const entry = [...document.querySelectorAll('td')].find((cell) => cell.textContent === 'psi1');
      const one = data.objectives[named(data.objectives, 'psi1')], p = named(data.parameters, 'L_A1');
      return [parseFloat(entry.nextSibling.nextSibling.textContent.replace('−', '-')),
              one.value + (1.5 - data.parameters[p].value) * one.gradient[p],
              document.querySelectorAll('.predicted').length];
    })()"""
    shown, expected, lines = mechanism.evaluate(told)
    assert shown == pytest.approx(expected, rel=1e-4) and lines == 6
    mechanism.evaluate(PRESS % "Back to the run")
    assert mechanism.evaluate("document.querySelectorAll('.predicted').length") == 0
    assert mechanism.errors == []


def test_a_study_is_chosen_from_by_an_axis(browser, springs, tmp_path):  # noqa: F811
    browser.open(written(springs, tmp_path / "study.html"))
    x, top, wide, tall = browser.box("[data-axis=L_s1]")
    browser.drag((x + wide / 2, top + 0.4 * tall), (x + wide / 2, top + 0.6 * tall))
    assert "2 of 6 cases chosen" in browser.evaluate("document.querySelector('.bar').textContent")
    assert browser.errors == []


def test_texts_of_a_model_run_nothing(browser, tmp_path):
    from mbsim_cli.report.page import page

    evil = "</script><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    path = tmp_path / "evil.html"
    path.write_text(page({"kind": "error", "title": evil, "errors": [evil]}, evil))
    browser.open(path)
    assert browser.evaluate("document.querySelector('h1').textContent") == evil
    assert browser.evaluate("document.title") == evil and browser.evaluate("document.images.length") == 0


def test_a_model_is_reloaded_when_its_file_changes(browser, tmp_path):
    import subprocess

    from tests.cli.conftest import COMMAND, PENDULUM, environment, ordinary_signals

    model = tmp_path / "pendulum.yaml"
    model.write_text(PENDULUM)
    command = [*COMMAND, "view", str(model), "--live", "--no-browser"]
    server = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, text=True, preexec_fn=ordinary_signals
    )
    try:
        browser.open(server.stdout.readline().strip())
        assert browser.evaluate("document.querySelector('h1').textContent") == "Pendulum"
        model.write_text(PENDULUM.replace("name: Pendulum", "name: [1]"))
        browser.wait("document.body?.textContent.includes('cannot be shown as it stands')")
        model.write_text(PENDULUM.replace("name: Pendulum", "name: Swing"))
        browser.wait("document.querySelector('h1')?.textContent === 'Swing'")
    finally:
        server.kill()
        server.wait()
