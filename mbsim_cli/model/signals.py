"""Which columns of the equations expressions of the motion bring together."""

import numpy as np

from mbsim_cli.model.codes import BETWEEN_BODIES, SENSOR_WIDTH, Sensor
from mbsim_cli.model.layout import GROUND, NONE, Forces, Model, Signals


def with_forces(model: Model, first: int, end: int) -> Model:
    """The model with some of its forces alone, and what they read of expressions."""
    found = model._replace(forces=Forces(*(array[first:end] for array in model.forces)))
    if isinstance(model.signals, Signals):
        found = found._replace(signals=model.signals._replace(of_force=model.signals.of_force[first:end]))
    return found


def with_bodies(model: Model) -> Model:
    """The model whose expressions know the bodies that they read by its measures: coordinates may have become such."""
    signals, found = model.signals, set[int]()
    if not isinstance(signals, Signals):
        return model
    for kind, body, index in zip(signals.kind, signals.body, signals.index, strict=True):
        if kind != Sensor.MEASURE:
            found |= {int(body), int(index)} if kind == Sensor.ALONG else {int(body)}
        elif model.measures.kind[index] in BETWEEN_BODIES:
            pair = model.measures.pair[index]
            found |= {int(model.pairs.a[pair]), int(model.pairs.b[pair])}
    return model._replace(signals=signals._replace(bodies=np.array(sorted(found - {GROUND}), np.int64)))


def columns_read(model, columns_of_body, columns_of_measure):
    """Columns of the tangent that each signal's force meets: its own, and those that move what the signal reads.

    ``columns_of_body(body)`` and ``columns_of_measure(measure)`` list the columns that move each.
    """
    signals = model.signals
    if not isinstance(signals, Signals):
        return
    sensors = [int(s) for s in range(signals.kind.size) for _ in range(SENSOR_WIDTH[Sensor(int(signals.kind[s]))])]
    for f, components in enumerate(signals.of_force):
        for u in components[components != NONE]:
            read = {sensors[row] for row in signals.input[signals.first_input[u] : signals.first_input[u + 1]]}
            if not read:
                continue
            measure = model.forces.measure[f]
            own = (
                columns_of_measure(measure) if measure != NONE else columns_of_body(model.pairs.b[model.forces.pair[f]])
            )
            found = [own]
            for s in read:
                if signals.kind[s] == Sensor.MEASURE:
                    found.append(columns_of_measure(signals.index[s]))
                    continue
                found.append(columns_of_body(signals.body[s]))
                if signals.kind[s] == Sensor.ALONG:
                    found.append(columns_of_body(signals.index[s]))
            yield np.unique(np.concatenate(found)).astype(np.int64)
