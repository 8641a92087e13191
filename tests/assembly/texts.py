"""Model files for the tests, as texts, and how to assemble them."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly import Assembled, build
from mbsim_cli.assembly.position.closing import start_from

MODELS = Path(__file__).parents[2] / "models"
FIVEBAR = MODELS / "fivebar.yaml"


def load(folder: Path, text: str, **overrides: str) -> spec.ModelFile:
    """Write a text to a file and load it."""
    path = folder / "model.yaml"
    path.write_text("mbsim: 1\n" + dedent(text))
    return spec.load(path, overrides)


def assemble(folder: Path, text: str, **options) -> Assembled:
    """Assemble a text."""
    return build(load(folder, text), **options)


def repacked(assembled: Assembled, values: Mapping[str, float]) -> np.ndarray:
    """Theta at other values of parameters, evaluated block by block: nothing is judged or assembled anew."""
    theta, numbers = assembled.theta, assembled.theta.numbers
    expressions, known = numbers._environment, numbers._values
    numbers._environment, numbers._values = SimpleNamespace(value=lambda n: expressions.value(n, values)), {}
    try:
        found = np.array([entry for _, function, _ in theta._blocks for entry in function()], dtype=float)
    finally:
        numbers._environment, numbers._values = expressions, known
    return start_from(assembled.equations, assembled.closing, found, np.zeros((len(found), 0)))[0]


def two_bodies(joint: str, extra: str = "") -> str:
    """A body on a revolute joint to the ground, and a second one carried by the given joint lines."""
    return (
        dedent(
            """
        points:
          O: {ground: [0.1, 0.2, 0.3], a: [0.4, -0.1, 0.2]}
          J: {a: [0.3, -0.2, 0.5], b: [-0.1, 0.7, 0.2], ground: [1.0, 0.5, -0.3]}
        vectors:
          u: {ground: [0.2, -0.5, 0.9], a: [1, 0.3, -0.2], b: [0.1, 0.8, 0.4]}
          w: {a: [0.2, -1, 0.5], b: [-0.4, 0.2, 0.9]}
        bodies:
          a: {mass: 1, inertia: {xx: 1, yy: 1.2, zz: 1.1}}
          b: {mass: 2, inertia: {xx: 1, yy: 1.2, zz: 1.1}}
        joints:
          base: {type: revolute, bodies: [ground, a], point: O, axis: u}
        """
        )
        + "\n".join("  " + line for line in dedent(joint).strip().splitlines())
        + "\n"
        + dedent(extra)
    )
