"""The commands of docs/linear.md print what the page shows; what files about modes may not say."""

import json
import re

import h5py
import numpy as np
import pytest
from scipy.io import loadmat

from mbsim_cli.cli import output

from .conftest import ROOT

PAGE = (ROOT / "docs" / "linear.md").read_text()
QUARTER = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL).group(1)  # type: ignore[union-attr]


@pytest.fixture
def quarter(tmp_path):
    path = tmp_path / "quarter.yaml"
    path.write_text(QUARTER)
    return path


def test_modes_of_the_page(mbsim, quarter, tmp_path):
    shown = re.search(r"\$ mbsim run quarter.yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
    printed = mbsim("run", "quarter.yaml").out
    assert printed.splitlines()[:15] == shown.splitlines()[:15]  # all but the times
    with h5py.File(tmp_path / "quarter.h5") as file:
        assert np.allclose(file["modes/frequency"], [1.2960545, 11.892837])
        gradient = file["objectives/bounce/gradient"][()]
        assert np.allclose(file["modes/gradient/frequency"][0], gradient, rtol=1e-14)
        assert file["modes/gradient/shape_real"].shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "type: modes, sens",
            "type: equilibrium, sens",
            "frequency is a number of a mode, which only type: modes finds",
        ),
        ("type: modes, sens", "type: modes, start: declared, sens", "the equilibrium has positions of its own"),
        ("method: ddm", "method: adjoint", "type: modes has no adjoint"),
        ("frequency: 1}", "frequency: 0}", "must be at least 1"),
        (
            "type: modes, sens",
            "type: modes, at: start, hold: [axle.displacement], sens",
            "only a static equilibrium holds",
        ),
    ],
)
def test_refused(mbsim, quarter, old, new, message):
    quarter.write_text(QUARTER.replace(old, new))
    told = mbsim("run", "quarter.yaml")
    assert told.code == 3
    assert message in told.err


def test_without_gradients(mbsim, quarter, tmp_path):
    quarter.write_text(QUARTER.partition("objectives:")[0] + "analysis: {type: modes, count: 1}\n")
    told = mbsim("run", "quarter.yaml")
    assert told.code == 0 and "quarter.h5: 1 mode about the equilibrium" in told.out
    with h5py.File(tmp_path / "quarter.h5") as file:
        assert "gradient" not in file["modes"] and np.allclose(file["modes/frequency"], [1.2960545])


def test_an_objective_of_a_mode_beyond_the_count(mbsim, quarter):
    quarter.write_text(QUARTER.replace("type: modes", "type: modes, count: 1"))
    report = mbsim("run", "quarter.yaml", "--json").json
    assert len(report["modes"]) == 1
    assert np.isclose(report["objectives"]["hop"]["value"], 11.892837)


def test_a_mode_that_is_not_there(mbsim, quarter):
    quarter.write_text(QUARTER.replace("hop: {frequency: 2}", "hop: {frequency: 3}"))
    told = mbsim("run", "quarter.yaml")
    assert told.code == 4
    assert "there is no mode 3; the mechanism has 2 modes" in told.err


def test_differences_agree(mbsim, quarter):
    found = mbsim("check", "quarter.yaml", "--json").json
    assert found["passed"] and len(found["checks"]) == 3


def test_hold_and_count(mbsim, quarter):
    quarter.write_text(
        QUARTER.replace("type: modes", "type: modes, hold: [axle.displacement], count: 1").replace(
            "  hop: {frequency: 2}\n", ""
        )
    )
    found = mbsim("run", "quarter.yaml", "--json").json
    assert [mode["frequency"] for mode in found["modes"]] == [pytest.approx(np.sqrt(18e3 / 250) / (2 * np.pi))]


VERTICAL = PAGE.split("## State space")[1].split("```yaml\n")[1].split("```")[0]


@pytest.fixture
def vertical(quarter, tmp_path):
    path = tmp_path / "vertical.yaml"
    path.write_text(VERTICAL)
    return path


