"""The first ten minutes: a bare command, templates, explanations and completion at a shell."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.cli.explain import explain, places
from mbsim_cli.cli.init import TEMPLATES, template
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
    assert again.code == 5 and "pendulum.yaml exists; only --force replaces it" in again.err
    assert mbsim("init", "pendulum", "--force").code == 0
    assert mbsim("init", "fivebar", "mine.yaml", "--json").json["next"] == "mbsim run mine.yaml"
    assert (tmp_path / "mine.yaml").read_text() == template("fivebar")
    wrong = mbsim("init", "pendulm")
    assert wrong.code == 2 and "did you mean 'pendulum'?" in wrong.err
    assert mbsim("init", "pendulum", "no/folder.yaml").code == 5


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_is_a_valid_model(name, tmp_path):
    path = tmp_path / f"{name}.yaml"
    path.write_text(template(name))
    model = spec.load(path)
    assert model.objectives and model.analysis.sensitivity.method != "none"


def test_a_template_runs_as_it_stands(mbsim):
    mbsim("init", "pendulum")
    report = mbsim("run", "pendulum.yaml", "--json").json
    assert report["objectives"]["travel"]["gradient"]["L"] == pytest.approx(6.2172901, rel=1e-6)
    assert mbsim("check", "pendulum.yaml").code == 0


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
        assert "places" in found or found["description"], place


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("joints.revolute.axis", "joints.revolute.axis (required): Axis: one vector of both bodies"),
        ("bodies.crank.mass", "mass: 1.5"),
        ("stiffness", "forces.spring_damper.stiffness"),
        ("joints", "cylindrical"),
        ("", "gravity"),
    ],
)
def test_explanations(mbsim, key, says):
    done = mbsim("explain", *filter(None, [key]))
    assert done.code == 0 and says in done.out, done


def test_unknown_keys_are_refused(mbsim):
    done = mbsim("explain", "joints.revolut")
    assert done.code == 2 and "did you mean 'revolute'?" in done.err
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
]


@pytest.mark.parametrize(("line", "offered"), LINES)
def test_completion(line, offered, tmp_path):
    shutil.copy(ROOT / "models" / "fivebar.yaml", tmp_path / "M.yaml")
    words = line.split()
    asked = {"_MBSIM_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(COMMAND, env=environment(**asked), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, set(done.stdout.split()), done.stderr) == (0, offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_in_shells(shell, tmp_path):
    """The script that is installed works in the shell itself."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    folder = Path(sysconfig.get_path("scripts"))
    if not (folder / "mbsim").exists():
        pytest.skip("mbsim is not installed")
    path = f"{folder}:{environment()['PATH']}"
    script = subprocess.run(
        [folder / "mbsim"], env=environment(_MBSIM_COMPLETE=f"source_{shell}"), capture_output=True, text=True
    ).stdout
    asks = {
        "bash": "COMP_WORDS=(mbsim expl); COMP_CWORD=1; _mbsim_completion mbsim; echo ${COMPREPLY[@]}",
        "fish": "complete -C 'mbsim expl'",
    }
    if shell == "zsh":  # its widgets want a terminal: what the script evaluates is looked at
        asked = {"_TYPER_COMPLETE_ARGS": "mbsim expl", "_MBSIM_COMPLETE": "complete_zsh", "PATH": path}
        done = subprocess.run(["zsh", "-fc", "mbsim"], env=environment(**asked), capture_output=True, text=True)
    else:
        done = subprocess.run(
            [shell, "-c", f"{script}\n{asks[shell]}"], env=environment(PATH=path), capture_output=True, text=True
        )
    assert "explain" in done.stdout, done


def test_completion_loads_nothing_heavy():
    script = "import sys; from mbsim_cli.cli import completion; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert not {"numpy", "yaml", "h5py", "pydantic_core"} & set(done.stdout.split())


def test_json_of_explanations_is_one_object(mbsim):
    assert json.loads(mbsim("explain", "joints.revolute.initial", "--json").out)["keys"]["angle"]["description"]
