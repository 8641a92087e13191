"""Reading a model stays fast, and loads no heavy library."""

import gc
import subprocess
import sys
import time

import pytest

from mbsim_cli import spec
from tests.spec.example import VALID, write


@pytest.fixture(autouse=True)
def alone():
    """Collections of garbage do not walk over what other tests left in this process: a user's holds nothing else."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _chain(count: int) -> str:
    bodies = ["ground", *(f"b{i}" for i in range(count))]
    lines = ["mbsim: 1", "parameters: {L: 1.5, m: 2}", "points:"]
    for i in range(count):
        before = "0" if i == 0 else "L"
        lines.append(f"  P{i}: {{{bodies[i]}: [{before}, 0, 0], {bodies[i + 1]}: [0, 0, 0]}}")
    lines.append("bodies:")
    lines += [f"  b{i}: {{mass: m, center_of_mass: [L/2, 0, 0], inertia: {{zz: m*L**2/12}}}}" for i in range(count)]
    lines.append("joints:")
    for i in range(count):
        lines.append(f"  j{i}: {{type: revolute, bodies: [{bodies[i]}, {bodies[i + 1]}], point: P{i}, axis: z}}")
    return "\n".join(lines)


def test_a_thousand_bodies_take_less_than_a_second(tmp_path):
    path = write(tmp_path, _chain(1000))
    spec.load(write(tmp_path, VALID, "small.yaml"))
    start = time.process_time()
    assert len(spec.load(path).bodies) == 1000
    assert time.process_time() - start < 1


def test_a_thousand_errors_take_less_than_two_seconds(tmp_path):
    path = write(tmp_path, _chain(1000).replace("axis: z", "axis: zz").replace("mass: m", "mas: k"))
    start = time.process_time()
    try:
        spec.load(path)
    except spec.ModelError as error:
        assert len(error.issues) == 2000
    assert time.process_time() - start < 2


def test_no_heavy_library_is_loaded(tmp_path):
    path = write(tmp_path, VALID)
    code = (
        "import sys; from mbsim_cli import spec; spec.load(sys.argv[1]);"
        "print([m for m in ('numpy', 'scipy', 'numba', 'h5py', 'matplotlib') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"
