"""Sensitivities of a whole simulation: direct, and by the complex step."""

from dataclasses import replace

import numpy as np

from mbsim_cli.solve.forward import start

EPS = 1e-30
OUTPUTS = ("position", "velocity", "acceleration", "lambda_", "sensors")


def simulate(problem, steps, theta=None):
    """Instants 0 .. steps, {output: (steps + 1, ...)}; sensitivities as ``d_...`` where they are wanted."""
    simulation = start(problem, theta)
    blocks = [simulation.first_block(), simulation.advance(steps)]
    names = [
        *OUTPUTS,
        *(f"d_{name}".rstrip("_") for name in OUTPUTS),
        "gradient_error",
        "drift",
        "energy",
        "iterations",
    ]
    return {name: np.concatenate([getattr(block, name) for block in blocks]) for name in names}


def direct(problem, directions, steps):
    """Direct sensitivities along directions (p, len(theta))."""
    options = replace(problem.options, sensitivity="ddm")
    return simulate(replace(problem, theta_rho=np.array(directions).T, options=options), steps)


def complex_step(problem, direction, steps):
    """Derivatives of all outputs of the discrete solution along one direction, to round-off."""
    # the imaginary part converges one correction after the real one
    options = replace(problem.options, tolerance=1e-15, sensitivity="none")
    found = simulate(replace(problem, options=options), steps, problem.theta + 1j * EPS * direction)
    return {name: found[name].imag / EPS for name in OUTPUTS}


def floors(problem):
    """What round-off may leave of each output, for a direction of unit length: that of positions, through the step."""
    h = problem.options.step
    acceleration = 1e-13 * (1.0 + 4.0 / h**2)
    return {
        "position": 1e-12,
        "velocity": 2e-13 * (1.0 + 2.0 / h),
        "acceleration": acceleration,
        "lambda_": 200 * acceleration,
        "sensors": 200 * acceleration,
    }


def assert_agree_together(problem, directions, steps, relative=1e-9):
    """The same by a single complex run along all directions, of which each moves some output as far as any other."""
    rows, found = np.array(list(directions.values())), direct(problem, list(directions.values()), steps)
    moved = {output: found[f"d_{output}".rstrip("_")].reshape(-1, len(rows)) for output in OUTPUTS}
    sizes = [np.abs(each).max(axis=0, initial=0.0) for each in moved.values()]
    share = np.max([size / size.max() for size in sizes if size.any()], axis=0)
    weights = np.random.default_rng(9).choice([-1.0, 1.0], len(rows)) / np.where(share > 0.0, share, 1.0)
    exact, floor, nonzero = complex_step(problem, weights @ rows, steps), floors(problem), 0
    length = max(1.0, np.abs(exact["position"]).max())  # floors are of positions that move by one
    for output, each in moved.items():
        error = np.abs(each @ weights - exact[output].ravel()).max(initial=0.0)
        size = np.abs(exact[output]).max(initial=0.0)
        nonzero += size > 1e3 * length * floor[output]
        assert error <= relative * size + length * floor[output], output
    assert nonzero, "nothing varied"


def assert_agree(problem, directions, steps, outputs=OUTPUTS, relative=1e-9):
    """Check direct sensitivities along {name: direction}, relative to each one's largest derivative."""
    assert directions
    found = direct(problem, list(directions.values()), steps)
    floor, failures, nonzero = floors(problem), [], 0
    for k, (name, direction) in enumerate(directions.items()):
        exact, length = complex_step(problem, direction, steps), max(1.0, np.linalg.norm(direction))
        for output in outputs:
            error = np.abs(found[f"d_{output}".rstrip("_")][..., k] - exact[output]).max(initial=0.0)
            size = np.abs(exact[output]).max(initial=0.0)
            nonzero += size > 1e3 * floor[output]
            if not error <= relative * size + length * floor[output]:
                failures.append(f"{name:40s} {output:12s} error {error:.2e} of {size:.2e}, floor {floor[output]:.1e}")
    assert not failures, "\n".join([f"{len(failures)} of {len(directions) * len(outputs)}", *failures[:40]])
    assert nonzero, "nothing varied"
