"""Bodies that a file brings with their design derivatives, against the meshes that the files were made from."""

import numpy as np
import pytest
import yaml

from mbsim_cli import spec
from mbsim_cli.io.sid_file import write_sid
from mbsim_cli.reduction.data import turned
from mbsim_cli.reduction.sid_text import sid_text
from mbsim_cli.study.reduced_bodies import standard_input
from tests.kernels.differentiate import simulate
from tests.kernels.plain.test_flexible_trees import BEAMS, assembled
from tests.reduction.reduced import reduce_body


def by_files(folder, text, ending, change=lambda sid: sid):
    """The same model with files in place of its meshes, and the change of every parameter told to them."""
    path = folder / "m.yaml"
    path.write_text(text)
    model_file, data = spec.load(path), yaml.safe_load(text)
    for name, body in data["bodies"].items():
        if "flexible" in body:
            sid, file = change(reduce_body(model_file, name)), folder / f"{name}{ending}"
            if ending == ".SID_FEM":
                file.write_text(sid_text(sid))
            else:
                write_sid(file, sid, {})
            made_at = model_file.expressions.scope()
            design = {key: f"{key} - {made_at[key].real!r}" for key in sid.design}
            body["flexible"] = {"sid": file.name, "design": design} | {
                key: given for key, given in body["flexible"].items() if key == "initial"
            }
    return yaml.safe_dump(data, sort_keys=False)


@pytest.mark.parametrize("ending", [".sid.h5", ".SID_FEM"])
def test_the_same_numbers_and_derivatives(tmp_path, ending):
    """A spatial loop: with stiffening, damping and a free frame, by every parameter that moves the meshes.

    Derivatives in files hold the span of the shapes, in which modes of meshes turn.
    """

    def in_the_span(model_file, name, numbers):
        return standard_input(model_file, name, numbers)._replace(modal=False)

    meshed = assembled(tmp_path, BEAMS, in_the_span, sensitivity="ddm")
    filed = assembled(tmp_path, by_files(tmp_path, BEAMS, ending), sensitivity="ddm")
    assert meshed.names.parameters == filed.names.parameters
    assert filed.theta == pytest.approx(meshed.theta, rel=1e-14)
    size = np.abs(meshed.theta_rho).max(axis=0)
    assert (size > 0).all()
    np.testing.assert_allclose(filed.theta_rho / size, meshed.theta_rho / size, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_another_basis_of_the_shapes_changes_nothing_but_elastic_coordinates(tmp_path):
    """Derivatives too: those of a file are in the basis that it has."""
    text = BEAMS.replace("initial: {position: [0.01, -0.02], velocity: [0.1, 0.2]}", "")

    def in_another_basis(sid):
        return turned(sid, np.random.default_rng(2).normal(size=(sid.n, sid.n)))

    one, other = (
        simulate(assembled(tmp_path, by_files(tmp_path, text, ".sid.h5", change), sensitivity="ddm"), 2)["d_sensors"]
        for change in (lambda sid: sid, in_another_basis)
    )
    q = 12  # what shows an elastic coordinate
    size = np.abs(one).max(axis=(0, 1))
    assert (np.abs(one[:, q] - other[:, q]).max(axis=0) > 1e-6 * np.abs(one[:, q]).max(axis=0)).any()
    np.testing.assert_allclose(np.delete(other, q, 1) / size, np.delete(one, q, 1) / size, rtol=1e-7, atol=1e-8)
