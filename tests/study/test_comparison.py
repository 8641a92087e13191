"""The rule by which a computed number passes."""

import math

from mbsim_cli.study.verification import compare

LABELS = {"model": "m", "name": "n", "kind": "benchmark"}


def test_relative_and_absolute_tolerance_add():
    assert compare(1.019, 1.0, 0.01, 0.01, **LABELS).passed
    assert not compare(1.021, 1.0, 0.01, 0.01, **LABELS).passed
    row = compare(-2.2, -2.0, 0.01, 0.0, **LABELS)
    assert math.isclose(row.relative_error, 0.1) and row.tolerance == 0.01 and not row.passed


def test_vectors_are_judged_by_their_length():
    assert compare([100.0, 0.05, 0.0], [100.0, 0.0, 0.0], 1e-3, 0.0, **LABELS).passed


def test_zero_references_are_judged_absolutely():
    row = compare(1e-9, 0.0, 1e-3, 1e-8, **LABELS)
    assert row.passed and row.relative_error == 1e-9 and row.tolerance == 1e-8
    assert not compare(1e-9, 0.0, 1e-3, 0.0, **LABELS).passed


def test_what_is_not_a_number_fails():
    assert not compare(math.nan, 1.0, 1.0, 1.0, **LABELS).passed