@pytest.mark.slow
def test_state_space(mbsim, vertical, tmp_path):
    """The page's command; the matrices of two masses, written by hand, in relative coordinates."""
    command, shown = re.search(r"\$ mbsim (linearize [^\n]*)\n(.*?)```", PAGE, re.DOTALL).groups()
    told = mbsim(*command.split())
    assert told.code == 0 and told.out == shown
    stored = np.load(tmp_path / "vertical.npz")
    k, c, k_t, m_u, m_b = 18e3, 900.0, 180e3, 35.0, 250.0
    wheel = np.array([-k_t, k, 0.0, c]) / m_u
    body = np.array([0.0, -k, 0.0, -c]) / m_b
    assert np.allclose(stored["A"], [[0, 0, 1, 0], [0, 0, 0, 1], wheel, body - wheel], rtol=1e-12)
    assert np.allclose(stored["B"], [[0], [0], [-1 / m_u], [1 / m_b + 1 / m_u]], rtol=1e-12)
    assert np.allclose(stored["C"], [[0, 1, 0, 0], body], rtol=1e-12)
    assert np.allclose(stored["D"], [[0], [1 / m_b]], rtol=1e-12)
    assert list(stored["outputs"]) == ["travel", "comfort.z"]
    assert mbsim("linearize", "vertical.yaml", "--inputs", "suspension", "--to", "mat").code == 0
    assert np.array_equal(loadmat(tmp_path / "vertical.lin.mat")["A"], stored["A"])
    for target in ("vertical.lin.mat", "vertical.npz", "new.h5", "new.h5"):  # written again, without --force
        assert mbsim("linearize", "vertical.yaml", "-o", target).code == 0
    for target, written in (("other.npz", b"PK\x03\x04"), ("other.mat", b"MATLAB 5.0"), ("empty.npz", b"")):
        (tmp_path / target).write_bytes(written)
        told = mbsim("linearize", "vertical.yaml", "-o", target)
        assert told.code == 5 and "exists and is not a state space" in told.err


@pytest.mark.interpreted
def test_linearize_shows_the_modes_that_a_run_finds(mbsim, quarter):
    modes = mbsim("run", "quarter.yaml", "--sensitivity", "none", "--json").json["modes"]
    found = mbsim("linearize", "quarter.yaml", "--json").json
    assert found["modes"] == modes and found["neutral"] == 0
    table = mbsim("run", "quarter.yaml").out.partition("┏━━━━━━━━━━━━━━━━━┳")[0]
    assert mbsim("linearize", "quarter.yaml").out.startswith(table)


def test_zero_eigenvalues_are_of_motions_or_states(monkeypatch):
    shown = []
    monkeypatch.setattr(output, "show", shown.append)
    output.print_modes([], 2)
    assert shown == ["2 eigenvalues are zero: nothing brings such a motion or state back\n"]


def test_round_off_is_no_damping(monkeypatch):
    shown = []
    monkeypatch.setattr(output, "show", shown.append)
    mode = {"number": 1, "shape": {"hub.angle": [1.0, 0.0]}, "frequency": 2.0, "imaginary_part": 12.566}
    output.print_modes([mode | {"damping_ratio": -1e-17, "real_part": -1e-16}], 0)
    output.print_modes([mode | {"damping_ratio": 1e-9, "real_part": -1.2566e-8}], 0)
    assert "│ 0             │ 0 ± 12.566i      │" in shown[0]
    assert "│ 1e-09         │ -1.2566e-08 ± 12.566i │" in shown[1]


def test_an_equilibrium_knows_no_states_of_controllers(mbsim):
    model = ROOT / "models/benchmarks/pid_slider.yaml"
    told = mbsim("linearize", model)
    assert told.code == 2 and "does not solve for states (servo_rate, servo_integral); take the start" in told.err
    told = mbsim("export", model, "--to", "urdf")
    assert told.code == 2 and "other formats have no states; servo_rate is one" in told.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--inputs", "nobody"], "there is no force or law 'nobody'; there are tyre, suspension"),
        (["--outputs", "trave"], "did you mean 'travel'?"),
        (["--at", "-1"], "--at must be a time in seconds, equilibrium or start"),
        (["--at", "0.1"], "a time is one of a motion; type: modes has none"),
        (["-o", "x.txt"], "a state space is written to .h5, .npz, .mat"),
        (["--to", "mat", "-o", "x.npz"], "-o x.npz is not --to mat"),
    ],
)
@pytest.mark.slow
def test_linearize_refuses(mbsim, vertical, options, message):
    told = mbsim("linearize", vertical, *options)
    assert told.code == 2
    assert message in told.err


