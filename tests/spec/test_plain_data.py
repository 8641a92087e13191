"""Plain data: numbers that JSON has, of whatever numpy made."""

from types import MappingProxyType

import numpy as np

from mbsim_cli.plain_data import plain


def test_mappings_sequences_arrays_and_numbers():
    data = MappingProxyType({1: (np.float64(2.5), np.int32(3), np.array(4.0)), "a": [np.array([[1.0, np.nan]])]})
    assert plain(data) == {"1": [2.5, 3, 4.0], "a": [[[1.0, None]]]}
    assert plain([-np.inf, np.float32(np.inf), True, None, "nan"]) == [None, None, True, None, "nan"]


def test_arrays_in_another_form():
    assert plain({"a": [np.arange(3), np.float64(1.0)]}, np.shape) == {"a": [(3,), 1.0]}
