"""Blocks of instants as one, however a run is cut into them."""

from collections.abc import Iterable

import numpy as np

from mbsim_cli.model.problem import Block


def joined(blocks: Iterable[Block]) -> list[np.ndarray]:
    """All instants of a run, by the fields of a block; behind them those inside its steps, where there are any."""
    blocks = list(blocks)
    fields = [parts for parts in zip(*blocks, strict=True) if isinstance(parts[0], np.ndarray)]
    inside = [each for block in blocks for each in block.inside]
    return [np.concatenate(parts) for parts in fields] + (joined(inside) if inside else [])
