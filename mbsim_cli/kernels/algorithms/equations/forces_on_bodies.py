"""Forces on bodies: applied ones, and those that depend on the motion of a body against another one or the ground.

One driver for all ``Element``s, in every system: it finds what an element sees, varies it, and pulls it back. The
functions of an element are generated from what it sees, and chosen by its kind. Kernels of a model know the elements
that it has alone, by the type of ``model.elements``. ``find_force_on_bodies`` leaves value and slopes in
``kin.forces``: variations and pull-backs at this state are made of them. All vectors have global axes, as body a sees
them.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from mbsim_cli.kernels.algebra.spatial import add6, cross_force, cross_motion, moved, sub6
from mbsim_cli.kernels.algebra.vectors import add3, add3_to, cross3, load3, load3_of, point_of, rotate, scale3, unrotate
from mbsim_cli.kernels.algorithms.by_type import by_kind, made, predicate
from mbsim_cli.kernels.algorithms.equations import along_measures
from mbsim_cli.kernels.algorithms.equations.constraints import between
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import derived, inlined, python_of
from mbsim_cli.kernels.derive.write import compiled_text
from mbsim_cli.kernels.elements import elements
from mbsim_cli.kernels.elements.element import QUANTITIES, Element
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import ON_BODIES, TYRES, Axes, Force
from mbsim_cli.model.layout import RADIUS

# Ports ----------------------------------------------------------------------------------------------------------------
#
# Lines of the generated functions, for a vector x of an element whose numbers stand at o + place. V is the motion of b
# against a, N its pose twist and dV the variation of V; x_hat is the adjoint of x, P and H those of N and of N'.

VALUE = {
    "point": "x = point_of(Rb, rb, load3(theta, o + place))",
    "velocity": "x = moved(V, of)",
    "turning": "x = V[0]",
    "axis": "x = rotate(Rb, load3(theta, o + place))",
    "point_of_first": "x = point_of(Ra, ra, load3(theta, o + place))",
    "axis_of_first": "x = rotate(Ra, load3(theta, o + place))",
    "given": "x = given_vector(model, theta, f, o + place, Rb, kin)",
}
VARIATION = {  # with the numbers held
    "point": "d_x = moved(N, x)",
    "velocity": "d_x = add3(moved(dV, of), cross3(V[0], d_of))",
    "turning": "d_x = dV[0]",
    "axis": "d_x = cross3(N[0], x)",
    "point_of_first": "d_x = scale3(0.0, N[0])",
    "axis_of_first": "d_x = scale3(0.0, N[0])",
    "given": "d_x = turned(model, f, N[0], x)",
}
OWN_VARIATION = {  # with them
    "point": "d_x = add3(moved(N, x), rotate(Rb, load3_of(dtheta, o + place, k)))",
    "axis": "d_x = add3(cross3(N[0], x), rotate(Rb, load3_of(dtheta, o + place, k)))",
    "point_of_first": "d_x = rotate(Ra, load3_of(dtheta, o + place, k))",
    "axis_of_first": "d_x = rotate(Ra, load3_of(dtheta, o + place, k))",
    "given": "d_x = add3(turned(model, f, N[0], x), vary_given(model, dtheta, f, o + place, k, Rb, tw))",
}
PULL_BACK = {  # velocities come before their points
    "velocity": "H = add6(H, (cross3(of, x_hat), x_hat)); of_hat = add3(of_hat, cross3(x_hat, V[0]))",
    "turning": "H = (add3(H[0], x_hat), H[1])",
    "point": "P = add6(P, (cross3(x, x_hat), x_hat)); add3_to(adj_out.theta, o + place, k, unrotate(Rb, x_hat))",
    "axis": "P = (add3(P[0], cross3(x, x_hat)), P[1]); add3_to(adj_out.theta, o + place, k, unrotate(Rb, x_hat))",
    "point_of_first": "add3_to(adj_out.theta, o + place, k, unrotate(Ra, x_hat))",
    "axis_of_first": "add3_to(adj_out.theta, o + place, k, unrotate(Ra, x_hat))",
    "given": "P = (add3(P[0], turned(model, f, x, x_hat)), P[1]); "
    "pull_given(model, f, o + place, k, Rb, x_hat, adj_out)",
}
PASSIVE = {  # other arguments of values, which never vary
    **{name: name for name in ("theta", "o", "f", "t")},
    "kind": "model.forces.kind[f]",
    "laws": "model.laws",
    "law": "model.forces.law",
    "road": "model.forces.law[f, 0]",
}


@inlined
def bodies_of(model, f):
    """Bodies a and b of a force."""
    pair = model.forces.pair[f]
    return model.pairs.a[pair], model.pairs.b[pair]


@inlined
def in_axes(model, f, R, x):
    """A vector that stands in the axes of the force, global or those of its body, in global axes."""
    return rotate(R, x) if model.forces.axes[f] == Axes.BODY else scale3(1.0 + 0.0 * R[0], x)


@inlined
def turned(model, f, n, x):
    """n x x where vectors of the force turn with its body, else zero."""
    change = cross3(n, x)
    return change if model.forces.axes[f] == Axes.BODY else scale3(0.0, change)


@inlined
def given_vector(model, theta, f, o, R, kin):
    """A given vector by its numbers at o and its expressions, global axes."""
    x, y, z = load3(theta, o)
    given = (
        along_measures.with_signal(model, kin, f, 0, x),
        along_measures.with_signal(model, kin, f, 1, y),
        along_measures.with_signal(model, kin, f, 2, z),
    )
    return in_axes(model, f, R, given)


@inlined
def vary_given(model, dtheta, f, o, k, R, tw):
    """Variation k of ``given_vector`` with its numbers and expressions."""
    x, y, z = load3_of(dtheta, o, k)
    x = along_measures.with_signal_variation(model, tw, f, 0, k, x)
    y = along_measures.with_signal_variation(model, tw, f, 1, k, y)
    z = along_measures.with_signal_variation(model, tw, f, 2, k, z)
    return in_axes(model, f, R, (x, y, z))


@inlined
def pull_given(model, f, o, k, R, hat, adj_out):
    """Transpose of ``vary_given``."""
    if model.forces.axes[f] == Axes.BODY:
        hat = unrotate(R, hat)
    for j in range(3):
        along_measures.pull_to_signal(model, f, j, k, hat[j], adj_out)
    add3_to(adj_out.theta, o, k, hat)


_HELPERS = (  # that the lines above and functions below call
    *(add3, add3_to, add6, at_origin, between, bodies_of, cross3, cross_force, cross_motion, given_vector),
    *(load3, load3_of, moved, point_of, pose_of, pull_given, rotate, scale3, sub6, turned, unrotate, vary_given),
)
_SPACE = {python_of(helper).__name__: helper for helper in _HELPERS}
_HERE = python_of(bodies_of)  # generated functions belong to this file

# Functions of one element --------------------------------------------------------------------------------------------

_BODIES = """\
    a, b = bodies_of(model, f)
    o = model.forces.theta[f]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    V = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
