"""A model at other values: what is said of it is what a file with these values would be told, however it came there."""

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.spec import with_values

TEXT = """
mbsim: 1
constants: {half: h/2}
parameters:
  m: {value: 2, bounds: [1, 3]}
  h: 0.4
  k: 3*m
  s: 1
points: {O: {ground: [0, 0, 0], rod: [h, 0, 0]}}
vectors: {n: {rod: [s, 0, 1 - k/6]}}
bodies: {rod: {mass: m, inertia: {xx: half, yy: half, zz: 0.3}}}
joints: {A: {type: revolute, bodies: [ground, rod], point: O, axis: z, initial: {angle: log(k)}}}
laws: {ramp: {type: smooth_step, start: 0, end: h, from: 0, to: 1}}
forces: {push: {type: torque, body: rod, value: [0, 0, k], law: ramp}}
sensors: {u: {type: direction, vector: rod.n}, w: {type: velocity, point: rod.O}}
objectives: {peak: {maximum: w.y, sharpness: 10*s}}
analysis: {step: h/100, duration: 2*h, sensitivity: {method: ddm, parameters: [m]}}
"""
VALUES = [
    {"m": 1.5},
    {"h": -0.4},  # a law that ends before it starts, negative inertia, no time
    {"h": 0.3},
    {"m": -1.0},
    {"s": 0.0},
    {"m": 2.0, "s": 0.0},  # a vector without length: k is six
    {"s": 2.0, "h": 0.2},
    {"k": 0.0},  # the angle has no value
    {"k": "m/0"},
    {"k": "h + 1"},
    {"h": 0.0},
    {},
]


def told(model, values):
    try:
        moved = with_values(model, values)
    except ModelError as error:
        return str(error)
    return dict(moved.expressions.scope())


@pytest.fixture
def path(tmp_path):
    (tmp_path / "model.yaml").write_text(TEXT.lstrip())
    return tmp_path / "model.yaml"


def test_what_is_said_does_not_depend_on_values_before(path):
    alone = [told(spec.load(path), values) for values in VALUES]
    assert sum(isinstance(found, str) for found in alone) >= 6
    model = spec.load(path)
    for order in (range(len(VALUES)), reversed(range(len(VALUES))), [0, 3, 0, 5, 4, 0, 1, 2, 1, 8, 9, 8]):
        for number in order:
            assert told(model, VALUES[number]) == alone[number], VALUES[number]


def test_what_is_said_is_what_a_file_with_these_values_is_told(path):
    model = spec.load(path)
    for values in VALUES:
        if not all(isinstance(value, float) for value in values.values()):
            continue
        try:
            loaded = dict(spec.load(path, {name: repr(value) for name, value in values.items()}).expressions.scope())
        except ModelError as error:
            loaded = sorted(str(error).splitlines())
        found = told(model, values)
        assert (sorted(found.splitlines()) if isinstance(found, str) else found) == loaded, values


def test_numbers_of_short_forms_are_checked_at_other_values_too(path):
    """Files with these values are refused; a case ran with a filter of negative time constant."""
    controller = "controllers: {c: {type: pid, coordinate: A.angle, target: 1, kp: 1, kd: 1, filter: 3 - m}}"
    path.write_text(f"{path.read_text()}{controller}\n")
    with pytest.raises(ModelError, match=r"controllers\.c\.filter: must be greater than zero, is -1"):
        with_values(spec.load(path), {"m": 4.0})


USES = """
study: {s: {grid: {m: {from: m, to: 3, count: 2}, k: [k, 9]}}}
optimization: {o: {minimize: peak, variables: {m: {from: 1.5, to: 2.5}}}}
checks: {c: {objective: peak, value: 1, relative_tolerance: m - 2}}
"""


def test_what_is_done_with_a_model_is_not_judged_by_its_cases(path):
    """The last case of this study was invalid, since it would have left a study of one value."""
    path.write_text(path.read_text() + USES.lstrip())
    model = spec.load(path)
    for m in (1.2, 3.0):
        assert with_values(model, {"m": m}).expressions.scope()["m"] == m


def test_rules_that_read_nothing_else_are_not_asked_again(path, monkeypatch):
    """Without them the next values are judged in a third of the time."""
    from mbsim_cli.spec import parameters

    asked: list[str] = []

    def noting(rule):
        def judge(review):
            asked.append(rule.__module__.rpartition(".")[2])
            rule(review)

        return judge

    monkeypatch.setattr(
        parameters, "RULES", [rule if rule in parameters.OF_NAMES else noting(rule) for rule in parameters.RULES]
    )
    model = spec.load(path)
    with_values(model, {"m": 1.9})
    everything, asked[:] = set(asked), []
    with_values(model, {"m": 1.9})
    assert "bodies" in everything and "bodies" not in asked
    asked.clear()
    with_values(model, {"m": 1.8})
    assert "bodies" in asked and "vehicles" not in asked and len(set(asked)) < len(everything)
