"""Forces along measures and coordinates: value, slopes, energy, and how these vary with numbers, of each kind.

``find_along`` leaves a force and its slopes in ``kin.forces``, where ``along`` and the others find them. Functions of
an element are generated from its values, and chosen by its kind. How measures vary is written once, where forces are
applied.
"""

from typing import Any

from mbsim_cli.kernels.algorithms.by_type import by_kind, only_with
from mbsim_cli.kernels.compiler.jit import inlined, python_of
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.kernels.elements import elements
from mbsim_cli.kernels.elements.element import BY_G, BY_G1, AlongMeasure
from mbsim_cli.kernels.elements.tape import result_of
from mbsim_cli.model.layout import NONE, LoadedSignals, Signals


@inlined
def does_work(forces, f):
    """Whether a force along a measure has energy and power: the rate of a state has none."""
    return forces.measure[f] != NONE and forces.axes[f] != NONE


_HERE = python_of(does_work)  # generated functions belong to this file

# Functions of elements ------------------------------------------------------------------------------------------------
#
# Their arguments; the statement of an element, with ``held`` the arguments of its value, ``aside`` those of what was
# put aside, and zeros for its inputs in ``none``; and the statement where there is no such element.

_PASSIVE = {"f": "f", "law": "model.forces.law", "laws": "model.laws", "o": "model.forces.theta[f]"}
_ZERO = "0.0 * at(dtheta, 0, k)"
_FORCE = {
    "find": ("model, theta, t, f, g, g1, kin", "{keep}({held}, kin.forces[f])", "return"),
    "own": ("model, theta, dtheta, t, f, k, kin", "return {vary}({aside}, dtheta, k, {none})", f"return {_ZERO}"),
    "pull": ("model, theta, t, f, k, kin, hat, theta_out", "{pull}({aside}, hat, k, theta_out)", "return"),
}
_ENERGY = {
    "energy": (
        "model, theta, f, g",
        "return {value}({held}), {vary_fixed}({held}, 1.0 + 0.0 * g)",
        "return 0.0 * g, 0.0 * g",
    ),
    "energy_own": ("model, theta, dtheta, f, k, g", "return {vary}({held}, dtheta, k, {none})", f"return {_ZERO}"),
    "pull_energy": ("model, theta, f, k, g, hat, theta_out", "{pull}({held}, hat, k, theta_out)", "return"),
}


def _statement(line: str, of: Derivatives, *, kept: bool) -> tuple[str, dict[str, Any]]:
    """The statement of a line for an element, or for its energy, and the functions that it names."""

    def given(names: list[str]) -> str:
        return ", ".join(_PASSIVE.get(name, name) for name in names)

    functions = {"value": of.function, "keep": of.keep, "vary": of.vary_kept if kept else of.vary}
    functions |= {"vary_fixed": of.vary_fixed, "pull": of.pull_kept if kept else of.pull}
    names = {role: function.__name__ for role, function in functions.items()}
    aside = [*(name for name in of.arguments if name not in of.inputs), "kin.forces[f]"]
    none = ", ".join(_ZERO for _ in of.inputs)
    statement = line.format(held=given(of.arguments), aside=given(aside), none=none, **names)
    return statement, {"at": at, **{function.__name__: function for function in functions.values()}}


def _chosen(form: str, text: str) -> Any:
    kept = form in _FORCE
    arguments, line, otherwise = (_FORCE if kept else _ENERGY)[form]
    statements = {
        each: _statement(line, each if kept else each.energy, kept=kept)
        for each in elements(AlongMeasure)
        if kept or each.energy
    }
    return by_kind(f"{form}_along", arguments, statements, otherwise, _HERE, text)


find_along = _chosen("find", "Leave the force f, without its expression, and its slopes, in ``kin.forces``.")
own_along = _chosen("own", "Variation k of the force with its own numbers, at fixed g and g'.")
pull_along = _chosen("pull", "Add what an adjoint of the force is of its own numbers to ``theta_out``.")
energy_along = _chosen("energy", "What the force stores at g, and its derivative by g.")
energy_own_along = _chosen("energy_own", "Variation k of the energy with the force's own numbers, at fixed g.")
pull_energy_along = _chosen("pull_energy", "Add what an adjoint of the energy is of these numbers to ``theta_out``.")


# What forces take from expressions of the motion; chosen by whether the model has any, so others pay nothing.
#
# ``signals`` finds their values, variations and adjoints, which stand in ``kin.signals``, ``tw.signals`` and
# ``adj.signals``.


_with_signals = only_with("model.signals", Signals, LoadedSignals)


@_with_signals(lambda model, f: False)
def reads_signals(model, f):
    """Whether force f reads an expression."""
    of = model.signals.of_force
    return of[f, 0] != NONE or of[f, 1] != NONE or of[f, 2] != NONE


@_with_signals(lambda model, kin, f: (kin.forces[f, 0], kin.forces[f, BY_G], kin.forces[f, BY_G1]))
def along(model, kin, f):
    """Force along a measure, with its expression, and its slopes by g and g'; needs ``find_along``."""
    Q, by_g, by_g1, u = kin.forces[f, 0], kin.forces[f, BY_G], kin.forces[f, BY_G1], model.signals.of_force[f, 0]
    if u == NONE:
        return Q, by_g, by_g1
    o, work = model.signals.offset[u], kin.signals
    return Q + work.value[result_of(model.signals, u)], by_g + work.slope[o], by_g1 + work.slope[o + 1]


@_with_signals(lambda model, kin, f, j, x: x)
def with_signal(model, kin, f, j, x):
    """Component j of a force, with its expression."""
    u = model.signals.of_force[f, j]
    return x if u == NONE else x + kin.signals.value[result_of(model.signals, u)]


@_with_signals(lambda model, tw, f, j, k, x: x)
def with_signal_variation(model, tw, f, j, k, x):
    """Variation k of component j of a force, with that of its expression."""
    u = model.signals.of_force[f, j]
    return x if u == NONE else x + at(tw.signals.value, u, k)


@_with_signals(lambda model, f, j, k, hat, adj: None)
def pull_to_signal(model, f, j, k, hat, adj):
    """Add an adjoint of component j of a force to that of its expression."""
    u = model.signals.of_force[f, j]
    if u != NONE:
        add_to(adj.signals.value, u, k, hat)
