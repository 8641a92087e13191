"""``mbsim check``: references of the file, and the numerical derivative."""

import numpy as np
import pytest

CHECKS = "checks: {freedom: {mobility: 1}}"


def test_json_is_the_contract(mbsim, pendulum):
    done = mbsim("check", pendulum, "--json")
    assert done.code == 0 and done.json["passed"] is True
    structure, verify = done.json["checks"]
    fields = {
        "name", "kind", "objective", "parameter", "computed", "reference",
        "relative_error", "tolerance", "passed", "source",
    }  # fmt: skip
    assert fields <= set(verify)
    assert structure["kind"] == "structure" and structure["computed"] == 1
    assert verify["kind"] == "numerical" and verify["objective"] == "swing"
    assert verify["relative_error"] < 1e-8 and verify["passed"]


def test_gradients_that_hold_the_division_of_steps_may_be_off_by_its_error(mbsim, pendulum, monkeypatch):
    """Differences of runs move the times at which steps end where forces begin."""
    from mbsim_cli.study import run
    from mbsim_cli.study.diagnostics.health import Health

    monkeypatch.setattr(run, "evaluate", enlarged(run.evaluate, 1.00001))
    assert mbsim("check", pendulum).code == 1
    monkeypatch.setattr(Health, "divided_order", 2.0)
    done = mbsim("check", pendulum, "--json")
    (row,) = [row for row in done.json["checks"] if row["kind"] == "numerical"]
    assert done.code == 0 and not row["decided"]


def test_gradients_that_are_wrong_by_a_percent_fail_wherever_steps_end(mbsim, variant, monkeypatch):
    from mbsim_cli.study import run

    stop = "{stop: {type: bump_stop, coordinate: A.angle, minimum: -1.2, maximum: -0.9, stiffness: 300}, spring:"
    path = variant("{spring:", stop)
    assert mbsim("check", path).code == 0
    monkeypatch.setattr(run, "evaluate", enlarged(run.evaluate, 1.01))
    assert mbsim("check", path).code == 1


def test_each_kind_of_reference(mbsim, variant):
    value = mbsim("run", variant(CHECKS, "", "plain.yaml"), "--json").json["objectives"]["swing"]
    good = f"""\
checks:
  value: {{objective: swing, value: {value["value"]}}}
  slope: {{objective: swing, gradient: {{L: {value["gradient"]["L"]}, k: {value["gradient"]["k"]}}}, source: a book}}
  start: {{sensor: angle, values: [{{time: 0, value: -60 deg}}]}}
  none: {{redundant_constraints: 0}}
"""
    done = mbsim("check", variant(CHECKS, good), "--json")
    assert done.code == 0, done.json
    assert [(c["name"], c["parameter"]) for c in done.json["checks"]][:3] == [
        ("value", None),
        ("slope", "L"),
        ("slope", "k"),
    ]
    assert done.json["checks"][1]["source"] == "a book"
    bad = good.replace(f"L: {value['gradient']['L']}", "L: 7.5")
    done = mbsim("check", variant(CHECKS, bad), "--json")
    assert done.code == 1 and not done.json["passed"]
    assert [c["passed"] for c in done.json["checks"]].count(False) == 1


def enlarged(honest, factor):
    """The evaluation of a run, with gradients that are too large."""

    def wrong(*arguments, **options):
        results = honest(*arguments, **options)
        return {name: r._replace(gradient=r.gradient * factor) for name, r in results.items()}

    return wrong


def test_a_wrong_gradient_is_found(mbsim, pendulum, monkeypatch):
    from mbsim_cli.study import run

    monkeypatch.setattr(run, "evaluate", enlarged(run.evaluate, 1 + 1e-5))
    done = mbsim("check", pendulum, "--json")
    assert done.code == 1 and [c["kind"] for c in done.json["checks"] if not c["passed"]] == ["numerical"]


def test_derivatives_that_vanish_are_round_off_and_no_failure(mbsim, variant):
    """At the least value of a square, and of a sum over time that cancels."""
    read = "{tip: {type: position, point: rod.tip}}\nobjectives:\n"
    square = "  square: {integral: (norm(tip) - k/2)**2}\n  balance: {integral: k*(t - 0.25)*norm(tip)}\n"
    model = variant(
        "O: {ground: [0, 0, 0], rod: [0, 0, 0]}", "O: {ground: [0, 0, 0], rod: [0, 0, 0]}, tip: {rod: [L, 0, 0]}"
    )
    text = model.read_text()
    before = text[text.index("{angle: {type") : text.index("analysis:")]
    model.write_text(text.replace(before, read + square))
    rows = [row for row in mbsim("check", model, "--json").json["checks"] if row["kind"] == "numerical"]
    assert len(rows) == 2 and all(row["passed"] for row in rows), rows


