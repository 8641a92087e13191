"""The human and the robots, from their model files to result files, against Pinocchio."""

import h5py
import numpy as np
import pytest

from mbsim_cli import spec
from tests.models.command import ROOT, mbsim
from tests.models.tables import links

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracles
MODELS = [
    ROOT / "models" / name for name in ("human43.yaml", "human43_loaded.yaml", "robots/puma560.yaml", "robots/ur5.yaml")
]


def _constant(link):
    c, s, ca, sa = np.cos(link.theta), np.sin(link.theta), np.cos(link.alpha), np.sin(link.alpha)
    rotation = np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [0, sa, ca]])
    return pin.SE3(rotation, np.array([link.a * c, link.a * s, link.d]))


class Oracle:
    """A table as Pinocchio's model: each joint sits in the frame before its row's constant transform."""

    def __init__(self, rows):
        self.rows, self.model = rows, pin.Model()
        self.after, self.number = [_constant(row) for row in rows], []
        for row in rows:
            kind = pin.JointModelPrismaticUnaligned if row.prismatic else pin.JointModelRevoluteUnaligned
            parent = 0 if row.parent < 0 else self.number[row.parent]
            place = pin.SE3.Identity() if row.parent < 0 else self.after[row.parent]
            name = f"j{len(self.number)}"
            joint = self.model.addJoint(parent, kind(np.array([0, 0, row.sign])), place, name)
            inertia = pin.Inertia(row.mass, row.center, row.inertia)
            self.model.appendBodyToJoint(joint, inertia, self.after[len(self.number)])
            self.number.append(joint)
        self.data = self.model.createData()

    def forces(self, q):
        """Applied loads in the joints' own frames."""
        pin.forwardKinematics(self.model, self.data, q)
        found = pin.StdVec_Force()
        found.extend(pin.Force.Zero() for _ in range(self.model.njoints))
        for row, after, joint in zip(self.rows, self.after, self.number, strict=True):
            if row.force is not None:
                at = (self.data.oMi[joint] * after).act(row.point)
                load = pin.Force(row.force, row.torque + np.cross(at, row.force))
                found[joint] = self.data.oMi[joint].actInv(load)
        return found

    def torque(self, q, v, a):
        """Torques under the loads."""
        return pin.rnea(self.model, self.data, q, v, a, self.forces(q)).copy()

    def derivatives(self, q, v, a):
        """d torque / d (q, v, a); the loads keep their global components, which Pinocchio's do not."""
        by_q, by_v, by_a = (
            m.copy() for m in pin.computeRNEADerivatives(self.model, self.data, q, v, a, self.forces(q))
        )
        by_a = np.triu(by_a) + np.triu(by_a, 1).T
        if any(row.force is not None for row in self.rows):
            by_q += self._turning_loads(q)
        return by_q, by_v, by_a

    def _turning_loads(self, q):
        """-J^T of the change of each load in its joint's frame, (n, n)."""
        n = len(self.rows)
        total = np.zeros((n, n))
        pin.computeJointJacobians(self.model, self.data, q)
        forces = self.forces(q)
        for row, after, joint in zip(self.rows, self.after, self.number, strict=True):
            if row.force is None:
                continue
            J = pin.getJointJacobian(self.model, self.data, joint, pin.ReferenceFrame.LOCAL)
            f, point = forces[joint], after.act(row.point)
            for m in range(n):
                w = J[3:, m]
                linear = -np.cross(w, f.linear)
                # the point of application is fixed in the link: only the components turn
                couple = f.angular - np.cross(point, f.linear)
                angular = -np.cross(w, couple) + np.cross(point, linear)
                total[:, m] -= J.T @ np.concatenate([linear, angular])
        return total


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_result_file(path, tmp_path):
    mbsim("run", str(path), "-o", str(tmp_path / "out.h5"), "--sensitivity", "ddm")
    model = spec.load(path)
    rows = [row for table in model.dh.values() for row in table.rows.values()]
    fixed = [i for i, row in enumerate(rows) if row.variable == "none"]
    chain = links(model)
    oracle = Oracle([_with_tool(chain, i, fixed) for i in range(len(chain)) if i not in fixed])
    with h5py.File(tmp_path / "out.h5") as file:
        for row in range(0, len(file["time"]), 25):
            at = [file[f"coordinates/{kind}"][row] for kind in ("position", "velocity", "acceleration")]
            expected = [oracle.torque(*at), *oracle.derivatives(*at)]
            found = [file["torque"][row]]
            found += [file[f"sensitivity/torque/{kind}"][row] for kind in ("position", "velocity", "acceleration")]
            for ours, theirs, tolerance in zip(found, expected, (1e-9, 1e-8, 1e-8, 1e-8), strict=True):
                scale = max(np.abs(theirs).max(), 1e-3 * np.abs(expected[0]).max())
                assert np.abs(ours - theirs).max() <= tolerance * scale


def _with_tool(chain, i, fixed):
    """A link with the point mass of a fixed frame behind it; here that frame is the link's own."""
    link = chain[i]
    for j in fixed:
        if chain[j].parent == i:
            assert not np.any(chain[j].inertia) and not np.any(chain[j].center)
            mass = link.mass + chain[j].mass
            center = link.mass * link.center / mass
            offset, other = link.center - center, -center
            for m, r in ((link.mass, offset), (chain[j].mass, other)):
                link.inertia = link.inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
            link.mass, link.center = mass, center
    return link
