"""What the seconds of a run are spent on."""

import gc
from time import perf_counter, sleep

import pytest

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.entry import Entry
from mbsim_cli.study import recording
from mbsim_cli.study.timing import Timing


def test_a_phase_inside_another_counts_once():
    timing = Timing()
    start = perf_counter()
    with timing.phase("solve"):
        with timing.phase("write"):
            sleep(0.02)
        with timing.phase("write"):
            sleep(0.01)
    with timing.phase("load", start):
        pass
    assert timing.write == pytest.approx(0.03, abs=0.02) and timing.solve < 0.01
    assert timing.load >= timing.write
    timing.move(1.0, "load", "compile")
    assert timing.compile == 1.0 and timing.load < 0.0


def test_phases_are_the_whole_command(mbsim, pendulum):
    mbsim("run", pendulum, "--quiet")
    start = perf_counter()
    done = mbsim("run", pendulum, "--json", "--quiet")
    wall, spent = perf_counter() - start, sum(done.json["timing"].values())
    assert 0.8 * wall - 0.05 < spent <= wall
    assert min(done.json["timing"].values()) >= 0.0


def test_expressions_are_compiled_before_solving(mbsim, pendulum, monkeypatch):
    honest, compiled = recording.run, []

    def run(plan, *arguments):
        compiled.extend("integrand" in vars(objective) for objective in plan.assembled.objectives)
        return honest(plan, *arguments)

    monkeypatch.setattr(recording, "run", run)
    assert mbsim("run", pendulum, "--quiet").code == 0
    assert compiled == [True]


@pytest.mark.skipif(COMPILER != "linking", reason="others keep no forms")
def test_all_kernels_are_loaded_before_solving(mbsim, pendulum, monkeypatch):
    honest, load, loaded, within = recording.run, Entry._load, [], []

    def run(*arguments):
        within.append(True)
        outcome = honest(*arguments)
        within.clear()
        return outcome

    def noted(self, *arguments):
        loaded.append((self.__name__, bool(within)))
        return load(self, *arguments)

    mbsim("run", pendulum, "--quiet")
    for made in [made for made in gc.get_objects() if type(made) is Entry]:
        monkeypatch.setattr(made, "_forms", {})
    monkeypatch.setattr(recording, "run", run)
    monkeypatch.setattr(Entry, "_load", noted)
    assert mbsim("run", pendulum, "--quiet", "--force").code == 0
    assert ("run", False) in loaded and ("run", True) not in loaded and not any(late for _, late in loaded)