LAG = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {T: 0.5, k: 200}
bodies: {a: {mass: 2}}
joints: {s: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
sensors: {x: {type: coordinate, coordinate: s.displacement}}
states: {f: {rate: (x - f)/T}}
forces: {act: {type: spring_damper, coordinate: s.displacement, stiffness: k, damping: 1, natural_length: 0}}
analysis: {type: modes, at: start, sensitivity: {method: ddm}}
objectives: {slow: {real_part: 1}}
"""


@pytest.mark.slow
def test_states_have_eigenvalues_of_their_own(mbsim, tmp_path):
    """A lag of time T: -1 / T, by T 1 / T^2; an equilibrium knows no states."""
    (tmp_path / "lag.yaml").write_text(LAG)
    slow = mbsim("run", "lag.yaml", "--json").json["objectives"]["slow"]
    assert slow["value"] == pytest.approx(-2.0) and slow["gradient"]["T"] == pytest.approx(4.0)
    assert mbsim("linearize", "lag.yaml").code == 2
    (tmp_path / "lag.yaml").write_text(LAG.replace("at: start", "at: equilibrium"))
    assert mbsim("run", "lag.yaml").code == 3


@pytest.mark.slow
def test_a_film_of_a_mode_and_a_root_locus(mbsim, quarter, tmp_path):
    mbsim("run", "quarter.yaml")
    for command in re.findall(r"\$ mbsim (animate .*)", PAGE):
        assert "hop.gif: 50 frames, 0 to 1.96 s" in mbsim(*command.split()).out
    told = mbsim("animate", "quarter.h5", "--mode", "3")
    assert told.code == 2 and "there is no mode 3; quarter.h5 holds 2 modes" in told.err
    (tmp_path / "locus.yaml").write_text(re.search(r"`locus.yaml`:\n\n```yaml\n(.*?)```", PAGE, re.DOTALL).group(1))
    for command in re.findall(r"\$ mbsim (.* locus.*)", PAGE):
        told = mbsim(*command.split())
        assert told.code == 0, told.err
    assert "imaginary_1, imaginary_2 over real_1, real_2, 20 cases" in told.out
    told = mbsim("plot", "locus/study.h5", "imaginary_1", "--over", "real_1,real_2")
    assert told.code == 2 and "imaginary_1 and --over real_1,real_2 go in pairs" in told.err
    assert mbsim("plot", "locus/study.h5", "real_1,real_2", "--over", "c_s").code == 0


def test_amplitudes_of_a_film_of_a_mode(mbsim, quarter, tmp_path):
    """A tenth of the mechanism at most, times the factor; half a period later on the other side."""
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.study.pictures.motion import ModeFilm

    mbsim("run", "quarter.yaml")
    content = ResultFile(tmp_path / "quarter.h5")
    one, three = (ModeFilm(content, 2, speed=1.0, fps=20.0, exaggeration=factor) for factor in (None, 3.0))
    rest = content.motion()[0][0]
    assert np.allclose(three.z - rest, 3.0 * (one.z - rest), rtol=1e-12, atol=1e-15)
    assert np.allclose(one.z[:20] - rest, rest - one.z[20:], rtol=1e-12, atol=1e-15)
    moved = np.linalg.norm(one.positions - one.moving.positions(rest), axis=2).max()
    size = np.ptp(one.moving.positions(rest), axis=0).max()
    assert 0.08 * size < moved <= 0.1 * size * (1 + 1e-9)


RIDE = "mbsim: 1\n" + re.search(r"(name: Ride.*?)```", PAGE, re.DOTALL).group(1)  # type: ignore[union-attr]


@pytest.mark.slow
def test_frequency_response_of_the_page(mbsim, tmp_path):
    (tmp_path / "ride.yaml").write_text(RIDE)
    shown = re.search(r"\$ mbsim run ride.yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
    printed = mbsim("run", "ride.yaml").out
    assert printed.splitlines()[:13] == shown.splitlines()[:13]  # all but the times
    with h5py.File(tmp_path / "ride.h5") as file:
        gain = file["frequency_response/gain"][:, 1, 0]
        assert gain.max() == pytest.approx(file["objectives/shake/value"][()], rel=1e-14)
        gradient = file["frequency_response/gradient/gain"][gain.argmax(), 1, 0]
        assert np.allclose(gradient, file["objectives/shake/gradient"][()], rtol=1e-12)
        assert [scale.label for scale in file["frequency_response/gain"].dims] == ["frequency", "output", "input"]
    assert "ride.png: travel over tyre, comfort.z over tyre" in mbsim("plot", "ride.h5").out
    assert "bode.svg: comfort.z over tyre" in mbsim("plot", "ride.h5", "comfort.z", "-o", "bode.svg").out
    told = mbsim("plot", "ride.h5", "nobody")
    assert told.code == 2 and "no result holds a history 'nobody'" in told.err


@pytest.mark.slow
def test_points_and_frequencies_of_a_response(mbsim, tmp_path):
    """Where the spring is stiffer, where the strut is held, and of frequencies in a list."""
    path = tmp_path / "ride.yaml"

    def gains(**changes):
        path.write_text(RIDE.replace("output: travel", "output: comfort.z"))  # of a travel of zero there is no phase
        options = [word for key, value in changes.items() for word in ("-s", f"analysis.{key}={value}")]
        found = json.loads(mbsim("run", path, "--json", "--force", *options).out)["frequency_response"]
        return found["frequencies"], np.array(found["gain"]["travel"]["tyre"])

    at_rest = gains()[1]
    assert np.allclose(at_rest, gains(at="start")[1], rtol=1e-9)  # linear
    assert np.allclose(at_rest, gains(at="start", start="equilibrium")[1], rtol=1e-9)
    assert not gains(hold="[strut.displacement]")[1].any()
    listed, found = gains(frequencies="[0.1, 100]")
    assert listed == [0.1, 100.0] and np.allclose(found, at_rest[[0, -1]], rtol=1e-12)
    even = gains(frequencies="{from: 1, to: 3, count: 3, scale: linear}")[0]
    assert even == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "inputs: [tyre]",
            "inputs: [tire]",
            "unknown force or law 'tire'; did you",
        ),
        ("comfort.z]", "nobody]", "analysis.outputs[1]: unknown sensor 'nobody'"),
        ("comfort.z]", "comfort.z, comfort.w]", "no sensor 'comfort.w'"),
        ("from: 0.1", "from: 0", "analysis.frequencies.from: must be greater than zero, is 0"),
        ("to: 100", "to: 0.1", "the last frequency, 0.1 Hz, is not above the first, 0.1 Hz"),
        ("to: 100", "to: k_s", "no gradient by frequencies is computed"),
        ("{from: 0.1, to: 100, count: 301}", "[]", "there are no frequencies"),
        ("frequency: 1.3", "frequency: -1", "objectives.lag.phase.frequency: must be greater than zero"),
        (", frequency: 1.3", "", "give phase and frequency together"),
        (
            "input: tyre, output: comfort",
            "input: suspension, output: comfort",
            "'suspension' is no input",
        ),
        ("output: comfort.z}", "output: comfort}", "did you mean 'comfort.z'"),
        ("method: ddm", "method: adjoint", "type: frequency_response has no adjoint"),
        ("  type: frequency_response", "  type: modes", "analysis"),
    ],
)
def test_responses_refused(mbsim, tmp_path, old, new, message):
    assert old in RIDE
    (tmp_path / "ride.yaml").write_text(RIDE.replace(old, new))
    told = mbsim("run", "ride.yaml")
    assert told.code == 3
    assert message in told.err + told.out
