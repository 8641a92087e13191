"""What forces take from expressions of the motion; chosen by whether the model has any, so others pay nothing.

``signals`` finds their values, variations and covectors, which stand in ``kin.signals``, ``tw.signals`` and
``cov.signals``.
"""

from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.tape import result_of
from mbsim_cli.model.layout import NONE, NoSignals


class _Without:
    """Of models without expressions."""

    @staticmethod
    def reads_signals(model, f):
        return False

    @staticmethod
    def with_signal(model, kin, f, Q, by_g, by_g1):
        return Q, by_g, by_g1

    @staticmethod
    def with_signal_variation(model, tw, f, k, dQ):
        return dQ

    @staticmethod
    def pull_to_signal(model, f, k, hat, cov):
        pass

    @staticmethod
    def with_signals(model, kin, f, vector):
        return vector

    @staticmethod
    def with_variations_of_signals(model, tw, f, k, vector):
        return vector

    @staticmethod
    def pull_to_signals(model, f, k, hat, cov):
        pass


class _With:
    """Of models with expressions."""

    @staticmethod
    def reads_signals(model, f):
        of = model.signals.of_force
        return of[f, 0] != NONE or of[f, 1] != NONE or of[f, 2] != NONE

    @staticmethod
    def with_signal(model, kin, f, Q, by_g, by_g1):
        u = model.signals.of_force[f, 0]
        if u == NONE:
            return Q, by_g, by_g1
        o, work = model.signals.offset[u], kin.signals
        return Q + work.value[result_of(model.signals, u)], by_g + work.slope[o], by_g1 + work.slope[o + 1]

    @staticmethod
    def with_signal_variation(model, tw, f, k, dQ):
        u = model.signals.of_force[f, 0]
        return dQ if u == NONE else dQ + at(tw.signals.value, u, k)

    @staticmethod
    def pull_to_signal(model, f, k, hat, cov):
        u = model.signals.of_force[f, 0]
        if u != NONE:
            add_to(cov.signals.value, u, k, hat)

    @staticmethod
    def with_signals(model, kin, f, vector):
        return (
            _component(model, kin, f, 0, vector[0]),
            _component(model, kin, f, 1, vector[1]),
            _component(model, kin, f, 2, vector[2]),
        )

    @staticmethod
    def with_variations_of_signals(model, tw, f, k, vector):
        return (
            _vary_component(model, tw, f, 0, k, vector[0]),
            _vary_component(model, tw, f, 1, k, vector[1]),
            _vary_component(model, tw, f, 2, k, vector[2]),
        )

    @staticmethod
    def pull_to_signals(model, f, k, hat, cov):
        _pull_component(model, f, 0, k, hat[0], cov)
        _pull_component(model, f, 1, k, hat[1], cov)
        _pull_component(model, f, 2, k, hat[2], cov)


@inlined
def _component(model, kin, f, j, x):
    u = model.signals.of_force[f, j]
    return x if u == NONE else x + kin.signals.value[result_of(model.signals, u)]


@inlined
def _vary_component(model, tw, f, j, k, x):
    u = model.signals.of_force[f, j]
    return x if u == NONE else x + at(tw.signals.value, u, k)


@inlined
def _pull_component(model, f, j, k, hat, cov):
    u = model.signals.of_force[f, j]
    if u != NONE:
        add_to(cov.signals.value, u, k, hat)


_of_signals = members_by_type("model.signals", _With, lambda kind: _Without if kind is NoSignals else _With)


reads_signals = _of_signals("reads_signals", "Whether force f reads an expression.")
with_signal = _of_signals("with_signal", "A force along a measure, and its slopes by g and g', with its expression.")
with_signal_variation = _of_signals("with_signal_variation", "Variation k of it by all that is not its own measure.")
pull_to_signal = _of_signals("pull_to_signal", "Add a covector of a force along a measure to that of its expression.")
with_signals = _of_signals("with_signals", "The vector of an applied force or torque, with its expressions.")
with_variations_of_signals = _of_signals("with_variations_of_signals", "Its variation k, in the axes it is given in.")
pull_to_signals = _of_signals("pull_to_signals", "Add covectors of its components to those of its expressions.")
