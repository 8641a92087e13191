"""Bodies by matrices of other programs: the same body as by its mesh, and files that are none."""

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.reduction.reduce import reduced
from tests.reduction.reduced import reduce_body
from tests.spec.example import write

from .bodies import brick, cantilever, crank

TEXT = """\
mbsim: 1
bodies:
  crank:
    flexible:
      mesh: {{type: matrices, stiffness: {K}, mass: {M}, nodes: nodes.csv}}
      sets: {{hub: {{x: 0}}, pin: {{x: {x}}}}}
      frame: {{fixed: hub}}
      modes: {{count: 4}}
      nodes: {{pin: {{set: pin}}}}
"""


def stored(path, structure):
    """Matrices in both formats, labels of nodes that are not their places."""
    points = structure.mesh.points
    labels = 10 * np.arange(len(points)) + 7
    np.savetxt(path / "nodes.csv", np.column_stack([labels, points]), delimiter=",", header="node,x,y,z", comments="")
    for name, A in (("K", structure.K), ("M", structure.M)):
        mmwrite(path / f"{name}.market.mtx", sparse.coo_matrix(A), symmetry="symmetric")
        low = sparse.tril(A).tocoo()
        nodes = [(labels[place // structure.per_node], place % structure.per_node + 1) for place in (low.row, low.col)]
        rows = np.column_stack([*nodes[0], *nodes[1], low.data])
        np.savetxt(path / f"{name}.mtx", rows, fmt=["%d"] * 4 + ["%.17g"], delimiter=",")


def reduce(path, K="K.mtx", M="M.mtx", x=0.4):
    return reduce_body(spec.load(write(path, TEXT.format(K=K, M=M, x=x))), "crank")


def test_a_triangle_by_labels_in_another_order_of_nodes(tmp_path):
    structure = reduced(crank(4, 2, 2)).body.structure
    stored(tmp_path, structure)
    before = reduce(tmp_path, x=structure.mesh.points[:, 0].max())
    header, *lines = (tmp_path / "nodes.csv").read_text().splitlines()
    (tmp_path / "nodes.csv").write_text("\n".join([header, *lines[1::2], *lines[::2]]))
    after = reduce(tmp_path, x=structure.mesh.points[:, 0].max())
    assert after.frequencies() == pytest.approx(before.frequencies(), rel=1e-9)


def test_nodes_on_a_line_may_be_held(tmp_path):
    """Three masses of 2 kg in a row on springs: the last two move against the first."""
    K = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]) * 1000
    for name, A in (("K", np.kron(K, np.eye(3))), ("M", 2 * np.eye(9))):
        mmwrite(tmp_path / f"{name}.mtx", sparse.coo_matrix(A))
    (tmp_path / "nodes.csv").write_text("node,x,y,z\n1,0,0,0\n2,0.1,0,0\n3,0.2,0,0\n")
    text = (
        TEXT.replace("      nodes: {{pin: {{set: pin}}}}\n", "")
        .format(K="K.mtx", M="M.mtx", x=0.2)
        .replace("count: 4", "count: 3")
    )
    with pytest.raises(ModelError, match=r"leaves the body 2 rigid motions \(turn about ., turn about .\)"):
        reduce_body(spec.load(write(tmp_path, text)), "crank")
    sid = reduce_body(spec.load(write(tmp_path, text.replace("hub: {x: 0}", "hub: {x: [0, 0.1]}"))), "crank")
    assert 2 * np.pi * sid.frequencies() == pytest.approx(np.sqrt([500.0] * 3), rel=1e-9)


@pytest.mark.parametrize("kind", ["", ".market"])
@pytest.mark.parametrize(
    "make", [lambda: crank(8, 2, 4), lambda: brick(elements=(3, 2, 1), k=4)], ids=["plate", "solid"]
)
def test_the_same_body(tmp_path, kind, make):
    by_mesh = reduced(make())
    stored(tmp_path, by_mesh.body.structure)
    x = by_mesh.body.structure.mesh.points[:, 0].max()
    sid = reduce(tmp_path, f"K{kind}.mtx", f"M{kind}.mtx", x)
    assert sid.frequencies() == pytest.approx(by_mesh.sid.frequencies(), rel=1e-9)
    assert sid.warnings == ()
    assert pytest.approx(by_mesh.sid.J.M0) == sid.J.M0 and pytest.approx(by_mesh.sid.mdCM.M0) == sid.mdCM.M0
    inertia = np.linalg.inv(sid.Ke.M0) @ sid.Ct.M0  # sag by accelerations, whatever the basis
    assert sid.Ct.M0.T @ inertia == pytest.approx(
        by_mesh.sid.Ct.M0.T @ np.linalg.inv(by_mesh.sid.Ke.M0) @ by_mesh.sid.Ct.M0, rel=1e-6, abs=1e-12
    )


def test_rotations_at_nodes_are_told(tmp_path):
    """Beam elements: masses are not scalar, so that integrals but Me are approximate."""
    by_mesh = reduced(cantilever(elements=6, k=4))
    stored(tmp_path, by_mesh.body.structure)
    sid = reduce(tmp_path, x=1)
    assert sid.frequencies() == pytest.approx(by_mesh.sid.frequencies(), rel=1e-9)
    assert "the mass matrix differs by" in sid.warnings[0]
    assert pytest.approx(by_mesh.sid.mass.M0, rel=0.1) == sid.mass.M0


def test_what_is_refused(tmp_path):
    structure = crank(4, 2, 4).structure
    stored(tmp_path, structure)
    mmwrite(tmp_path / "complex.mtx", sparse.identity(30) * 1j)
    mmwrite(tmp_path / "less.mtx", -sparse.identity(30))
    (tmp_path / "empty.mtx").write_text("** no entries\n")
    (tmp_path / "short.mtx").write_text("7,1,7,1\n")
    (tmp_path / "other.mtx").write_text("8,1,8,1,2.0\n")
    (tmp_path / "nan.mtx").write_text("\n".join(f"{10 * i + 7},2,{10 * i + 7},2,nan" for i in range(15)))
    unsymmetric = structure.K.tolil()
    unsymmetric[0, 3] *= 2
    mmwrite(tmp_path / "skew.mtx", sparse.coo_matrix(unsymmetric), symmetry="general")
    mmwrite(tmp_path / "large.mtx", sparse.identity(17))
    mmwrite(tmp_path / "places.mtx", sparse.identity(30), field="pattern")
    for file, sentence in (
        ("none.mtx", "there is no file"),
        ("complex.mtx", "is no matrix of real numbers"),
        ("less.mtx", "is of no body: row 1 has -.* on the diagonal, less than 0"),
        ("empty.mtx", "it has no entries"),
        ("short.mtx", "its lines have 4 numbers, not 5"),
        ("other.mtx", "node 8 is not among the nodes"),
        ("nan.mtx", "holds numbers that are not finite"),
        ("skew.mtx", "is not symmetric"),
        ("places.mtx", "is no matrix: it says where entries are, not what they are"),
        ("large.mtx", "is 17 x 17, not 2, 3 or 6 rows for each of 15 nodes"),
    ):
        with pytest.raises(ModelError, match=sentence) as error:
            reduce(tmp_path, K=file)
        assert error.value.issues[0].path == "bodies.crank.flexible.mesh.stiffness"
    mmwrite(tmp_path / "nothing.mtx", sparse.coo_matrix((30, 30)))
    with pytest.raises(ModelError, match="all its entries are zero"):
        reduce(tmp_path, M="nothing.mtx")
    (tmp_path / "nodes.csv").write_text("node,x,y\n1,0,0\n")
    with pytest.raises(ModelError, match="has no column z"):
        reduce(tmp_path)


def test_parts_that_nothing_connects(tmp_path):
    """A spring is cut out: what hangs free has no frequency of its own."""
    structure = crank(4, 2, 4).structure
    K = structure.K.tolil()
    far = np.repeat(structure.mesh.points[:, 0] > 0.25, 2)
    K[np.ix_(far, ~far)] = 0
    K[np.ix_(~far, far)] = 0
    stored(tmp_path, structure)
    mmwrite(tmp_path / "cut.mtx", sparse.coo_matrix(K), symmetry="symmetric")
    with pytest.raises(ModelError, match="the mesh has 2 parts that nothing connects"):
        reduce(tmp_path, K="cut.mtx")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("sets:", "material: steel\n      sets:", "matrices have no material"),
        ("modes:", "stiffening: [rotation]\n      modes:", "matrices tell no stresses"),
        ("pin: {{x: {x}}}", "pin: {{nearest: [0.4, 0, 0]}}", "whose rotation is not defined"),
    ],
)
def test_what_matrices_do_not_tell(tmp_path, old, new, sentence):
    stored(tmp_path, crank(4, 2, 4).structure)
    text = TEXT.replace(old, new).format(K="K.mtx", M="M.mtx", x=0.4)
    with pytest.raises(ModelError, match=sentence):
        reduce_body(spec.load(write(tmp_path, text)), "crank")
