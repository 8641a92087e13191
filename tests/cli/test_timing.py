"""What the seconds of a run are spent on."""

import gc

import pytest

from mbsim_cli.cli import options, outcome
from mbsim_cli.io.writer import ResultWriter
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.study import plan as _timing
from mbsim_cli.study import recording, run
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.plan import Plan, Timing


class Clock:
    """Stands still but while something is done that takes time."""

    def __init__(self, monkeypatch, *readers):
        self.now = 0.0
        for module in readers:
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)

    def taking(self, seconds, work=lambda: None):
        """What does the work in so many seconds."""

        def timed(*arguments, **named):
            self.now += seconds
            return work(*arguments, **named)

        return timed


def test_a_phase_inside_another_counts_once(monkeypatch):
    clock, timing = Clock(monkeypatch, _timing), Timing()
    with timing.phase("solve"):
        clock.taking(1.0)()
        for _ in range(2):
            with timing.phase("write"):
                clock.taking(8.0)()
    with timing.phase("load", 0.0):
        clock.taking(2.0)()
    assert timing == Timing(load=19.0, solve=1.0, write=16.0)


def test_a_second_command_of_a_process_counts_its_own_time_alone(monkeypatch):
    """The first one counts the start of the process, too."""
    seconds = iter([3.0, 10.0, 12.5])
    monkeypatch.setattr(outcome, "process_time", lambda: next(seconds))
    monkeypatch.setattr(outcome, "_start", None)
    counted = []
    monkeypatch.setattr(outcome, "_run", lambda *_: counted.append(outcome.processor_time()) or 0)
    assert [outcome.call([]), outcome.call([])] == [0, 0]
    assert counted == [3.0, 2.5]


def test_phases_are_the_whole_command(mbsim, pendulum, monkeypatch):
    clock = Clock(monkeypatch, _timing, options)
    monkeypatch.setattr(options, "processor_time", lambda: 5.0)  # of the interpreter and its imports
    phases = {
        "load": [(recording, "load"), (recording, "plan_run")],
        "compile": [(Plan, "compile")],
        "write": [(ResultWriter, "__init__"), (ResultWriter, "append"), (ResultWriter, "findings")],
    }
    for seconds, works in zip((1.0, 10.0, 1000.0), phases.values(), strict=True):
        for home, name in works:
            monkeypatch.setattr(home, name, clock.taking(seconds, getattr(home, name)))
    runs = iter([clock.taking(100.0, run.evaluate), clock.taking(1e4, run.evaluate)])  # the motion; its estimate
    for home in (run, discretisation):
        monkeypatch.setattr(home, "evaluate", lambda *given, **named: next(runs)(*given, **named))
    found = mbsim("run", pendulum, "--json", "--quiet").json["timing"]
    spent = {"load": 7.0, "compile": 10.0, "solve": 100.0, "estimate": 1e4}
    assert found == spent | {"write": clock.now - 10112.0} and clock.now >= 13112.0


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
    honest, load, loaded, within = recording.run, entry._load, [], []

    def run(*arguments):
        within.append(True)
        outcome = honest(*arguments)
        within.clear()
        return outcome

    def noted(self, *arguments):
        loaded.append((self.__name__, bool(within)))
        return load(self, *arguments)

    mbsim("run", pendulum, "--quiet")
    for made in [made for made in gc.get_objects() if type(made) is entry]:
        monkeypatch.setattr(made, "_forms", {})
    monkeypatch.setattr(recording, "run", run)
    monkeypatch.setattr(entry, "_load", noted)
    assert mbsim("run", pendulum, "--quiet", "--force").code == 0
    assert ("run", False) in loaded and ("run", True) not in loaded and not any(late for _, late in loaded)
