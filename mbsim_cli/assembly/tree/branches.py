"""Branches of the tree and the connectivity matrices of Zhakatayev et al. (2023), section 2.

Joints and branches are numbered from 1, the ground is 0, as in the paper; joint i carries body i - 1 of the tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Branches:
    """Rows as the paper prints them."""

    joint_parent: list[tuple[int, int]]  # (joint, parent joint)
    branch_parent: list[tuple[int, int]]  # (branch, parent branch)
    joint_branch: list[tuple[int, int]]  # (first joint, last joint) of each branch


def branches(parent: Sequence[int]) -> Branches:
    """Branches of a tree whose bodies are numbered depth first (``parent``: -1 for the ground)."""
    children = [0] * (len(parent) + 1)
    for p in parent:
        children[p + 1] += 1
    first: list[int] = []
    branch_of: list[int] = []
    for joint, p in enumerate(parent):
        starts = p < 0 or children[p + 1] > 1
        if starts:
            first.append(joint)
        branch_of.append(len(first) - 1 if starts else branch_of[p])
    last = dict(zip(branch_of, range(len(parent)), strict=True))
    return Branches(
        joint_parent=[(i + 1, p + 1) for i, p in enumerate(parent)],
        branch_parent=[
            (k + 1, 0 if parent[joint] < 0 else branch_of[parent[joint]] + 1) for k, joint in enumerate(first)
        ],
        joint_branch=[(joint + 1, last[k] + 1) for k, joint in enumerate(first)],
    )
