"""Blocks of instants as one, however a run is cut into them."""

from collections.abc import Iterable

import numpy as np

from mbsim_cli.model.problem import Block


def joined(blocks: Iterable[Block]) -> list[np.ndarray]:
    """All instants of a run, by the fields of a block."""
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