"""
_TWIST = "    dV = add6(N1, cross_motion(N, at_origin(kin.V, kin, b)))\n"
ARGUMENTS = {
    "find": "model, theta, t, f, kin",
    "vary": "model, theta, t, f, kin, N, N1",
    "vary_all": "model, theta, dtheta, t, f, k, kin, tw, N, N1",
    "pull": "model, theta, t, f, k, kin, hat, quantities_hat, adj_out",
}


def _lines(element: Element, ports: dict[str, str], kinds: tuple[str, ...] = ()) -> Iterator[str]:
    """A line for each vector that the element sees, of some kinds or of all."""
    for name, (kind, place, of) in element.sees.items():
        if kind in (kinds or ports):
            words = {"x": name, "d_x": f"d_{name}", "x_hat": f"{name}_hat", "place": str(place)}
            words |= {"of": of, "d_of": f"d_{of}", "of_hat": f"{of}_hat"}
            yield re.sub(r"\w+", lambda word, by=words: by.get(word[0], word[0]), f"    {ports[kind]}\n")


def _given(element: Element, *more: str, kept: bool = True) -> str:
    names = [name for name in element.arguments if name not in element.sees] if kept else element.arguments
    return ", ".join([*(PASSIVE.get(name, name) for name in names), *(["kin.forces[f]"] if kept else []), *more])


def _text(element: Element, form: str) -> str:
    """Source of a function of an element."""
    name = element.function.__name__
    head = f"def {form}_{name}_of_pair({ARGUMENTS[form]}):\n{_BODIES}{''.join(_lines(element, VALUE))}"
    varied = ", ".join(f"d_{each}" for each in element.sees)
    hats = ", ".join(f"{each}_hat" for each in element.sees)
    if form == "find":
        return f"{head}    element_keep({_given(element, kept=False)}, kin.forces[f])\n"
    if form == "vary":
        body = "".join(_lines(element, VARIATION))
        found = f"element_vary_fixed({_given(element, varied)})" + ("[0]" if element.quantities else "")
        return f"{head}{_TWIST}{body}    return {found}\n"
    if form == "vary_all":
        body = "".join(_lines(element, {**VARIATION, **OWN_VARIATION}))
        call = f"element_vary({_given(element, 'dtheta', 'k', varied)})"
        more = "(" + "0.0 * N[0][0], " * (QUANTITIES - element.quantities) + ")"
        found = f"wrench, q = {call}" if element.quantities else f"wrench, q = {call}, ()"
        return f"{head}{_TWIST}{body}    {found}\n    return wrench, q + {more}\n"
    hat = f"(hat, quantities_hat[:{element.quantities}])" if element.quantities else "hat"
    zeros = "    zero = scale3(0.0, hat[0])\n    P, H = (zero, zero), (zero, zero)\n"
    call = f"    {hats} = element_pull({_given(element, hat, 'k', 'adj_out.theta')})\n"
    first = "".join(_lines(element, PULL_BACK, ("velocity",)))
    others = "".join(_lines(element, PULL_BACK, tuple(kind for kind in PULL_BACK if kind != "velocity")))
    last = """\
    between(adj_out.P, a, b, k, 1.0, add6(P, cross_force(at_origin(kin.V, kin, b), H)))
    between(adj_out.D, a, b, k, 1.0, H)
