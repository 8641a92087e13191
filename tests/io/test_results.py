"""A result file is what the contract says, however the run ends."""

import os
from functools import partial

import h5py
import numpy as np
import pytest
import xarray

from mbsim_cli import quarantine
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.layout import Origin, Parameters
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.target import TemporaryFile, check_target, is_result
from mbsim_cli.io.writer import Findings, ObjectiveResult, ResultWriter
from mbsim_cli.system import lock

from . import fakes

PROVENANCE = Provenance(
    command="mbsim run m.yaml", model_text="mbsim: 1\n", overrides={"a": "1.5"}, options={"step": 0.01}
)

PARAMETERS = Parameters([1.0, 2.0], [(np.nan, np.nan), (0.5, 3.0)])


def writer(path, n=2, m=3, p=2, every=1):
    parameters = PARAMETERS if p else Parameters()
    return ResultWriter(path, Origin(fakes.names(n, m, p), fakes.SENSORS, parameters, PROVENANCE, every))


@pytest.fixture
def result(tmp_path):
    run = writer(tmp_path / "r.h5")
    run.append(fakes.block(0, 5))
    run.append(fakes.block(5, 4))
    psi = ObjectiveResult("psi", 3.5, "m^2 s", np.array([1.0, -2.0]), "ddm", flags=["one of many"])
    run.findings(Findings([psi], warnings=["drift"]))
    return run.finish({"load": 0.1, "solve": 0.2})


def test_layout_is_the_contract(result):
    with h5py.File(result) as file:
        assert file.attrs["format"] == "mbsim-result" and file.attrs["status"] == "complete"
        assert {"format_version", "mbsim_version", "created", "command", "model_sha256"} <= set(file.attrs)
        assert file["meta/model_yaml"][()].decode() == "mbsim: 1\n"
        assert file["meta/parameters/a"][()].decode() == "1.5"
        assert file["meta/timing/solve"][()] == 0.2 and "numpy" in file["meta/platform"]
        shapes = {
            "time": (9,),
            "coordinates/velocity": (9, 2),
            "multipliers/kappa": (9, 3),
            "sensors/r2": (9, 3),
            "sensors/theta": (9, 1),
            "sensitivity/coordinates/acceleration": (9, 2, 2),
            "sensitivity/multipliers/lambda": (9, 3, 2),
            "sensitivity/sensors/r2": (9, 3, 2),
            "objectives/psi/gradient": (2,),
            "parameters/value": (2,),
            "diagnostics/drift_position": (9,),
        }
        assert {name: file[name].shape for name in shapes} == shapes
        assert file["sensors/r2"].attrs["unit"] == "m"
        np.testing.assert_array_equal(file["sensitivity/sensors/theta"][3], fakes.block(3, 1).d_sensors[0, 3:])


def test_only_what_repeats_is_compressed(tmp_path):
    """More than a third of the numbers, in time or along a row; the first block tells, also where few are stored."""
    first, rest = fakes.block(0, 6), fakes.block(6, 4)
    first.velocity[:, 1] = 0.0  # a column of two stands still
    first.lambda_[:] = first.lambda_[:, :1]  # all columns are alike
    first.sensors[:, 2] = 7.0  # a third of a vector, no more
    first.d_sensors[:, :, 1] = np.nan
    run = writer(tmp_path / "r.h5", every=10)
    run.append(first)
    run.append(rest)
    with h5py.File(run.finish({})) as file:
        compressed = {name for name in KINDS if file[name].compression}
        assert compressed == {"coordinates/velocity", "multipliers/lambda", "sensitivity/sensors/r2"}
        np.testing.assert_array_equal(file["coordinates/velocity"], [first.velocity[0], rest.velocity[3]])


KINDS = (
    *(f"coordinates/{name}" for name in ("position", "velocity", "acceleration")),
    *(f"multipliers/{name}" for name in ("lambda", "sigma", "kappa")),
    *("sensors/r2", "sensors/theta", "sensitivity/sensors/r2", "sensitivity/coordinates/velocity"),
)


