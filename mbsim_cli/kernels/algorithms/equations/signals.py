"""Expressions of the motion that forces read: values, variations, covectors.

A signal is a function of sensors, of the measure that its force acts along, of t and of numbers. What it reads of its
own measure stands in the slopes of the force by g and g' (``signal_reading``), as of any spring. All else it reads by
sensors of the inputs: the model with these in place of its own is ``of_inputs(model)``. Derivation:
docs/theory/expressions.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.sensor_variation import vary_sensors
from mbsim_cli.kernels.algorithms.equations.sensors import sense, value_and_rate
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.tape import pull_numbers_of_tape, run_tape, vary_numbers_of_tape
from mbsim_cli.model.layout import NONE, Model, NoSignals, Sensors


class MotionVariation(NamedTuple):
    """Variations of positions and velocities, as sensors read them."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray


@inlined
def of_inputs(model):
    """The model with the sensors that expressions read as its own."""
    s = model.signals
    return Model(
        model.tree, model.pairs, model.measures, model.constraints, model.forces, model.laws,
        Sensors(s.kind, s.body, s.index, s.order, s.sensor_theta, s.row), model.armatures, NoSignals(s.none),
        model.elements,
    )  # fmt: skip


@kernel
def _find(model, theta, t, z, zd, kin):
    signals, work = model.signals, kin.signals
    if signals.kind.size > 0:
        sense(of_inputs(model), theta, t, z, zd, zd, work.load.lam, kin, work.inputs)
    for u in range(signals.theta.size):
        o, m = signals.offset[u], signals.measure[u]
        if m != NONE:
            work.value[o], work.value[o + 1] = value_and_rate(model, theta, m, z, zd, kin)
        work.value[o + 2] = t
        place = o + 3
        for i in range(signals.first_input[u], signals.first_input[u + 1]):
            work.value[place] = work.inputs[signals.input[i]]
            place += 1
        for j in range(signals.steps[u] - signals.numbers[u]):
            work.value[place] = theta[signals.theta[u] + j]
            place += 1
        run_tape(signals, model.laws, theta, u, work.value, work.slope)


@kernel
def _vary(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw):
    signals, found = model.signals, tw.signals
    if signals.kind.size > 0:
        sens = MotionVariation(dz, dzd, dzd, found.lam)
        vary_sensors(of_inputs(model), theta, dtheta, touch, t, z, zd, zd, sens, kin, tw, found.inputs)
    for u in range(signals.theta.size):
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            own = vary_numbers_of_tape(
                signals, model.laws, theta, dtheta, k, u, kin.signals.value, kin.signals.slope
            )  # fmt: skip
            put(found.value, u, k, own + by_inputs(signals, kin.signals.slope, found.inputs, u, k))


@inlined
def by_inputs(signals, slope, inputs, u, k):
    """Variation k of signal u with its inputs (ni, p)."""
    o, first = signals.offset[u] + 3, signals.first_input[u]
    found = 0.0 * slope[signals.offset[u]] * at(inputs, 0, k) if inputs.shape[0] > 0 else 0.0
    for i in range(first, signals.first_input[u + 1]):
        found += slope[o + i - first] * at(inputs, signals.input[i], k)
    return found


@kernel
def _pull(model, theta, t, z, zd, kin, cov_out):
    signals, hats, slope = model.signals, cov_out.signals, kin.signals.slope
    for u in range(signals.theta.size):
        o, first = signals.offset[u] + 3, signals.first_input[u]
        for g in range(0, cov_out.each.size, width(cov_out.each)):
            k = block(cov_out.each, g)
            hat = at(hats.value, u, k)
            for i in range(first, signals.first_input[u + 1]):
                add_to(hats.inputs, signals.input[i], k, slope[o + i - first] * hat)
            pull_numbers_of_tape(signals, model.laws, theta, k, u, kin.signals.value, slope, hat, cov_out.theta)
    if signals.kind.size > 0:
        pull_sensors(of_inputs(model), theta, t, z, zd, zd, kin, hats.inputs, cov_out)
    clear(hats.value)
    clear(hats.inputs)


class _Without:
    """Of models without expressions."""

    @staticmethod
    def find_signals(model, theta, t, z, zd, kin):
        pass

    @staticmethod
    def vary_signals(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw):
        pass

    @staticmethod
    def pull_signals(model, theta, t, z, zd, kin, cov_out):
        pass


class _With:
    """Of models with expressions."""

    @staticmethod
    def find_signals(model, theta, t, z, zd, kin):
        _find(model, theta, t, z, zd, kin)

    @staticmethod
    def vary_signals(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw):
        _vary(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw)

    @staticmethod
    def pull_signals(model, theta, t, z, zd, kin, cov_out):
        _pull(model, theta, t, z, zd, kin, cov_out)


_of_signals = members_by_type("model.signals", _With, lambda kind: _Without if kind is NoSignals else _With)


find_signals = _of_signals("find_signals", "Leave values and slopes in ``kin.signals``; needs V of all bodies.")
vary_signals = _of_signals(
    "vary_signals", "Leave variations, but for those by g and g', in ``tw.signals``; needs ``find_signals`` and N, N'."
)
pull_signals = _of_signals(
    "pull_signals", "Add the pull-back of ``cov.signals`` to the other covectors, and clear it; needs ``find_signals``."
)
