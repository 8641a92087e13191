"""What holds between the terms of any body; where data break it, the sentence with the numbers says so."""

import re
from collections.abc import Iterator

import numpy as np

from mbsim_cli.reduction.cross_matrices import tilde
from mbsim_cli.reduction.data import Array, StandardInput

EXACT = 1e-6  # relative: files have 12 digits
NOTED = 1e-3  # from here on a defect that lumping explains is told
MOST_DAMPING = 1.0  # ratio above which damping looks like a mistake of units


def difference(a: Array, b: Array) -> float:
    """Largest difference of two arrays by the largest entry."""
    size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0) / size) if size else 0.0


def about_center(sid: StandardInput) -> Array:
    """Inertia (3, 3) about the centre of mass."""
    centre = sid.mdCM.M0 / sid.mass.M0
    return sid.J.M0 - sid.mass.M0 * (centre @ centre * np.eye(3) - np.outer(centre, centre))


def warnings_of(sid: StandardInput) -> Iterator[str]:
    """Sentences on what contradicts itself in the data of a body."""
    yield from _linear_terms(sid)
    yield from _places(sid)
    yield from _rotations(sid)
    yield from _masses(sid)
    yield from _frequencies(sid)
    yield from _damping(sid)


def _linear_terms(sid: StandardInput) -> Iterator[str]:
    n = sid.n
    first = sid.mdCM.M1 if sid.mdCM.M1 is not None else np.zeros((n, 3))
    inertia = sid.J.M1 if sid.J.M1 is not None else np.zeros((n, 3, 3))
    for what, a, b in (("Ct = d mdCM/dq", sid.Ct.M0, first), ("Oe = -dJ/dq / 2", sid.Oe.M0, -inertia / 2)):
        if (defect := difference(a, b)) > EXACT:
            yield f"{what} fails by {defect:.2g} of the largest entry"
    if sid.Ct.M1 is not None and (defect := difference(sid.Ct.M1, sid.Ct.M1.swapaxes(0, 1))) > EXACT:
        yield (
            f"Ct of first order changes by {defect:.2g} of its largest entry where two shapes are exchanged, which "
            "moves no body; half of each counts"
        )


def _places(sid: StandardInput) -> Iterator[str]:
    """Nodes are moved by phi and turned by psi, whatever else is said of their places."""
    for node in sid.nodes:
        n = sid.n
        moved = node.origin.M1 if node.origin.M1 is not None else np.zeros((n, 3))
        turned = node.AP.M1 if node.AP.M1 is not None else np.zeros((n, 3, 3))
        pairs = (("phi = d origin/dq", node.phi.M0, moved), ("psi~ = d AP/dq", tilde(node.psi.M0), turned))
        for what, a, b in pairs:
            if (defect := difference(a, b)) > EXACT:
                yield f"node {node.name}: {what} fails by {defect:.2g} of the largest entry"


def _rotations(sid: StandardInput) -> Iterator[str]:
    skew = (sid.Gr.M0 - sid.Gr.M0.transpose(0, 2, 1)) / 2
    most = 2 * np.sqrt(np.abs(np.trace(sid.J.M0)) * np.abs(sid.Me.M0).max())  # that a body of such inertia has
    defect = np.abs(skew + tilde(sid.Cr.M0)).max(initial=0.0) / most if most else 0.0
    if defect > NOTED:
        why = "rotary inertia, lumping, or a mistake of the writer"
        yield f"the skew part of Gr differs from -Cr~ by {defect:.2g} of what is possible ({why})"


def _masses(sid: StandardInput) -> Iterator[str]:
    moments = np.linalg.eigvalsh(about_center(sid))
    if moments[0] < -NOTED * np.abs(sid.J.M0).max():
        yield f"the inertia about the centre of mass has the principal moment {moments[0]:.4g}: J and mdCM do not fit"
    if sid.Oe.M1 is not None:
        trace = np.trace(sid.Oe.M1, axis1=2, axis2=3)
        if (defect := difference(trace, -2 * sid.Me.M0)) > NOTED:
            yield (
                f"the squares of Oe in q sum to what differs from -2 Me by {defect:.2g} of the largest entry "
                "(geometric stiffening, or a mistake of the writer)"
            )
    shares = (sid.Ct.M0**2).sum(1)
    for i, (share, modal) in enumerate(zip(shares, np.diag(sid.Me.M0), strict=True)):
        if share > (1 + NOTED) * sid.mass.M0 * modal:
            yield f"mode {i + 1}: Ct^2 = {share:.4g} exceeds mass times Me = {float(sid.mass.M0) * modal:.4g}"


def _frequencies(sid: StandardInput) -> Iterator[str]:
    labels = [found and float(found[1]) for found in (re.search(r"([-+.\deE]+)\s*Hz", name) for name in sid.modes)]
    if not labels or None in labels:
        return
    computed = sid.frequencies()
    for i, (stated, found) in enumerate(zip(sorted(labels), computed, strict=False)):  # type: ignore[type-var]
        if abs(stated - found) > NOTED * max(found, 1e-300):  # type: ignore[operator]
            yield f"frequency {i + 1} is {found:.6g} Hz by Ke and Me; its label says {stated:.6g} Hz"


def _damping(sid: StandardInput) -> Iterator[str]:
    from scipy.linalg import eigh

    if not sid.De.M0.any():
        return
    squares, V = eigh(sid.Ke.M0, sid.Me.M0)
    ratios = np.diag(V.T @ sid.De.M0 @ V) / (2 * np.sqrt(np.maximum(squares, 1e-300)))
    if (high := float(ratios.max())) > MOST_DAMPING:
        yield f"De damps mode {int(ratios.argmax()) + 1} at {high:.3g} of the critical damping"