@pytest.mark.parametrize("count", [1, 2, 700, 40_001])
def test_a_file_is_hardly_larger_than_its_numbers(tmp_path, count):
    """Chunks are equal, so that the last one is as full as the others."""
    names = fakes.names(2, 3, 2)
    run = ResultWriter(tmp_path / "r.h5", Origin(names, fakes.SENSORS, PARAMETERS, PROVENANCE, times=count))
    for first in range(0, count, 9000):
        run.append(fakes.block(first, min(9000, count - first)))
    with h5py.File(run.finish({})) as file:
        for name in ("time", *KINDS):
            assert file[name].id.get_storage_size() <= 1.001 * file[name].nbytes + 256, name


@pytest.mark.filterwarnings("error:The 'phony_dims'")
def test_xarray_sees_labelled_axes(result):
    with xarray.open_datatree(result, engine="h5netcdf") as tree:
        value = tree["sensitivity/sensors/r2"].sel(time=0.03, component="z", parameter="L_1")
        assert float(value) == pytest.approx(fakes.block(3, 1).d_sensors[0, 2, 1])
        assert tree["coordinates/position"].dims == ("time", "coordinate")
        assert list(tree["multipliers/lambda"].constraint.values) == ["cut.0", "cut.1", "cut.2"]
        assert float(tree["objectives/psi/gradient"].sel(parameter="L_1")) == -2.0
        assert tree["objectives/psi"].flags.values == ["one of many"] and tree["meta"].warnings.values == ["drift"]
    with xarray.open_dataset(result, engine="h5netcdf", group="sensors") as group:
        assert group["r2"].dims == ("time", "component")


def test_a_system_without_constraints_and_parameters_leaves_those_groups_out(tmp_path):
    run = writer(tmp_path / "r.h5", m=0, p=0)
    run.append(fakes.block(0, 3, m=0, p=0))
    path = run.finish({})
    with h5py.File(path) as file:
        assert file["coordinates/position"].shape == (3, 2)
        assert not {"multipliers", "sensitivity", "parameters"} & set(file)
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert tree["sensors/r2"].shape == (3, 3)


@pytest.mark.parametrize("sizes", [(11,), (4, 4, 3), (1,) * 11, (5, 0, 6)])
def test_thinning_counts_from_the_first_instant_and_keeps_the_last(tmp_path, sizes):
    run = writer(tmp_path / "r.h5", every=4)
    first = 0
    for size in sizes:
        run.append(fakes.block(first, size))
        first += size
    with h5py.File(run.finish({})) as file:
        np.testing.assert_allclose(file["time"][()], [0, 0.04, 0.08, 0.1])
        np.testing.assert_allclose(file["coordinates/position"][:, 0], [0, 4, 8, 10])


def test_only_the_temporary_name_exists_while_writing(tmp_path):
    target = tmp_path / "r.h5"
    run = writer(target)
    run.append(fakes.block(0, 2))
    assert not target.exists() and len(list(tmp_path.iterdir())) == 1
    run.finish({})
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5"]


@pytest.mark.parametrize("there", [False, True])
def test_whoever_sees_the_final_name_can_read_the_file(tmp_path, result, monkeypatch, there):
    """Before its writer is done with it, too: it holds a lock by which others know that nobody has abandoned it."""
    honest, seen = TemporaryFile._close, []
    if not there:
        result.unlink()

    def close(temporary):
        with h5py.File(result) as file, result.open("rb") as other:
            seen.append((file.attrs["status"], is_result(result), lock(other.fileno())))
        honest(temporary)

    monkeypatch.setattr(TemporaryFile, "_close", close)
    run = writer(result)
    run.append(fakes.block(0, 3))
    run.finish({})
    assert seen == [("complete", True, False)]


