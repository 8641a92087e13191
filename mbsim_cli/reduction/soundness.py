"""What no body has: data that are refused."""

import numpy as np

from mbsim_cli.reduction.data import Array, StandardInput
from mbsim_cli.reduction.identities import EXACT, difference
from mbsim_cli.reduction.sid_blocks import Block

_SYMMETRIC = ("Me", "Ke", "De", "J")


def require_sound(sid: StandardInput, modal: Block) -> None:
    """Raise InputOutputError, at the line of the term, where data cannot be those of a body."""

    def fail(name: str, message: str) -> None:
        block = modal.child(name, required=False) or modal
        block.fail(message, block.end if block is modal else block.line)

    for name, message in faults(sid):
        fail({"mass": "refmod"}.get(name, name), message)


def faults(sid: StandardInput) -> list[tuple[str, str]]:
    """Terms that no body has, with what is wrong."""
    found = []
    if not sid.mass.M0 > 0:
        found.append(("mass", f"the mass is {float(sid.mass.M0):g}, not greater than zero"))
    for name in _SYMMETRIC:
        matrix = getattr(sid, name).M0
        if (defect := difference(matrix, matrix.T)) > EXACT:
            found.append((name, f"{name} is not symmetric, by {defect:.2g} of the largest entry"))
    for name, floor in (("Me", EXACT**2), ("Ke", -EXACT)):
        if not found and (lowest := _lowest(getattr(sid, name).M0)) <= floor:
            kind = "positive definite" if name == "Me" else "positive semi-definite"
            found.append((name, f"{name} is not {kind}: an eigenvalue is {lowest:.3g} of the largest"))
    if (lowest := _lowest(sid.J.M0)) < -EXACT:
        found.append(("J", f"the inertia is not positive semi-definite: an eigenvalue is {lowest:.3g} of the largest"))
    return found + [fault for name, along in sid.design.items() for fault in _of_derivatives(sid, name, along)]


def _of_derivatives(sid: StandardInput, design: str, along: StandardInput) -> list[tuple[str, str]]:
    """A term that hardly changes has round-off for a derivative: what counts is the change of the body as a whole."""
    pairs = {name: (getattr(sid, name).M0, getattr(along, name).M0) for name in _SYMMETRIC}
    rate = max(_size(d) / _size(m) for m, d in pairs.values() if m.any())
    wrong = {n: d for n, (m, d) in pairs.items() if _size(d - d.T) > EXACT * max(_size(d), rate * _size(m))}
    text = f"is not symmetric in its derivative by {design}, by"
    return [(name, f"{name} {text} {difference(d, d.T):.2g} of the largest entry") for name, d in wrong.items()]


def _size(entries: Array) -> float:
    return float(np.abs(entries).max(initial=0.0))


def _lowest(matrix: Array) -> float:
    """The lowest eigenvalue by the largest one in size; rows and columns are brought to one size first."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    size = np.where(size > 0, size, 1.0)
    values = np.linalg.eigvalsh(matrix / np.outer(size, size))
    largest = np.abs(values).max()
    return float(values.min() / largest) if largest else 0.0
