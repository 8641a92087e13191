"""Pictures of docs/order_n.md: time against the number of links, and sensitivities of the double pendulum."""

from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward

MODEL = Path(__file__).parents[1] / "models" / "double_pendulum.yaml"
DURATION = 20
STEPS = {"L1": 1e-5, "L2": 1e-5, "M_P": 5e-4, "M_Q": 1e-5}  # of the finite differences, the paper's
SMALL_STEP = 1e-8
WINDOW = 50  # instants whose largest difference is drawn
LINEAR = 10.0  # J: derivatives below are drawn on a linear scale
STYLES = {
    "recursive": {"color": "C0", "marker": "o"},
    "conventional": {"color": "C3", "marker": "s"},
    "partial_recursive": {"color": "C2", "marker": "^"},
}
SETTINGS = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False, "savefig.dpi": 110}


def kinetic_energy(formulation, sensitivity="ddm", **parameters):
    """Time (N,), K (N,) and dK (N, 4) by rk4 with steps of 1 ms."""
    given = {"T": str(DURATION)} | {name: repr(value) for name, value in parameters.items()}
    assembled = assembly.build(spec.load(MODEL, given))
    options = replace(
        assembled.problem.options, formulation=formulation, integrator="rk4", step=1e-3, sensitivity=sensitivity
    )
    blocks = list(forward(replace(assembled.problem, options=options)))
    row = assembled.sensor_rows["K"]
    time, K, dK = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("time", "sensors", "d_sensors"))
    return time, K[:, row].ravel(), dK[:, row].reshape(time.size, -1)


def histories():
    """Time, and {method: dK (N, 4)}."""
    time, K, ours = kinetic_energy("recursive")

    def differences(steps):
        moved = [kinetic_energy("recursive", "none", **{name: 1.0 + step})[1] for name, step in steps.items()]
        return np.stack([(other - K) / step for other, step in zip(moved, steps.values(), strict=True)], axis=1)

    return time, {
        "recursive": ours,
        "conventional": kinetic_energy("conventional")[2],
        "finite differences": differences(STEPS),
        f"finite differences, step {SMALL_STEP:g}": differences(dict.fromkeys(STEPS, SMALL_STEP)),
    }


def differences_to_recursive(methods, k):
    """{method: (N,)}: over the largest derivative so far, and over one joule a unit where that is smaller."""
    ours = methods["recursive"][:, k]
    size = np.maximum(np.maximum.accumulate(np.abs(ours)), 1.0)
    return {name: np.abs(dK[:, k] - ours) / size for name, dK in methods.items() if name != "recursive"}


def draw_time(found, file):
    """Time of an evaluation with eight sensitivities: on linear scales as in the paper, and on logarithmic ones."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for name, times in found.items():
        n, t = np.array(times["n"]), 1e6 * np.array(times["with_sensitivities"])
        few = n <= 24
        label = name.replace("_", " ")
        axes[0].plot(n[few], t[few], label=label, markersize=4, **STYLES[name])
        axes[1].loglog(n, t, label=label, markersize=4, **STYLES[name])
    for axis in axes:
        axis.set_xlabel("links n")
    axes[0].set_ylabel("time of an evaluation, p = 8 [µs]")
    axes[0].set_xticks(range(0, 25, 4))
    axes[0].legend()
    for name, power in (("recursive", 1), ("conventional", 3)):
        n = np.array(found[name]["n"][-4:])
        t = 1.6e6 * found[name]["with_sensitivities"][-1] * (n / n[-1]) ** power
        axes[1].loglog(n, t, color="0.4", linestyle="--", linewidth=1)
        axes[1].annotate(f"n{'³' if power == 3 else ''}", (n[1], 1.35 * t[1]), color="0.4", ha="right")
    figure.savefig(file)
    plt.close(figure)


def draw_history(time, methods, k, name, file):
    """One derivative by all methods, and how far each is from the recursive one."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 4.2), sharex=True, layout="constrained")
    looks = {
        "recursive": {"color": "C0", "linewidth": 1.8},
        "conventional": {"color": "C3", "linewidth": 1.0, "linestyle": "--"},
        "finite differences": {"color": "C1", "linewidth": 1.0, "linestyle": ":"},
    }
    for method in ("finite differences", "recursive", "conventional"):
        label = f"{method}, step {STEPS[name]:g}" if method.startswith("finite") else method
        upper.plot(time, methods[method][:, k], label=label, **looks[method])
    upper.set_yscale("symlog", linthresh=LINEAR, linscale=0.6)
    upper.set_yticks([sign * 10.0**power for power in (2, 4, 6) for sign in (-1, 1)] + [0])
    upper.set_ylabel(f"dK/d{name}  [J/{'m' if name.startswith('L') else 'kg'}]")
    upper.legend(loc="upper left")
    rows = time.size // WINDOW * WINDOW
    far = differences_to_recursive(methods, k)
    for method in ("finite differences", "conventional"):
        largest = far[method][:rows].reshape(-1, WINDOW).max(axis=1)
        lower.semilogy(time[:rows:WINDOW], np.maximum(largest, 1e-17), **looks[method])
    lower.set_ylabel("difference to recursive,\nover the largest so far")
    lower.set_xlabel("time [s]")
    lower.set_xlim(0, DURATION)
    figure.savefig(file)
    plt.close(figure)


def write(found, folder):
    """Write all pictures; say where finite differences leave the derivative."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(SETTINGS)
    draw_time(found, folder / "order_n_time.png")
    time, methods = histories()
    for k, name in enumerate(STEPS):
        draw_history(time, methods, k, name, folder / f"order_n_{name}.png")
        for method, error in differences_to_recursive(methods, k).items():
            off = time[error > 0.1]
            start = f"from {off[0]:.1f} s" if off.size else "never"
            print(f"dK/d{name}, {method}: largest difference {error.max():.1e}, over 10 % {start}")
