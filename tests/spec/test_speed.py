"""Reading a model stays fast, and loads no heavy library."""

import subprocess
import sys
from functools import partial

import pytest

from mbsim_cli import spec
from tests.spec.example import VALID, write
from tests.work import calls_of


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


def test_work_grows_with_bodies(tmp_path):
    """A thousand of them take a third of a second."""
    spec.load(write(tmp_path, VALID, "small.yaml"))
    paths = [write(tmp_path, _chain(count), f"{count}.yaml") for count in (250, 500)]
    few, more = (calls_of(partial(spec.load, path)) for path in paths)
    assert more < 2.05 * few and more < 1500 * 500


def test_work_grows_with_errors(tmp_path):
    wrong = [_chain(count).replace("axis: z", "axis: zz").replace("mass: m", "mas: k") for count in (125, 250)]

    def refused(text):
        with pytest.raises(spec.ModelError) as caught:
            spec.load(write(tmp_path, text))
        return len(caught.value.issues)

    assert [refused(text) for text in wrong] == [250, 500]
    few, more = (calls_of(partial(refused, text)) for text in wrong)
    assert more < 2.05 * few and more < 3000 * 250


def test_work_grows_with_unknown_names(tmp_path):
    """Similar names are sought for the first of them only."""

    def refused(count):
        constants = "".join(f"  c{i}: 2*unknown_{i}\n" for i in range(count))
        with pytest.raises(spec.ModelError) as caught:
            spec.load(write(tmp_path, f"{_chain(2)}\nconstants:\n{constants}"))
        return len(caught.value.issues)

    assert refused(300) == 300
    few, more = (calls_of(partial(refused, count)) for count in (300, 600))
    assert more < 2.3 * few


def test_no_heavy_library_is_loaded(tmp_path):
    path = write(tmp_path, VALID)
    code = (
        "import sys; from mbsim_cli import spec; spec.load(sys.argv[1]);"
        "print([m for m in ('numpy', 'scipy', 'numba', 'h5py', 'matplotlib') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"
