"""Denavit-Hartenberg tables of model files in the terms of the textbook twin."""

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.spec.geometry import Geometry, mass_properties
from tests.naive.lagrange_recursion import Link


def links(model):
    """Rows of the only table of a model, with applied forces and torques; fixed rows are not known here."""
    (table,) = model.dh.values()
    value, names = model.expressions.value, list(table.rows)
    geometry = Geometry(Numbers(model.expressions), model)
    found = []
    for i, (name, row) in enumerate(table.rows.items()):
        body = row.link.name if row.link is not None and row.link.name else name
        mass, center, (xx, yy, zz, xy, xz, yz) = mass_properties(geometry.numbers, geometry, body)
        link = Link(
            parent=i - 1 if row.parent is None else names.index(row.parent),
            prismatic=row.variable == "d",
            sign=float(row.sign),
            **{key: float(value(getattr(row, key))) for key in ("theta", "d", "a", "alpha")},
            mass=float(mass),
            center=np.array(center, float),
            inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], float),
        )
        for force in model.forces.values():
            if force.type == "force" and force.point.split(".")[0] == body:
                link.force = np.array([value(number) for number in force.value])
                link.point = np.array(geometry.point(body, force.point.split(".")[1]), float)
            if force.type == "torque" and force.body == body:
                link.torque = np.array([value(number) for number in force.value])
        found.append(link)
    return found
