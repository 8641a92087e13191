"""Reactions of many random mechanisms against the textbook's multipliers, at the start and after steps."""

import pytest

from mbsim_cli.errors import MbsimError
from tests.naive.random_mechanisms import KINDS, random_mechanism
from tests.naive.reactions import Shown, assembled

MECHANISMS = 100


@pytest.mark.slow
def test_random_mechanisms(tmp_path):
    in_tree, cut, undetermined, seed, count = set(), set(), 0, 100, 0
    while count < MECHANISMS:
        seed += 1
        twin = random_mechanism(seed, bodies=2 + seed % 5, loops=(seed // 5) % 4)
        try:
            found = assembled(tmp_path, twin, sensitivity="none", step=1e-3, duration=2e-3)
        except MbsimError:  # too many loops for its joints: what is stated of velocities contradicts them
            continue
        for steps in (0, 2):
            shown = Shown(twin, found.problem, found.sensor_rows, steps)
            undetermined += shown.assert_reactions()[1]
            shown.assert_balance()
            shown.assert_no_work()
        cut |= {twin.kinds[name] for name in found.topology.cut}
        in_tree |= {twin.kinds[name] for name in found.topology.joints}
        count += 1
    assert in_tree == set(KINDS) and cut >= set(KINDS) - {"fixed"}
    assert undetermined and seed < 100 + 3 * MECHANISMS
