"""What the kernels ask of kinds, against the tables of the codes: no meaning is in the order of an enumeration."""

from mbsim_cli.kernels.algorithms.equations.motion_forces import follows_motion, is_tyre
from mbsim_cli.kernels.algorithms.equations.sensors import reads_motion
from mbsim_cli.kernels.elements.columns import is_euler, is_translation
from mbsim_cli.kernels.elements.measures import is_force_line, is_geometric
from mbsim_cli.model.codes import (
    BETWEEN_BODIES,
    EULER_PARAMETERS,
    ROTATIONS,
    SENSOR_WIDTH,
    TRANSLATIONS,
    TURNING,
    TYRES,
    Column,
    Force,
    Measure,
    Sensor,
)
from mbsim_cli.model.layout import NONE


def holding(predicate, kinds):
    """The kinds that a predicate holds for; it holds for no other number."""
    assert not predicate(NONE) and not predicate(len(kinds)) and not predicate(1000)
    return {kind for kind in kinds if predicate(int(kind))}


def test_columns():
    assert holding(is_translation, Column) == set(TRANSLATIONS)
    assert holding(is_euler, Column) == set(EULER_PARAMETERS)
    assert set(TURNING) == set(ROTATIONS) | set(EULER_PARAMETERS) == set(Column) - {*TRANSLATIONS, Column.ELASTIC}


def test_measures():
    assert holding(is_geometric, Measure) == set(BETWEEN_BODIES)
    assert holding(is_force_line, Measure) == {Measure.PROJECTION, Measure.DISTANCE}


def test_forces():
    assert holding(is_tyre, Force) == set(TYRES)
    assert holding(follows_motion, Force) == {Force.DRAG, *TYRES}


def test_sensors():
    vectors = {kind for kind in Sensor if SENSOR_WIDTH[kind] == 3}
    assert holding(reads_motion, Sensor) == (vectors - {Sensor.FORCE_ON_BODY}) | {Sensor.ALONG}