def test_an_unfinished_result_is_kept_under_its_own_name(tmp_path):
    run = writer(tmp_path / "r.h5", every=10)
    run.append(fakes.block(0, 3))
    kept = run.keep_partial("interrupted")
    assert kept == tmp_path / "r.h5.partial" and [path.name for path in tmp_path.iterdir()] == ["r.h5.partial"]
    found = ResultFile(kept).report()
    assert found["status"] == "partial" and found["warnings"] == ["interrupted"] and found["end"] == 0.02


def test_short_runs_are_written_when_they_end(tmp_path, monkeypatch):
    """The same file as that of a run which is written all the while, for it is longer than what is held."""

    def run(name, every):
        found = writer(tmp_path / name, every=every)
        sizes = []
        for first in range(0, 20, 4):
            found.append(fakes.block(first, 4))
            sizes.append(next(tmp_path.glob(f".{name}*")).stat().st_size)
        found.findings(Findings([ObjectiveResult("psi", 3.5, "m^2 s", np.array([1.0, -2.0]), "ddm")]))
        return h5py.File(found.finish({})), sizes

    for every in (1, 3):
        held, none = run("held.h5", every)
        monkeypatch.setattr("mbsim_cli.io.writer.MOST", 100)
        written, some = run("written.h5", every)
        monkeypatch.undo()
        assert not any(none) and all(some)
        assert list(held) == list(written) and len(held["time"]) == (20, 8)[every == 3]
        held.visititems(partial(same, written))


@pytest.mark.parametrize("few", [0, 1_000_000])
def test_sensors_that_show_what_stands_elsewhere_are_held_once(tmp_path, monkeypatch, few):
    """Numbers are those of their own dataset also where only the first block's are the same memory.

    Chunks of four rows, compressed by threads and without.
    """
    monkeypatch.setattr("mbsim_cli.io.writer.FEW", few)
    monkeypatch.setattr("mbsim_cli.io.layout.CHUNK_BYTES", 64)

    def shown(first, count):
        block = fakes.block(first, count)
        block.velocity[:] = block.velocity[:, :1]  # compressed
        return block._replace(acceleration=block.velocity)

    for blocks in ([shown(0, 5), shown(5, 4)], [shown(0, 5), fakes.block(5, 4)]):
        run = writer(tmp_path / "r.h5")
        for block in blocks:
            run.append(block)
        with h5py.File(run.finish({})) as file:
            for kind in ("position", "velocity", "acceleration"):
                expected = np.concatenate([getattr(block, kind) for block in blocks])
                np.testing.assert_array_equal(file[f"coordinates/{kind}"], expected)
            assert file["coordinates/velocity"].compression == file["coordinates/acceleration"].compression == "gzip"
            assert file["coordinates/velocity"].chunks == (4, 2)


def same(other, name, ours):
    theirs = other[name]
    if isinstance(ours, h5py.Dataset):
        np.testing.assert_array_equal(ours[()], theirs[()])
        assert (ours.dtype, ours.chunks, ours.compression) == (theirs.dtype, theirs.chunks, theirs.compression)


def test_more_instants_than_were_expected_are_written_too(tmp_path):
    run = ResultWriter(tmp_path / "r.h5", Origin(fakes.names(), fakes.SENSORS, PARAMETERS, PROVENANCE, times=7))
    for first in range(0, 20, 4):
        run.append(fakes.block(first, 4))
    with h5py.File(run.finish({})) as file:
        np.testing.assert_array_equal(file["coordinates/position"], fakes.block(0, 20).position)


def test_an_empty_result_is_dropped(tmp_path):
    assert writer(tmp_path / "r.h5").keep_partial("interrupted") is None
    assert not list(tmp_path.iterdir())


def test_a_result_may_be_overwritten_and_nothing_else(tmp_path, result):
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    foreign = tmp_path / "foreign.h5"
    h5py.File(foreign, "w").close()
    assert check_target(result, force=False) == result
    for path in (other, foreign):
        with pytest.raises(InputOutputError, match="not an mbsim result; force=True"):
            check_target(path, force=False)
        assert check_target(path, force=True) == path


