"""Spanning trees, cuts and branches."""

from mbsim_cli.assembly.info import branches
from mbsim_cli.assembly.tree.topology import KEEP, NEEDED, PREFER, Edge, span


def chain(names, **kinds):
    """Edges of a closed chain ground - b0 - b1 - ... - ground."""
    bodies = ["ground", *(f"b{i}" for i in range(len(names) - 1)), "ground"]
    return [Edge(name, bodies[i], bodies[i + 1], 1, **kinds.get(name, {})) for i, name in enumerate(names)]


def test_a_loop_is_cut_in_its_middle():
    tree, lost, refused = span([f"b{i}" for i in range(4)], chain("ABCDE"))
    assert tree.cut == ("C",)
    assert max(tree.depth()) == 2
    assert tree.bodies == ("b0", "b1", "b3", "b2")
    assert tree.parent == (-1, 0, -1, 2)
    assert tree.reversed == (False, False, True, True)
    assert tree.loops == (("C", "B", "A", "E", "D"),)
    assert not lost
    assert not refused


def test_a_forced_cut_is_honoured():
    for name in "ABCDE":
        tree, _, _ = span([f"b{i}" for i in range(4)], chain("ABCDE", **{name: {"cut": True}}))
        assert tree.cut == (name,)
        assert all(parent < body for body, parent in enumerate(tree.parent))


def test_kept_joints_are_exchanged_into_the_tree():
    tree, _, refused = span([f"b{i}" for i in range(4)], chain("ABCDE", C={"priority": KEEP}))
    assert "C" not in tree.cut
    assert not refused
    priorities = {name: {"priority": NEEDED} for name in "ACE"} | {"D": {"priority": PREFER}}
    tree, _, _ = span([f"b{i}" for i in range(4)], chain("ABCDE", **priorities))
    assert tree.cut == ("B",)


def test_a_loop_that_forbids_every_cut_is_refused():
    _, _, refused = span(["b0", "b1"], chain("ABC", **{name: {"priority": KEEP} for name in "ABC"}))
    assert len(refused) == 1


def test_bodies_without_way_to_the_ground_are_named():
    tree, lost, _ = span(["a", "b", "c"], [Edge("j", "ground", "a", 1), Edge("k", "b", "c", 1)])
    assert lost == ["b", "c"]
    assert tree.bodies == ("a",)


def test_the_freest_joint_of_equals_is_cut():
    edges = [Edge("O", "ground", "crank", 1), Edge("B", "ground", "rocker", 1)]
    edges += [Edge("S1", "crank", "rod", 2), Edge("S2", "rod", "rocker", 4)]
    tree, _, _ = span(["crank", "rod", "rocker"], edges)
    assert tree.cut == ("S2",)


def test_branches():
    """Branches end where the tree forks, and start anew there."""
    parent = [-1, 0, 1, 2, 3, 4, 4, 2, 7, 7, 9]
    found = branches(parent)
    assert found["joint_parent"][4] == (5, 4)
    assert found["branch_parent"] == [(1, 0), (2, 1), (3, 2), (4, 2), (5, 1), (6, 5), (7, 5)]
    assert found["joint_branch"] == [(1, 3), (4, 5), (6, 6), (7, 7), (8, 8), (9, 9), (10, 11)]


def test_the_tree_of_the_paper():
    """Figure 1 of Zhakatayev et al. (2023): 11 joints, 6 branches; 3 and 5 fork, 6, 7, 9 and 11 end."""
    found = branches([-1, 0, 1, 2, 3, 4, 4, 2, 7, 2, 9])
    assert found["branch_parent"] == [(1, 0), (2, 1), (3, 2), (4, 2), (5, 1), (6, 1)]
    assert found["joint_branch"] == [(1, 3), (4, 5), (6, 6), (7, 7), (8, 9), (10, 11)]
