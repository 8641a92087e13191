"""Problems of builders in natural coordinates."""

from dataclasses import replace

import numpy as np

from mbsim_cli.model.codes import Measure, Sensor
from mbsim_cli.solve.natural.system import in_natural_coordinates

READ = Sensor.MEASURE, Sensor.COORDINATE, Sensor.MULTIPLIER


def natural_problem(builder, directions=(), **options):
    """The finished problem of a builder, in coordinates that its ``directions`` (p, len(theta)) leave as they are."""
    tree = builder.problem(formulation="ali3p-natural", **options)
    theta_rho = np.reshape(directions, (-1, tree.theta.size)).T
    bodies, columns = (tuple(map(str, range(len(rows)))) for rows in (builder.bodies, builder.z))
    names = replace(
        tree.names,
        **{"joints": bodies, "bodies": bodies, "coordinates": columns, "coordinate_units": columns},
        constraint_units=("",) * len(builder.equations),
        parameters=tuple(map(str, range(theta_rho.shape[1]))),
    )
    return in_natural_coordinates(replace(tree, names=names, theta_rho=theta_rho))


def sensed(builder):
    """The same builder with a sensor of each kind and order that natural coordinates have."""
    builder.every_sensor()
    builder.sensors = [sensor for sensor in builder.sensors if sensor[0] not in READ]
    plain = [k for k, measure in enumerate(builder.measures) if measure[0] != Measure.EULER_NORM]
    for order in range(3):
        builder.sensor(Sensor.COORDINATE, index=0, order=order)
        for k in plain:
            builder.sensor(Sensor.MEASURE, index=k, order=order)
    for i, (measure, *_) in enumerate(builder.equations):
        if measure in plain:
            builder.sensor(Sensor.MULTIPLIER, index=i)
    return builder
