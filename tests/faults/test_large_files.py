"""Large files: what they need is in proportion to what they hold, and what is too much is refused with its place."""

import os
import subprocess
import tracemalloc

import pytest

from mbsim_cli import spec
from mbsim_cli.spec import loader
from mbsim_cli.spec.reading import source
from mbsim_cli.spec.reading.nodes import read_nodes
from tests.cli.conftest import COMMAND, PENDULUM, environment

SIZE = 40_000_000
MOST_BYTES = 1e9
GRAVITY = "gravity: [0, -9.81, 0]"
WRONG = "sensors: {" + ", ".join(f"s{i}: {{type: spee}}" for i in range(30)) + ", angle"


def lists_of(entry, size):
    """The pendulum with one list of about a size where three numbers are wanted."""
    return PENDULUM.replace(GRAVITY, f"gravity: [{entry * (size // len(entry))}0]")


LISTS = {
    "numbers": (lambda size: lists_of("0, ", size), "gravity: there are more than 1 000 000 entries"),
    "lines": (lambda size: PENDULUM.replace(GRAVITY, "gravity:\n" + "- 0\n" * (size // 4)), "1000000:3: gravity"),
    "lists": (lambda size: lists_of("[],", size), "gravity: there are more than 1 000 000 entries"),
    "long numbers": (lambda size: lists_of("0." + "1" * 60 + ",", size), "gravity: needs 3 entries, not 6"),
    "one text": (lambda size: PENDULUM.replace("Pendulum", "a" * size), "valid"),
    "comments": (lambda size: PENDULUM + "# a\n" * (size // 4), "valid"),
    "an open end": (lambda size: PENDULUM + "# a\n" * (size // 4) + "a: [", "YAML cannot be read"),
}


@pytest.mark.parametrize("entry", ["0, ", "[],", "{a: b},", "'a',"])
def test_memory_is_in_proportion_to_entries(entry):
    def needed(count):
        text = f"[{entry * count}0]".encode()
        tracemalloc.start()
        read_nodes(text, "f.yaml")[0].data()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few, more = needed(2_000), needed(8_000)
    assert more < 5 * few and (more - few) / 6_000 < 600 * (1 + (":" in entry))


@pytest.mark.parametrize(
    "text, place", [("a: {b: [1, 2, 3, 4, 5]}\n", "1:18: a.b"), ("a: &x [1]\nc: [*x, *x, *x]", "c")]
)
def test_entries_are_limited_and_aliases_count(tmp_path, monkeypatch, text, place):
    monkeypatch.setattr(source, "MAX_ENTRIES", 6)
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(spec.ModelError, match=f"{place}: there are more than .* entries"):
        spec.load(tmp_path / "m.yaml")


def test_included_files_are_counted_together(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("mbsim: 1\nconstants: {a: 1, b: 2}\n")
    (tmp_path / "m.yaml").write_text("include: [a.yaml, a.yaml]\n")
    monkeypatch.setattr(source, "MAX_ENTRIES", 12)
    with pytest.raises(spec.ModelError, match="there are more than"):
        spec.load(tmp_path / "m.yaml")


def issues(path):
    with pytest.raises(spec.ModelError) as caught:
        spec.load(path)
    return [str(issue) for issue in caught.value.issues]


def test_large_files_are_judged_in_pieces(variant, monkeypatch):
    path = variant("sensors: {angle", WRONG)
    whole = issues(path)
    assert len(whole) == 30 and "unknown type 'spee'" in whole[0]
    monkeypatch.setattr(loader, "LARGE", 20)
    monkeypatch.setattr(loader, "PIECE", 7)
    assert issues(path) == whole
    monkeypatch.setattr(loader, "MOST", 12)
    first = issues(path)
    assert first[:-1] == whole[:12] and "only the first 12 errors are listed" in first[-1]


def test_what_is_missing_from_a_piece_may_be_in_another(variant, monkeypatch):
    monkeypatch.setattr(loader, "LARGE", 0)
    monkeypatch.setattr(loader, "PIECE", 1)
    assert (
        len(
            spec.load(variant("sensors: {angle", "sensors: {b: {type: coordinate, coordinate: A.angle}, angle")).sensors
        )
        == 2
    )


def test_a_list_of_nothing_but_errors_is_one(variant, monkeypatch):
    monkeypatch.setattr(loader, "MOST", 12)
    (found,) = issues(variant("parameters: all", f"parameters: [{'[], ' * 50}k]"))
    assert "analysis: more than 12 of its entries are wrong" in found


@pytest.mark.slow
@pytest.mark.parametrize("case", LISTS)
def test_forty_megabytes(tmp_path, case, record_property):
    make, sentence = LISTS[case]
    (tmp_path / "m.yaml").write_text(make(SIZE))
    with open(tmp_path / "told", "w") as file:
        run = subprocess.Popen(
            [*COMMAND, "validate", "m.yaml"], cwd=tmp_path, env=environment(), stdout=file, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    told, seconds, size = (tmp_path / "told").read_text(), used.ru_utime + used.ru_stime, 1024.0 * used.ru_maxrss
    assert run.returncode == (0 if sentence == "valid" else 3) and sentence in told, told
    assert size < MOST_BYTES and seconds < 60, (size, seconds)
    record_property("counts", f"40 MB of {case}: {seconds:.1f} s of processor time, {size / 1e6:.0f} MB")