"""
    return head + zeros + call + first + others + last


def _statement(element: Element, form: str) -> tuple[str, dict[str, Any]]:
    """A call of the function of an element."""
    space = {**_SPACE, "element_keep": element.keep, "element_pull": element.pull_kept}
    space |= {"element_vary": element.vary_kept, "element_vary_fixed": element.vary_fixed_kept}
    name = f"{form}_{element.function.__name__}_of_pair"
    function = derived(name, lambda: compiled_text(_text(element, form), _HERE, space), called=True)
    return f"return {name}({ARGUMENTS[form]})", {name: function}


# The choice of them ---------------------------------------------------------------------------------------------------

_NONE = {"find": "return", "pull": "return"}  # of a model without elements
_NONE["vary"] = "return scale3(0.0, N[0]), scale3(0.0, N[0])"
_NONE["vary_all"] = f"return (scale3(0.0, N[0]), scale3(0.0, N[0])), ({'0.0 * N[0][0], ' * QUANTITIES})"


def _chosen(form: str, name: str, text: str) -> Any:
    statements = {element: _statement(element, form) for element in elements(Element)}
    return by_kind(name, ARGUMENTS[form], statements, _NONE[form], _HERE, text)


find_force_on_bodies = _chosen("find", "find_force_on_bodies", "Leave the force f, and its slopes, in ``kin.forces``.")
vary_wrench_on_bodies = _chosen(
    "vary",
    "vary_wrench_on_bodies",
    "Variation of the wrench, as a sees it, by the twist N of b against a and its rate N'; all else is held.",
)
vary_with_quantities = _chosen(
    "vary_all", "vary_with_quantities", "Variation of the wrench and of the quantities in direction k."
)
pull_force_on_bodies = _chosen(
    "pull", "pull_force_on_bodies", "Add the pull-back of adjoints of the wrench, as a sees it, and of the quantities."
)


is_on_bodies = predicate("is_on_bodies", ON_BODIES, _HERE)
has_quantities = predicate(  # has more than its wrench for sensors to read
    "has_quantities", [kind for each in elements(Element) if each.quantities for kind in each.kinds], _HERE
)
is_tyre = predicate("is_tyre", TYRES, _HERE)


# Readings of ``kin.forces`` ------------------------------------------------------------------------------------------


@inlined
def wrench_on_bodies(kin, f):
    """Wrench on b about the origin, as ``find_force_on_bodies`` has left it."""
    return load3(kin.forces[f], 0), load3(kin.forces[f], 3)


@inlined
def vector_of(model, f, wrench):
    """The vector of a wrench that sensors read: its force, or the moment of a torque."""
    return wrench[0] if model.forces.kind[f] == Force.TORQUE else wrench[1]


@inlined
def quantities_of(kin, f):
    """Quantities of an element, as ``find_force_on_bodies`` has left them."""
    q = kin.forces[f]
    return (q[6], q[7], q[8], q[9], q[10], q[11], q[12], q[13], q[14], q[15], q[16], q[17], q[18], q[19])


@inlined
def penetration(kin, f):
    """Penetration [m] of a contact, negative where bodies are apart, and its rate; needs ``find_force_on_bodies``."""
    return kin.forces[f, 11], kin.forces[f, 10]


@inlined
def sliding_speed(kin, f):
    """Sliding speed [m/s] of a contact, NaN where it does not touch; needs ``find_force_on_bodies``."""
    q = kin.forces[f]
    return q[7] if q[6].real > 0.0 else np.nan + 0.0 * q[7]


@inlined
def tyre_deflection(model, theta, f, kin):
    """Deflection [m] of a tyre by the road, negative above it, and its rate."""
    _, b = bodies_of(model, f)
    R, r = pose_of(kin, b)
    o = model.forces.theta[f]
    c = point_of(R, r, load3(theta, o))
    v = moved(at_origin(kin.V, kin, b), c)
    height, slope, _ = law_value(model.laws, theta, model.forces.law[f, 0], c[0])
    return theta[o + RADIUS] - (c[2] - height), slope * v[0] - v[2]


# One of the quantities ------------------------------------------------------------------------------------------------

_READ = "".join(f"    if which == {k}:\n        return quantities[{k}]\n" for k in range(QUANTITIES - 1))
_MARKED = ", ".join(f"hats[{k}] + (c if which == {k} else 0.0 * c)" for k in range(QUANTITIES))
quantity = made(f"def quantity(quantities, which):\n{_READ}    return quantities[{QUANTITIES - 1}]\n", _HERE)
with_quantity = made(f"def with_quantity(hats, which, c):\n    return ({_MARKED})\n", _HERE)  # c added to one adjoint


@inlined
def no_quantities(zero):
    """Adjoints, all zero, of quantities."""
    return (zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)
