"""Meshed bodies for tests; sizes may be complex."""

from dataclasses import replace

import numpy as np

from mbsim_cli.reduction.elements import beam, rectangle, solid
from mbsim_cli.reduction.mesh import Selection, grid, line, nodes_of
from mbsim_cli.reduction.modes import Stiffening
from mbsim_cli.reduction.reduce import Body, Damping
from mbsim_cli.reduction.restriction import Frame, mesh_node

FULL = {"stiffening": Stiffening(True, True, (0,)), "damping": Damping(1.0, 1e-5, 0.01)}


def dot(a, b):
    """Sum of the products of all entries of standard input data."""
    pairs = ((x, y) for (_, s), (_, t) in zip(a.items(), b.items(), strict=True) for x, y in zip(s, t, strict=True))
    return float(sum(np.vdot(x, y) for x, y in pairs if x is not None and y is not None))


def at(structure, **places):
    """Nodes at coordinates."""
    ranges = {"xyz".index(axis): (np.real(place),) * 2 for axis, place in places.items()}
    return nodes_of(structure.mesh, Selection(ranges), ("sets",))


def crank(nx=20, ny=4, k=6, L=0.4, E=2.1e11, density=None, **options):
    """The crank of the flexible slider-crank: a plate fixed at x = 0, its pin at x = L; SIMP densities."""
    plate = solid(grid([0, -0.04], [L, 0.08], [nx, ny]), E, 0.3, 7850.0, 0.01)
    if density is not None:
        plate = plate.with_density(density**3, np.where(np.real(density) < 0.1, 1e5 * density**6, density))
    pin = mesh_node(plate, "pin", at(plate, x=L))
    return Body(plate, Frame(fixed=at(plate, x=0)), (pin,), modes=tuple(range(k)), **options)


def waves(nx, ny):
    """Uneven densities of the crank's elements."""
    centres = grid([0, -0.04], [0.4, 0.08], [nx, ny]).centres
    return 0.7 + 0.25 * np.sin(2 * np.pi * (2 * centres[:, 0] / 0.4 + centres[:, 1] / 0.08 + 0.5))


def cantilever(L=1.0, elements=6, k=6, section=(0.02, 0.02), planar=False, **options):
    """A beam fixed at x = 0, square by default, so that its modes of bending are double."""
    structure = beam(line([0, 0, 0], L, elements), rectangle(*section), 2e11, 0.3, 7800.0, planar)
    tip = mesh_node(structure, "tip", np.array([elements]))
    return Body(structure, Frame(fixed=np.array([0])), (tip,), modes=tuple(range(k)), **options)


def brick(L=1.0, elements=(4, 2, 2), k=7, **options):
    """A square bar of bricks, fixed at x = 0."""
    structure = solid(grid([0, -0.05 * L, -0.05], [L, 0.1 * L, 0.1], elements), 2e11, 0.3, 7800.0)
    corner = nodes_of(structure.mesh, Selection(nearest=(1, 0.05, 0.05)), ("sets",))
    nodes = (mesh_node(structure, "tip", at(structure, x=L)), mesh_node(structure, "corner", corner))
    return Body(structure, Frame(fixed=at(structure, x=0)), nodes, modes=tuple(range(k)), **options)


def free(body):
    return replace(body, frame=Frame())


def on_chord(body):
    plate = body.structure
    return replace(body, frame=Frame(chord=(mesh_node(plate, "hub", at(plate, x=0)), body.nodes[0])))


def with_rigid_pin(body, L):
    return replace(body, rigid=((at(body.structure, x=L), 0),))