def test_targets_that_cannot_be(tmp_path):
    model = tmp_path / "m.yaml"
    model.write_text("mbsim: 1")
    with pytest.raises(InputOutputError, match="is a folder"):
        check_target(tmp_path, force=True)
    with pytest.raises(InputOutputError, match="no folder"):
        check_target(tmp_path / "none" / "r.h5", force=True)
    with pytest.raises(InputOutputError, match="the model itself"):
        check_target(model, force=True, protected=(model,))
    with pytest.raises(InputOutputError, match="not a regular file"):
        check_target(tmp_path.__class__("/dev/null"), force=True)


def test_a_link_is_written_through(tmp_path, result):
    link = tmp_path / "link.h5"
    link.symlink_to(result)
    assert check_target(link, force=False) == result


def test_permissions_are_those_of_a_new_file(tmp_path, result):
    plain = tmp_path / "plain"
    plain.touch()
    assert os.stat(plain).st_mode == os.stat(result).st_mode


def test_a_write_that_fails_is_a_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    run = writer(tmp_path / "r.h5")
    monkeypatch.setattr("mbsim_cli.io.writer.MOST", 0)
    monkeypatch.setattr(run, "_write", lambda columns: (_ for _ in ()).throw(OSError("No space left on device")))
    with pytest.raises(InputOutputError, match=r"cannot write .*r\.h5: No space left on device; nothing is kept"):
        run.append(fakes.block(0, 2))
    assert not list(tmp_path.iterdir())


def test_summary(result):
    found = ResultFile(result).report()
    assert found["instants"] == 9 and found["objectives"]["psi"]["gradient"] == {"L_0": 1.0, "L_1": -2.0}
    assert found["datasets"]["sensitivity/sensors/r2"]["axes"] == ["time", "component", "parameter"]
    assert found["parameters"]["L_1"] == {"value": 2.0, "unit": "m", "bounds": [0.5, 3.0]}
    assert found["parameters"]["L_0"]["bounds"] is None


def test_counts_of_an_integrator_are_kept(tmp_path):
    run = writer(tmp_path / "r.h5")
    run.append(fakes.block(0, 3))
    run.findings(Findings((), work={"steps": 7, "rejected": 1}))
    assert ResultFile(run.finish({})).report()["work"] == {"steps": 7, "rejected": 1}


def test_summary_of_something_else(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("text")
    foreign = tmp_path / "foreign.h5"
    h5py.File(foreign, "w").close()
    for path, sentence in ((text, "not an mbsim result"), (foreign, "not an mbsim"), (tmp_path / "no", "no file")):
        assert not is_result(path)
        with pytest.raises(InputOutputError, match=sentence):
            ResultFile(path).report()


def test_names_keep_the_order_of_the_file_beyond_eight(tmp_path):
    run = writer(tmp_path / "r.h5")
    run.append(fakes.block(0, 1))
    run.findings(Findings([ObjectiveResult(f"z{9 - i}", i, "", None) for i in range(10)]))
    assert list(ResultFile(run.finish({})).report()["objectives"]) == [f"z{9 - i}" for i in range(10)]


def test_memory_does_not_grow_with_the_run(tmp_path):
    statm = "/proc/self/statm"
    if not os.path.exists(statm):
        pytest.skip("needs /proc")

    def megabytes():
        with open(statm) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    run = writer(tmp_path / "r.h5")
    used = []
    for number in range(90):
        run.append(fakes.block(2000 * number, 2000))
        used.append(megabytes())
    run.discard()
    assert used[89] - used[29] < 5, used[::10]


def test_a_file_is_looked_at_once_until_it_changes(result, monkeypatch):
    looks = []
    monkeypatch.setattr(quarantine, "fault_of", lambda path, look: looks.append(path) or "")
    os.utime(result, ns=(1, 1))
    assert is_result(result) and is_result(result) and looks == [result]
    os.utime(result, ns=(2, 2))
    assert is_result(result) and looks == [result, result]
