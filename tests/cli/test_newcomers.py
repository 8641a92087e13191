"""The first ten minutes: a bare command, templates, explanations and completion at a shell."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.cli.explain import explain, places
from mbsim_cli.cli.init import TEMPLATES, template
from mbsim_cli.cli.outcome import call
from mbsim_cli.spec.schema import written_out

from .conftest import COMMAND, ROOT, environment


def test_bare_command_says_what_it_is_and_how_to_begin(mbsim):
    done = mbsim()
    assert done.code == 0 and done.out.splitlines()[-1] == "To begin: mbsim init fivebar", done
    assert len(done.out.splitlines()) == 3 and not done.err


def test_init_lists_and_writes(mbsim, tmp_path):
    assert list(mbsim("init", "--json").json["templates"]) == list(TEMPLATES)
    assert "quarter_car" in mbsim("init", "--list").out
    done = mbsim("init", "pendulum")
    assert done.code == 0 and "next: mbsim run pendulum.yaml" in done.out
    again = mbsim("init", "pendulum")
    assert again.code == 5 and "pendulum.yaml exists; --force overwrites it" in again.err
    assert mbsim("init", "pendulum", "--force").code == 0
    assert mbsim("init", "fivebar", "mine.yaml", "--json").json["next"] == "mbsim run mine.yaml"
    assert (tmp_path / "mine.yaml").read_text() == template("fivebar")
    wrong = mbsim("init", "pendulm")
    assert wrong.code == 2 and "did you mean 'pendulum'?" in wrong.err
    assert mbsim("init", "pendulum", "no/folder.yaml").code == 5
    missing = mbsim("init", "pendulum", "new/")
    assert missing.code == 2 and "new has no ending; write new.yaml" in missing.err and not (tmp_path / "new").exists()
    (tmp_path / "v1.0").mkdir()
    for folder, file in ((".", "pendulum.yaml"), ("v1.0", "v1.0/pendulum.yaml")):
        there = mbsim("init", "pendulum", folder)
        assert there.code == 2 and f"{folder} is a folder; write {file}" in there.err
    assert "unknown template" in mbsim("init", "mine.yaml", "pendulum").err
    (tmp_path / "fit.csv").write_text("mine")
    taken = mbsim("init", "fit")
    assert taken.code == 5 and "fit.csv exists" in taken.err and not (tmp_path / "fit.yaml").exists()


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_is_a_valid_model(name, tmp_path, capsys):
    path = tmp_path / f"{name}.yaml"
    assert call(["init", name, str(path)]) == call(["validate", str(path)]) == 0
    assert not capsys.readouterr().err  # no warning either
    model = spec.load(path)
    assert model.objectives and model.analysis.sensitivity.method != "none"


def test_a_template_runs_as_it_stands(mbsim):
    mbsim("init", "pendulum")
    report = mbsim("run", "pendulum.yaml", "--json").json
    assert report["objectives"]["travel"]["gradient"]["L"] == pytest.approx(6.2172901, rel=1e-6)
    assert mbsim("check", "pendulum.yaml").code == 0


def test_the_fit_finds_what_made_its_readings(mbsim, tmp_path):
    """Length 0.4 m, friction 0.03 N m s/rad, a start at 40 and a zero at 1.5 degrees, with noise of 0.3 degrees."""
    (tmp_path / "lab").mkdir()
    done = mbsim("init", "fit", "lab/mine.yaml")
    assert "next: mbsim fit lab/mine.yaml" in done.out and (tmp_path / "lab" / "fit.csv").exists()
    found = mbsim("fit", "lab/mine.yaml", "--json").json["fit"]["parameters"]
    for name, value in {"L": 0.4, "c": 0.03, "start": 0.698132, "zero": 0.0261799}.items():
        assert abs(found[name]["value"] - value) < 4 * found[name]["standard_error"] < 0.1 * value, name


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_runs(name, mbsim):
    mbsim("init", name)
    assert mbsim("run", f"{name}.yaml").code == 0


def test_no_template_is_missing_in_the_package():
    """Templates that are models of the project are listed for installation."""
    own = {path.stem for path in (ROOT / "mbsim_cli" / "templates").glob("*.yaml")}
    included = (ROOT / "pyproject.toml").read_text()
    for name in TEMPLATES.keys() - own:
        assert f'"models/{name}.yaml" = "mbsim_cli/templates/{name}.yaml"' in included
    assert own <= TEMPLATES.keys()


def test_every_key_is_explained():
    whole = written_out()
    for place in places(whole):
        found = explain(whole, place)
        assert found["description"] and found["examples"], place


def test_every_type_is_explained_with_an_example():
    """By its name below its section, as ``forces.bump_stop``, and by its name alone where it has one meaning."""
    whole = written_out()
    for section in whole["properties"]:
        for kind in explain(whole, section).get("types", {}):
            (example,) = explain(whole, f"{section}.{kind}")["examples"]
            stated = example[section] if section == "analysis" else example[section]["NAME"]
            assert stated["type"] == kind
            alone = explain(whole, kind)
            assert f"{section}.{kind}" in alone.get("places", [alone["key"]])


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("joints.revolute.axis", "joints.revolute.axis (required): Axis: one vector of both bodies"),
        ("bodies.crank.mass", "mass: 1.5"),
        ("stiffness", "forces.spring_damper.stiffness"),
        ("joints", "cylindrical"),
        ("forces.bump_stop", "NAME: {type: bump_stop, coordinate: A.angle, minimum: 0.4, stiffness: 200000}"),
        ("magic_formula", "forces.tyre.slip.magic_formula: "),
        ("bodies.flexible", "by their required keys: sid; terms; mesh, frame, modes"),
        ("bodies.flexible", "Sets of mesh nodes by name."),
        ("cables.path.turn", "one of positive, negative"),
        ("", "gravity"),
    ],
)
def test_explanations(mbsim, key, says):
    done = mbsim("explain", *filter(None, [key]))
    assert done.code == 0 and says in done.out, done


def test_forms_are_told_apart_only_where_they_require_other_keys(mbsim):
    done = mbsim("explain", "bodies.flexible.damping")
    assert done.code == 0 and "several forms" not in done.out, done


def test_unknown_keys_are_refused(mbsim):
    done = mbsim("explain", "joints.revolut")
    assert done.code == 2 and "did you mean 'revolute'?" in done.err
    assert "did you mean 'bump_stop'?" in mbsim("explain", "forces.stop").err
    assert "mbsim explain joints lists what there is" in mbsim("explain", "joints.hinge").err
    assert mbsim("explain", "analysis", "--json").json["types"]["forward_dynamics"]


LINES = [
    ("mbsim expl", {"explain"}),
    ("mbsim run --sens", {"--sensitivity"}),
    ("mbsim run M.yaml --sensitivity ad", {"adjoint"}),
    ("mbsim run M.yaml -p L_s", {"L_s1=", "L_s2="}),
    ("mbsim run M.yaml --parameter x_2", {"x_20="}),
    ("mbsim sweep M.yaml sp", {"springs"}),
    ("mbsim optimize M.yaml c", {"calm"}),
    ("mbsim init qu", {"quarter_car"}),
    ("mbsim explain joints.revolute.ax", {"joints.revolute.axis"}),
    ("mbsim run missing.yaml -p L", set()),
    ("mbsim run M.yaml -s jo", {"joints."}),
    ("mbsim run M.yaml -s grav", {"gravity="}),
    ("mbsim run M.yaml -s joints.A.initial.in", {"joints.A.initial.independent="}),
    ("mbsim run M.yaml -s joints.A.axis.q", set()),
    ("mbsim check M.yaml --set analysis.to", {"analysis.tolerance="}),  # not stated in the file
    ("mbsim run missing.yaml -s joints.", set()),
]


@pytest.mark.parametrize(("line", "offered"), LINES)
def test_completion(line, offered, tmp_path):
    shutil.copy(ROOT / "models" / "fivebar.yaml", tmp_path / "M.yaml")
    words = line.split()
    asked = {"_MBSIM_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(COMMAND, env=environment(**asked), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, set(done.stdout.split()), done.stderr) == (0, offered, "")


SHELLS = {  # a shell that reads no settings of this machine, and how the script of completion is loaded there
    "bash": (["--norc", "-i"], "source ./script"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; source ./script"),
    "fish": (["--no-config", "-i"], "source ./script"),
}
PRESSED = [  # what is typed, and what the tabulator adds; a blank only where the word is whole
    ("mbsim expl", "ain "),
    ("mbsim run M.y", "aml "),
    ("mbsim run M.yaml -p m_A", "1="),
    ("mbsim run M.yaml -s analy", "sis."),
    ("mbsim run M.yaml -s analysis.du", "ration="),
    ("mbsim run M.yaml --sensitivity ad", "joint "),
    ("mbsim sweep M.yaml sp", "rings "),
]


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, *command: str, **extra: str):
        self.process, self.end = pty.fork()
        if not self.process:
            os.execvpe(command[0], command, environment(**extra))

    def type(self, text: str, until: str) -> None:
        """Press keys, and wait until the shell shows a text."""
        os.write(self.end, text.encode())
        shown, patience = "", time.monotonic() + 60
        while until not in shown:
            assert select.select([self.end], [], [], patience - time.monotonic())[0], f"{text!r} shows {shown!r}"
            shown += os.read(self.end, 4096).decode()
            shown = re.sub("[^\b]\b", "", shown)  # what the shell erases again

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.end)


def script_of(shell: str) -> tuple[str, str]:
    """The script that ``--install-completion`` installs, and a search path on which mbsim is."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    folder = Path(sysconfig.get_path("scripts"))
    if not (folder / "mbsim").exists():
        pytest.skip("mbsim is not installed")
    asked = environment(_MBSIM_COMPLETE=f"source_{shell}")
    done = subprocess.run([folder / "mbsim"], env=asked, capture_output=True, text=True, check=True)
    return done.stdout, f"{folder}:{environment()['PATH']}"


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_at_a_terminal(shell, tmp_path, monkeypatch):
    """The tabulator completes commands, files, values, and names of the file that the line states."""
    script, path = script_of(shell)
    monkeypatch.chdir(tmp_path)
    Path("script").write_text(script)
    shutil.copy(ROOT / "models" / "fivebar.yaml", "M.yaml")
    options, load = SHELLS[shell]
    terminal = Terminal(shell, *options, PATH=path, PS1="> ", TERM="dumb", COLUMNS="200", HOME=str(tmp_path))
    try:
        terminal.type(f"{load}; echo re''ady\n", "ready")
        for typed, shown in PRESSED:
            terminal.type(f"{typed}\tX", f"{typed}{shown}X")
            terminal.type("\x15echo re''ady\n", "ready")  # Ctrl-U
    finally:
        terminal.close()


def test_completion_loads_nothing_heavy():
    script = "import sys; from mbsim_cli.cli import completion; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert not {"numpy", "yaml", "h5py", "pydantic_core"} & set(done.stdout.split())


def test_json_of_explanations_is_one_object(mbsim):
    assert json.loads(mbsim("explain", "joints.revolute.initial", "--json").out)["keys"]["angle"]["description"]
