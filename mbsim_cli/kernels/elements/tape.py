"""Tapes: expressions of a model file as arrays of steps, so that nothing is compiled for a model.

A tape of signal u fills places: first come its inputs and numbers, see ``layout.Signals``, then what each step finds.
One sweep forwards gives the value, one backwards the slopes, the derivatives of the value by all places. Variations and
pull-backs are products with these slopes, so a tape runs once at a state, however many directions there are.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2, power
from mbsim_cli.kernels.compiler.jit import inlined, kernel, overload, types
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.laws import law_value, law_variation, pull_law
from mbsim_cli.model.codes import Operation


@kernel
def run_tape(signals, laws, theta, u, value, slope):
    """Fill ``value`` and ``slope`` at the places of signal u behind its inputs and numbers, which stand there."""
    o, first, last = signals.offset[u], signals.first_step[u], signals.first_step[u + 1]
    place = o + signals.steps[u]
    for i in range(first, last):
        a, b, c = signals.operand[i]
        if signals.code[i] == Operation.LAW:
            value[place], _, _ = law_value(laws, theta, b, value[o + a])
        else:
            value[place] = operate(signals.code[i], value[o + a], value[o + b], value[o + c])
        place += 1
    for j in range(o, place):
        slope[j] = 0.0
    slope[o + signals.result[u]] = 1.0
    for i in range(last - 1, first - 1, -1):
        place -= 1
        h = slope[place]
        if h != 0.0:
            a, b, c = signals.operand[i]
            if signals.code[i] == Operation.LAW:
                _, by_a, _ = law_value(laws, theta, b, value[o + a])
                slope[o + a] += h * by_a
            else:
                da, db, dc = slopes_of(signals.code[i], value[o + a], value[o + b], value[o + c], value[place])
                slope[o + a] += h * da
                slope[o + b] += h * db
                slope[o + c] += h * dc


@inlined
def result_of(signals, u):
    """Place of the value of signal u."""
    return signals.offset[u] + signals.result[u]


@inlined
def vary_numbers_of_tape(signals, laws, theta, dtheta, k, u, value, slope):
    """Variation k of signal u with its numbers and those of its laws; its inputs are held."""
    o, found = signals.offset[u], 0.0 * at(dtheta, 0, k)
    for j in range(signals.numbers[u], signals.steps[u]):
        found += slope[o + j] * at(dtheta, signals.theta[u] + j - signals.numbers[u], k)
    for i in range(signals.first_step[u], signals.first_step[u + 1]):
        if signals.code[i] == Operation.LAW:
            h = slope[o + signals.steps[u] + i - signals.first_step[u]]
            d, _, _ = law_variation(laws, theta, dtheta, k, signals.operand[i, 1], value[o + signals.operand[i, 0]])
            found += h * d
    return found


@inlined
def pull_numbers_of_tape(signals, laws, theta, k, u, value, slope, hat, hat_out):
    """Add what an adjoint of signal u, in column k, is of its numbers and of those of its laws."""
    o = signals.offset[u]
    for j in range(signals.numbers[u], signals.steps[u]):
        add_to(hat_out, signals.theta[u] + j - signals.numbers[u], k, slope[o + j] * hat)
    for i in range(signals.first_step[u], signals.first_step[u + 1]):
        if signals.code[i] == Operation.LAW:
            h, none = slope[o + signals.steps[u] + i - signals.first_step[u]] * hat, 0.0 * hat
            law, x = signals.operand[i, 1], value[o + signals.operand[i, 0]]
            pull_law(laws, theta, law, x, k, h, none, none, hat_out)


@inlined
def operate(code, a, b, c):
    """One step but for laws, of real or complex numbers; comparing NaN, or choosing by it, gives NaN."""
    if code == Operation.ADD:
        return a + b
    if code == Operation.SUBTRACT:
        return a - b
    if code == Operation.MULTIPLY:
        return a * b
    if code == Operation.DIVIDE:
        return a / b
    if code == Operation.POWER:
        return power(a, b)
    if code == Operation.ATAN2:
        return atan2(a, b)
    if code == Operation.HYPOT:
        return np.sqrt(a * a + b * b)
    if code == Operation.MINIMUM:
        return b if b.real < a.real or np.isnan(b.real) else a
    if code == Operation.MAXIMUM:
        return b if b.real > a.real or np.isnan(b.real) else a
    if code == Operation.LESS:
        return 1.0 if a.real < b.real else 0.0 if a.real >= b.real else np.nan
    if code == Operation.LESS_EQUAL:
        return 1.0 if a.real <= b.real else 0.0 if a.real > b.real else np.nan
    if code == Operation.SELECT:
        return a if np.isnan(a.real) else b if a.real != 0.0 else c
    if code == Operation.NEGATE:
        return -a
    if code == Operation.ABS:
        return -a if a.real < 0.0 else a
    if code == Operation.SIGN:
        return np.sign(a.real)
    return function_of(code, a)


@inlined
def _function(code, a):
    if code == Operation.SQRT:
        return np.sqrt(a)
    if code == Operation.EXP:
        return np.exp(a)
    if code == Operation.LOG:
        return np.log(a)
    if code == Operation.SIN:
        return np.sin(a)
    if code == Operation.COS:
        return np.cos(a)
    if code == Operation.TAN:
        return np.tan(a)
    if code == Operation.ASIN:
        return np.arcsin(a)
    if code == Operation.ACOS:
        return np.arccos(a)
    if code == Operation.ATAN:
        return np.arctan(a)
    if code == Operation.SINH:
        return np.sinh(a)
    if code == Operation.COSH:
        return np.cosh(a)
    return np.tanh(a)


def function_of(code, a):
    """Function of one number; of a complex one to first order off the real axis: all that a complex step asks for."""
    if isinstance(a, complex | np.complexfloating):
        return _function(code, a.real) + 1j * (_slope_of_function(code, a.real, _function(code, a.real)) * a.imag)
    return _function(code, a)


@overload(function_of)
def _function_compiled(code, a):
    if isinstance(a, types.Complex):

        def complex_step(code, a):
            y = _function(code, a.real)
            return y + 1j * (_slope_of_function(code, a.real, y) * a.imag)

        return complex_step

    return lambda code, a: _function(code, a)


@inlined
def slopes_of(code, a, b, c, y):
    """Derivatives of a step, but for laws, by its operands; y is its value."""
    none = 0.0 * y
    one = 1.0 + none
    if code == Operation.ADD:
        return one, one, none
    if code == Operation.SUBTRACT:
        return one, -one, none
    if code == Operation.MULTIPLY:
        return b, a, none
    if code == Operation.DIVIDE:
        return one / b, -y / b, none
    if code == Operation.POWER:
        if y == 0.0 and a != 0.0:  # of an infinite base or exponent
            return none, none, none
        by_base = b * power(a, b - 1.0) if b != 0.0 else none
        return by_base, (y * np.log(a) if a.real > 0.0 else none), none
    if code == Operation.ATAN2:
        i = one / (a * a + b * b)
        return (b * i, -a * i, none) if i != 0.0 else (none, none, none)
    if code == Operation.HYPOT:
        i = one / y if y != 0.0 else none
        return a * i, b * i, none
    if code == Operation.MINIMUM:
        return (one, none, none) if a.real <= b.real else (none, one, none)
    if code == Operation.MAXIMUM:
        return (one, none, none) if a.real >= b.real else (none, one, none)
    if code == Operation.LESS or code == Operation.LESS_EQUAL or code == Operation.SIGN:
        return none, none, none
    if code == Operation.SELECT:
        return (none, one, none) if a.real != 0.0 else (none, none, one)
    if code == Operation.NEGATE:
        return -one, none, none
    if code == Operation.ABS:
        return one * np.sign(a.real), none, none
    return _slope_of_function(code, a, y), none, none


@inlined
def _slope_of_function(code, a, y):
    if code == Operation.SQRT:
        return 0.5 / y
    if code == Operation.EXP:
        return y
    if code == Operation.LOG:
        return 1.0 / a
    if code == Operation.SIN:
        return np.cos(a)
    if code == Operation.COS:
        return -np.sin(a)
    if code == Operation.TAN:
        return 1.0 + y * y
    if code == Operation.ASIN:
        return 1.0 / np.sqrt(1.0 - a * a)
    if code == Operation.ACOS:
        return -1.0 / np.sqrt(1.0 - a * a)
    if code == Operation.ATAN:
        return 1.0 / (1.0 + a * a)
    if code == Operation.TANH:
        return 1.0 - y * y
    e = np.exp(a)
    return 0.5 * (e + 1.0 / e) if code == Operation.SINH else 0.5 * (e - 1.0 / e)
