"""Formulations of open trees: what they refuse, and which settings reach them."""

from typing import get_args

import pytest

from mbsim_cli.cli.options import Formulation, Integrator
from mbsim_cli.errors import ModelError
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.model.problem import OPEN_TREES, Options
from mbsim_cli.spec.analysis import OPEN_TREES as OF_THE_FILE
from mbsim_cli.spec.analysis import Analysis

from .texts import assemble, two_bodies

HINGE = "elbow: {type: revolute, bodies: [a, b], point: J, axis: w}"
SPEED = "law: {type: polynomial, coefficients: [0, 1]}"


def options(folder, analysis, **over):
    return assemble(folder, two_bodies(HINGE, f"analysis: {{{analysis}}}"), **over).problem.options


def issues(folder, extra, joint=HINGE, formulation="recursive"):
    """Path and message of all that is wrong; every hint tells the formulation to use."""
    with pytest.raises(ModelError) as caught:
        assemble(folder, two_bodies(joint, extra), formulation=formulation)
    assert {issue.hint for issue in caught.value.issues} <= {"use formulation: ali3p-rtdyn1", None}
    assert all(issue.line > 0 for issue in caught.value.issues)
    return [f"{issue.path}: {issue.message}" for issue in caught.value.issues]


@pytest.mark.parametrize("formulation", OPEN_TREES)
def test_a_loop_is_named_by_its_joints(tmp_path, formulation):
    joints = HINGE + "\nclose: {type: spherical, bodies: [ground, b], point: J}"
    assert issues(tmp_path, "", joints, formulation) == [
        f"joints.elbow: the joints elbow - base - close form a loop, and {formulation} is for open trees"
    ]


def test_constraints_other_than_motion_are_named(tmp_path):
    extra = (
        "constraints: {rope: {type: distance, points: [ground.O, b.J]}, turn: {type: coupling, terms: {base.angle: 1}}}"
    )
    assert issues(tmp_path, extra) == [
        f"constraints.{name}: recursive is for open trees; of constraints it knows motion alone, not {kind}"
        for name, kind in (("rope", "distance"), ("turn", "coupling"))
    ]


def test_a_cable_is_named_as_such(tmp_path):
    pulley = "{center: ground.O, axis: ground.z, radius: 0.01}"
    assert issues(tmp_path, f"cables: {{rope: {{path: [ground.origin, {pulley}, b.J], length: auto}}}}") == [
        "cables.rope: recursive is for open trees; of constraints it knows motion alone, not cables of constant length"
    ]


def test_a_coordinate_is_driven_once(tmp_path):
    once = f"one: {{type: motion, coordinate: base.angle, {SPEED}}}"
    assert assemble(tmp_path, two_bodies(HINGE, f"constraints: {{{once}}}"), formulation="recursive").problem
    twice = f"constraints: {{{once}, two: {{type: motion, coordinate: base.angle, {SPEED}}}}}"
    assert issues(tmp_path, twice) == ["constraints.two: 'base.angle' already follows the law of 'one'"]


def test_settings_of_open_trees(tmp_path):
    found = options(
        tmp_path, "formulation: conventional, integrator: esdirk, tolerance: 1e-6, max_iterations: 7, "
        "error_control: sensitivities, max_steps: 50"
    )  # fmt: skip
    assert (found.integrator, found.error_control, found.max_iterations) == ("esdirk", "sensitivities", 7)
    assert found.max_steps == 50
    assert found.tolerance == found.absolute_tolerance == 1e-6
    assert (
        options(tmp_path, "formulation: recursive, absolute_tolerance: 1e-3", tolerance=1e-4).absolute_tolerance == 1e-3
    )
    assert options(tmp_path, "formulation: recursive").integrator == "dop853"


def test_settings_of_the_other_family_are_left_out(tmp_path):
    ours = options(tmp_path, "max_iterations: 9, penalty: 5, tolerance: 1e-7, step: 0.5", formulation="recursive")
    assert ours == Options(formulation="recursive", step=0.5, tolerance=1e-7, absolute_tolerance=1e-7)
    theirs = "formulation: recursive, integrator: esdirk, max_iterations: 9, absolute_tolerance: 1, step: 0.5"
    assert options(tmp_path, theirs, formulation="ali3p-rtdyn0") == Options(formulation="ali3p-rtdyn0", step=0.5)


def test_file_and_command_line_name_the_same():
    assert OPEN_TREES == OF_THE_FILE
    literals = {name: field.annotation for name, field in Analysis.model_fields.items()}
    assert get_args(literals["formulation"]) == get_args(Formulation)
    assert get_args(get_args(literals["integrator"])[0]) == get_args(Integrator)
    assert get_args(Integrator) == (*INTEGRATORS, "auto")
