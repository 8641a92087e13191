"""``mbsim --help`` is quick and loads nothing heavy."""

import re
import resource
import subprocess
import sys

import pytest

from mbsim_cli.system import VARIABLES

from .conftest import COMMAND, ROOT, environment

HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "h5py",
    "yaml",
    "rich",
    "matplotlib",
    "PIL",
)  # typer itself may use pydantic
SCRIPT = """
import sys
from mbsim_cli.cli import outcome
code = outcome.call({arguments!r})
heavy = [name for name in {heavy!r} if name in sys.modules]
print(code, *heavy, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["check", "--help"],
        ["plot", "--help"],
        ["animate", "--help"],
        ["report", "--help"],
        ["view", "--help"],
        ["export", "--help"],
        ["--version"],
    ],
)
def test_help_imports_nothing_heavy(arguments):
    script = SCRIPT.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["0"], done.stderr


@pytest.mark.parametrize("module", ["mbsim_cli", "mbsim_cli.cli.app"])
def test_modules_are_the_command(module):
    command = [sys.executable, "-m", module, "--version"]
    assert subprocess.run(command, env=environment(), capture_output=True, text=True).stdout.startswith("mbsim ")


# modules of classes that few model files need
FAMILIES = set(re.findall(r'later\("(\w+)', (ROOT / "mbsim_cli/spec/families.py").read_text()))


@pytest.mark.parametrize(
    ("model", "most", "unneeded"),
    [
        (
            "fivebar",
            215,
            (
                *("open_trees", "mbsim_cli.reduction", "concurrent.futures", "numpy.ma.", "numpy.random", "rich"),
                *(f"mbsim_cli.spec.{family}" for family in FAMILIES - {"studies"}),
            ),
        ),
        (
            "human43",
            230,
            (
                *("open_trees", "mbsim_cli.reduction", "numpy.ma."),
                *(f"mbsim_cli.spec.{family}" for family in FAMILIES - {"laws", "joint_tables"}),
            ),
        ),
    ],
)
def test_a_run_imports_what_it_needs(tmp_path, model, most, unneeded):
    arguments = ["run", str(ROOT / "models" / f"{model}.yaml"), "-o", str(tmp_path / "r.h5"), "--force", "-q"]
    script = f"""
import sys
from mbsim_cli.cli import outcome
code = outcome.call({arguments!r})
own = [name for name in sys.modules if name.partition(".")[0] == "mbsim_cli"]
others = [name for name in sys.modules if any(part in name for part in {unneeded!r})]
print(code, len(own), *others, file=sys.stderr)
"""
    for _ in range(2):  # the first one may compile
        done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True)
    code, count, *others = done.stderr.splitlines()[-1].split()
    assert code == "0" and not others and int(count) <= most


FIRST_IMPORT = """
import os, sys
from mbsim_cli.cli import outcome
from mbsim_cli.system import VARIABLES

class Witness:
    def find_spec(self, name, *given):
        if name == "numpy":
            print(*(os.environ.get(each) for each in VARIABLES), file=sys.stderr)

sys.meta_path.insert(0, Witness())
outcome.call({arguments!r})
"""


@pytest.mark.parametrize("options, threads", [([], "1"), (["--threads", "2", "--memory", "1MB"], "2")])
def test_threads_are_limited_before_the_libraries_read_it(tmp_path, options, threads):
    """They start theirs when they are loaded, as many as there are processors: that takes longer than the run."""
    arguments = ["run", str(tmp_path / "none.yaml"), "-q", *options]
    free = {name: value for name, value in environment().items() if name not in VARIABLES}
    script = FIRST_IMPORT.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", script], env=free, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[0].split() == [threads] * len(VARIABLES), done.stderr


@pytest.mark.parametrize("group", [[], ["sweep"]])
def test_help_tells_each_command_in_a_whole_sentence(group):
    """Where lines are as short as those of an old terminal, too."""
    done = subprocess.run([*COMMAND, *group, "--help"], env=environment(COLUMNS="80"), capture_output=True, text=True)
    listed = done.stdout.partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 5 and all(line.endswith(".") and not line.endswith("...") for line in listed), listed


def test_help_is_quick():
    """In seconds of the processor, which a busy machine does not stretch much."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(5):
        start = spent()
        subprocess.run([*COMMAND, "--help"], env=environment(), stdout=subprocess.DEVNULL, check=True)
        times.append(spent() - start)
    assert min(times) < 0.3, times


ENDING = """
import atexit, gc, sys
from mbsim_cli.cli import app

class Witness:
    def __del__(self):
        print("taken apart")

witness = Witness()
before = sum(of["collections"] for of in gc.get_stats())
atexit.register(lambda: print("told,", sum(of["collections"] for of in gc.get_stats()) - before, "collections"))
sys.argv = ["mbsim", *{arguments!r}]
{watch}
try:
    app.main()
finally:
    print("left as Python does")
"""


@pytest.mark.parametrize(
    "arguments, code", [(["validate", "models/buggy.yaml", "-q"], 0), (["run", "nothing.yaml"], 5)]
)
def test_a_command_ends_at_once_and_collects_no_garbage(arguments, code):
    done = _ending(arguments)
    assert (done.returncode, done.stdout) == (code, "told, 0 collections\n")


def test_who_watches_sees_the_interpreters_own_end():
    done = _ending(["--version"], "sys.setprofile(lambda *event: None)")
    assert done.returncode == 0 and done.stdout.endswith("left as Python does\ntold, 0 collections\n")


def _ending(arguments, watch=""):
    script = ENDING.format(arguments=arguments, watch=watch)
    command = [sys.executable, "-u", "-c", script]
    return subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True)


def test_a_run_imports_only_what_it_uses(tmp_path):
    """Each of these takes longer to import than the analysis takes; only compiling needs them."""
    unused = ("scipy.sparse", "scipy.linalg", "scipy.interpolate", "sympy", "rich", "matplotlib", "xarray", "unittest")
    arguments = ["run", str(ROOT / "models/robots/puma560.yaml"), "--json", "-o", str(tmp_path / "puma.h5")]
    script = SCRIPT.format(arguments=arguments, heavy=unused)
    for _ in range(2):  # the first may be one that compiles
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
        if "compiling" not in done.stderr:
            break
    assert done.stderr.splitlines()[-1] == "0", done.stderr
