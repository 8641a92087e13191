"""Momentum and angular momentum of bodies by their integrals and what sensors show of them, whatever moves them."""

import json
from typing import Any

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.study.reduced_bodies import standard_input
from tests.campaign import generator
from tests.campaign.flexible import problem_of
from tests.kernels.differentiate import simulate


def histories(data: generator.Data, step: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Momentum (N, 3), angular momentum (N, 3) about the global origin, and energy (N,)."""
    model = spec.load(generator.FILE, texts={str(generator.FILE): json.dumps(data)})
    bodies = {name: _integrals(model, name, body) for name, body in data["bodies"].items()}
    sensors: dict[str, Any] = {}
    for name, (n, *_) in bodies.items():
        sensors[f"r_{name}"] = {"type": "position", "point": f"{name}.origin"}
        sensors[f"v_{name}"] = {"type": "velocity", "point": f"{name}.origin"}
        sensors[f"w_{name}"] = {"type": "angular_velocity", "body": name}
        sensors |= {f"{a}_{name}": {"type": "direction", "vector": f"{name}.{a}"} for a in "xyz"}
        for order in (0, 1):
            for k in range(1, n + 1):
                shown = {"type": "elastic_coordinate", "body": name, "number": k, "derivative": order}
                sensors[f"q{k}_{order}_{name}"] = shown
    problem = problem_of(data | {"sensors": sensors}, step, steps)
    found = simulate(problem, steps)
    P, L, first = np.zeros((steps + 1, 3)), np.zeros((steps + 1, 3)), 0
    for n, mass, md, J, Ct, Cr in bodies.values():
        rows, first = found["sensors"][:, first : first + 18 + 2 * n], first + 18 + 2 * n
        for i, row in enumerate(rows):
            r, v, w, R = row[:3], row[3:6], row[6:9], row[9:18].reshape(3, 3).T  # R: columns are the body's axes
            q, qd = row[18 : 18 + n], row[18 + n :]
            p = mass * v + np.cross(w, R @ md(q)) + R @ (Ct(q).T @ qd)
            P[i] += p
            L[i] += np.cross(r, p) + R @ (np.cross(md(q), R.T @ v) + J(q) @ (R.T @ w) + Cr(q).T @ qd)
    return P, L, found["energy"][:, :2].sum(axis=1)


def _integrals(model: Any, name: str, body: generator.Data) -> tuple:
    """Number of shapes, mass, and first moment, inertia, Ct, Cr of the elastic coordinates, about the frame."""
    if "flexible" not in body:
        c, I = np.array(body["center_of_mass"]), body["inertia"]
        J0 = np.diag([I["xx"], I["yy"], I["zz"]]) + body["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
        return 0, body["mass"], lambda q: body["mass"] * c, lambda q: J0, *2 * (lambda q: np.zeros((0, 3)),)
    sid = standard_input(model, name, Numbers(model.expressions)).sid

    def first(term: Any, q: np.ndarray) -> np.ndarray:
        return term.M0 if term.M1 is None else term.M0 + np.tensordot(q, term.M1, 1)

    def inertia(q: np.ndarray) -> np.ndarray:
        second = 0.0 if sid.J.M2 is None else np.einsum("i,j,ijab->ab", q, q, sid.J.M2)
        return first(sid.J, q) + second

    def moment(q: np.ndarray) -> np.ndarray:
        second = 0.0 if sid.Ct.M1 is None else np.einsum("q,l,qla->a", q, q, sid.Ct.M1) / 2
        return first(sid.mdCM, q) + second

    return sid.n, float(sid.mass.M0), moment, inertia, lambda q: first(sid.Ct, q), lambda q: first(sid.Cr, q)
