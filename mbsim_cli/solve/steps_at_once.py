"""How many steps are made at once: interruption and progress wait for a tenth of a second at most, roughly.

Nothing measured enters: sums over blocks, and so results, must not depend on how fast a machine is.
"""

from mbsim_cli.model.problem import Options

PATIENCE = 0.1  # seconds


def steps_at_once(options: Options, n: int, p: int) -> int:
    """Steps of n coordinates with p directions between two looks at anything else, one at least."""
    return max(1, int(PATIENCE / (1e-5 + _seconds_a_step(options, n, p))))


def _seconds_a_step(options: Options, n: int, p: int) -> float:
    """Roughly."""
    if options.implicit:
        return 1e-5 * n * n * (1 + n / 50 + p / 5)
    if options.formulation == "recursive":
        return 1e-6 * n * (1 + p / 4)
    return 2e-7 * n * n * (1 + p / 5)