def test_differences_that_are_uncertain_themselves_say_so(mbsim, pendulum, monkeypatch):
    from mbsim_cli.study import run, verification

    honest, noise = verification.values_at, np.random.default_rng(3)
    monkeypatch.setattr(verification, "values_at", lambda *given: honest(*given) * (1 + 1e-6 * noise.standard_normal()))
    done = mbsim("check", pendulum, "--json")
    (row,) = [row for row in done.json["checks"] if row["kind"] == "numerical"]
    assert "not decided by differences of analyses, which are uncertain by" in row["message"]
    assert done.code == 0 and row["passed"] and not row["decided"]  # they show no failure
    shown = mbsim("check", pendulum)
    assert "none failed, 1 undecided" in shown.out + shown.err and shown.code == 0
    monkeypatch.setattr(run, "evaluate", enlarged(run.evaluate, 1.5))
    done = mbsim("check", pendulum, "--json")
    (row,) = [row for row in done.json["checks"] if row["kind"] == "numerical"]
    assert done.code == 1 and not row["passed"] and row["decided"]  # off by more than they are uncertain by


def test_sensors_between_instants_and_beyond_the_end(mbsim, variant):
    value = "{sensor: angle, values: [{time: %s, value: -0.5}], absolute_tolerance: 2}"
    assert mbsim("check", variant(CHECKS, "checks: {between: " + value % 0.123 + "}")).code == 0
    done = mbsim("check", variant(CHECKS, "checks: {beyond: " + value % 0.4 + "}"), "--duration", 0.3, "--json")
    assert done.code == 4 and "ends at 0.3 s" in done.json["checks"][0]["message"]


def test_a_file_that_cannot_be_analysed_takes_nothing_from_the_others(mbsim, pendulum):
    done = mbsim("check", pendulum, "gone.yaml", pendulum, "--json")
    assert done.code == 5 and [row["passed"] for row in done.json["checks"]] == [True, True, False, True, True]
    assert "cannot read gone.yaml" in str(done.json["checks"][2])
    alone = mbsim("check", "gone.yaml", "--json")
    assert alone.code == 5 and "cannot read gone.yaml" in alone.json["message"]


def test_several_files_share_a_table(mbsim, pendulum, variant):
    done = mbsim("check", pendulum, variant("mobility: 1", "mobility: 2"))
    assert done.code == 1 and "4 comparisons in 2 files, 1 failed" in done.out and "FAILED" in done.out


def test_a_file_that_fails_does_not_hide_the_others(mbsim, pendulum, variant):
    broken = variant("point: O", "point: OO")
    done = mbsim("check", broken, pendulum, "--json")
    assert done.code == 3 and not done.json["passed"]
    assert [(c["model"] == str(broken), c["passed"]) for c in done.json["checks"]] == [
        (True, False),
        (False, True),
        (False, True),
    ]


def test_what_a_run_warns_of_is_warned_of_here(mbsim, variant, pendulum):
    """Doubts about the model, and about how it ran; the file is named once, for there may be several."""
    odd = variant("  L: {", "  idle: {value: 1}\n  L: {")
    wanted = mbsim("run", odd, "--step", "0.1", "--json").json["warnings"]
    assert any("nothing reads" in sentence for sentence in wanted) and len(wanted) > 1
    done = mbsim("check", odd, "--step", "0.1", "--json")
    named = [sentence if sentence.startswith(f"{odd}:") else f"{odd}: {sentence}" for sentence in wanted]
    assert done.json["warnings"] == named and 0 < len(set(named) & set(wanted)) < len(named)
    for quiet in ((), ("--quiet",)):
        told = mbsim("check", odd, "--step", "0.1", *quiet).err
        assert all(f"warning: {sentence}" in told for sentence in named)
    assert mbsim("check", pendulum, "--json").json["warnings"] == []


def test_seed_and_options(mbsim, pendulum):
    rows = [
        mbsim("check", pendulum, *extra, "--json").json["checks"][1] for extra in ([], ["--seed", 1], ["--step", 0.02])
    ]
    assert len({row["computed"] for row in rows}) == 3 and all(row["passed"] for row in rows)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1"])
def test_the_five_bar(mbsim, formulation):
    from .conftest import ROOT

    asked = ("--formulation", formulation, "--without", "ali3p-natural", "--without", "adjoint")
    done = mbsim("check", ROOT / "models/fivebar.yaml", *asked, "--json")
    assert not [c for c in done.json["checks"] if c["kind"] == "agreement"]
    gradients = [c for c in done.json["checks"] if c["kind"] == "benchmark" and c["parameter"]]
    assert len(gradients) == 15 and done.code == 0


def test_a_check_warns_of_the_errors_that_a_run_estimates(mbsim, pendulum):
    coarse = ("-s", "analysis.step=0.1", "-s", "analysis.duration=2", "--json")
    told = mbsim("run", pendulum, *coarse).json["warnings"]
    assert any("leave the motion of A.angle an estimated error" in warning for warning in told)
    assert mbsim("check", pendulum, *coarse).json["warnings"] == [f"{pendulum}: {warning}" for warning in told]


def test_a_gradient_that_steps_do_not_control_has_a_reason(mbsim, pendulum, monkeypatch):
    from mbsim_cli.study import run

    asked = ("check", pendulum, "--formulation", "recursive", "--json")
    assert mbsim(*asked).json["warnings"] == []
    monkeypatch.setattr(run, "evaluate", enlarged(run.evaluate, 1.01))
    (warning,) = mbsim(*asked).json["warnings"]
    assert "not estimated: steps are chosen by the motion; error_control: sensitivities keeps them" in warning
