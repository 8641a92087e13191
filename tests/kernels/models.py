"""A builder of problems directly on the data contract, with random numbers, and the names of all its numbers."""

import numpy as np

from mbsim_cli.model.codes import (
    ALONG,
    CONTACTS,
    JOINT_COLUMNS,
    SENSOR_WIDTH,
    TYRES,
    Attitude,
    Column,
    Force,
    Law,
    Sensor,
    TyreQuantity,
)
from mbsim_cli.model.layout import (
    FORCE_LAWS,
    NONE,
    R_C,
    R_P,
    Armatures,
    Constraints,
    Forces,
    Laws,
    Measures,
    Model,
    Names,
    Pairs,
    Sensors,
    Tree,
    freeze,
)
from mbsim_cli.model.problem import Options, Problem
from tests.kernels.elements import XYZ, Elements
from tests.kernels.geometry import skew
from tests.kernels.textbook_laws import spline_numbers


class Builder(Elements):
    """Makes a problem of the elements that it has collected."""

    def with_quantities(self):
        """Numbers of tyres and contacts."""
        return [k for k, force in enumerate(self.forces) if force[0] in (*TYRES, *CONTACTS, Force.BUSHING)]

    def sensor_of_force(self, k):
        """Kind of the sensor that reads a force."""
        return Sensor.FORCE if self.forces[k][0] in ALONG else Sensor.FORCE_ON_BODY

    def every_sensor(self):
        """One sensor of each kind and order."""
        last, n = len(self.bodies) - 1, len(self.z)
        for kind in Sensor:
            if SENSOR_WIDTH[kind] == 3 and kind != Sensor.FORCE_ON_BODY:
                self.sensor(kind, body=last)
        for order in range(3):
            self.sensor(Sensor.COORDINATE, index=n // 2, order=order)
            for k in range(len(self.measures)):
                self.sensor(Sensor.MEASURE, index=k, order=order)
        for k in range(len(self.forces)):
            self.sensor(self.sensor_of_force(k), index=k)
        for k in range(len(self.equations)):
            self.sensor(Sensor.MULTIPLIER, index=k)
        self.sensor(Sensor.KINETIC_ENERGY)
        self.sensor(Sensor.POTENTIAL_ENERGY)
        self.sensor(Sensor.ALONG, last, 0, 2)
        for angle in Attitude:
            self.sensor(Sensor.ATTITUDE, last, angle, 1)
        for k in self.with_quantities():
            self.sensor(Sensor.TYRE, index=k, order=TyreQuantity.NORMAL_LOAD)

    def model(self, initial):
        """The model, frozen."""
        tree = Tree(
            np.array([body.parent for body in self.bodies]),
            np.array([*(body.first for body in self.bodies), len(self.z)]),
            np.array(self.kinds),
            np.array([i for i, body in enumerate(self.bodies) for _ in JOINT_COLUMNS[body.joint]]),
            np.array([body.theta for body in self.bodies]),
            np.array([initial]),
        )
        width = [SENSOR_WIDTH[sensor[0]] for sensor in self.sensors]
        listed = [len(measure[3]) for measure in self.measures]
        model = Model(
            tree,
            self._pairs(),
            Measures(*table(self.measures, 4)[:3], offsets(listed), ints(c for row in self.measures for c in row[3])),
            Constraints(*table(self.equations, 3)),
            Forces(
                *table(self.forces, 4),
                ints((*f[4], *[NONE] * (FORCE_LAWS - len(f[4]))) for f in self.forces).reshape(-1, FORCE_LAWS),
                ints(f[5] for f in self.forces),
            ),
            Laws(*table(self.laws, 5)),
            Sensors(*table(self.sensors, 5), offsets(width)),
            Armatures(*table(self.armatures, 3)),
        )
        return freeze(model)

    def _pairs(self):
        paths = [self.path(a, b) for a, b in self.pairs]
        flat = [entry for path in paths for entry in path]
        return Pairs(*table(self.pairs, 2), offsets([len(path) for path in paths]), *table(flat, 2))

    def problem(self, **options):
        """The finished problem, with no directions of differentiation yet."""
        n = len(self.z)
        columns = [Column(kind).name.lower() for kind in self.kinds]
        if self.initial is None:
            self.initial = self.numbers("initial position", [f"{k} {c}" for k, c in enumerate(columns)], self.z)
            self.numbers("initial velocity", [f"{k} {c}" for k, c in enumerate(columns)], self.zd)
        model = self.model(self.initial)
        names = Names(constraints=tuple(self.names[equation[1]] for equation in self.equations))
        none = np.zeros(n, bool)
        theta = np.array(self.theta)
        return Problem(model, names, theta, np.zeros((theta.size, 0)), none, none, options=Options(**options))

    def directions(self):
        """All directions of differentiation, {name: (len(theta),)}: numbers one by one, joint frames by small turns."""
        frames = {body.theta + side + k: (body, side) for body in self.bodies for side in (R_P, R_C) for k in range(9)}
        splines = {law[1] + k for law in self.laws if law[0] == Law.SPLINE for k in range(5 * law[2] - 4)}
        splines |= {law[3] + k for law in self.laws if law[3] != NONE for k in range(2)}  # no derivative there either
        found = {}
        for index, name in enumerate(self.names):
            if index not in frames and index not in splines:
                found[name] = self.direction(index)
        for kind, offset, count, *_ in self.laws:
            if kind == Law.SPLINE:
                found |= self.spline_directions(offset, count)
        for body, side in dict.fromkeys(frames.values()):
            span = slice(body.theta + side, body.theta + side + 9)
            R = np.array(self.theta[span]).reshape(3, 3)
            kind, entry = self.names[span.start].split(":")
            for k, axis in enumerate(np.eye(3)):
                direction = np.zeros(len(self.theta))
                direction[span] = (R @ skew(axis)).ravel()
                found[f"{kind}:{entry[:3]} turn {XYZ[k]}"] = direction
        return found

    def direction(self, index, values=(1.0,)):
        """Direction that varies the numbers from ``index`` on."""
        found = np.zeros(len(self.theta))
        found[index : index + len(values)] = values
        return found

    def spline_directions(self, offset, count):
        """Variations of a spline that keep it smooth: each height, and each knot moved along the curve."""
        knots = np.array(self.theta[offset : offset + count])
        name, found = self.names[offset].split(":")[0], {}
        for k, one in enumerate(np.eye(count)):
            varied = np.array(spline_numbers(knots, one))
            varied[:count] = 0.0
            found[f"{name}:height {k}"] = self.direction(offset, varied)
            found[f"{name}:knot {k}"] = self.direction(offset + k)
            if k < count - 1:
                a, b, c, _ = self.theta[offset + count + 4 * k : offset + count + 4 * k + 4]
                found[f"{name}:knot {k}"] += self.direction(offset + count + 4 * k, (0.0, 3 * a, 2 * b, c))
        return found


def ints(values):
    """Integer array."""
    return np.array([int(value) for row in values for value in (row if isinstance(row, tuple) else (row,))], np.int64)


def offsets(sizes):
    """First entries of consecutive runs."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=int)]).astype(np.int64)


def table(rows, width):
    """The first columns of rows of integers."""
    return [ints(row[k] for row in rows) for k in range(width)]
