"""Parameters of tests whose kernels take a minute or more to compile."""

import pytest

NATURAL = pytest.param("ali3p-natural", marks=pytest.mark.slow)
