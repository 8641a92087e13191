"""What the kernels ask of kinds, against the tables of the codes: no meaning is in the order of an enumeration.

A code that is appended to one fails here until it stands in a table, and until a sensor is read.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.kernels.algorithms.equations.forces_on_bodies import has_quantities, is_on_bodies, is_tyre
from mbsim_cli.kernels.algorithms.equations.sensors import reads_motion, sense
from mbsim_cli.kernels.algorithms.motion.workspace import FORCE_SIZES, motion_alone
from mbsim_cli.kernels.elements.columns import is_euler, is_translation
from mbsim_cli.kernels.elements.measures import is_force_line
from mbsim_cli.model.codes import (
    ALONG,
    BETWEEN_BODIES,
    CONTACTS,
    EULER_PARAMETERS,
    OF_COORDINATES,
    ON_BODIES,
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
from mbsim_cli.study.assembling import Settings, build, load
from tests.kernels.adjoints import TIME, pulled
from tests.kernels.mechanisms import with_sensors

MODELS = Path(__file__).parents[3] / "models"
SOURCES = sorted(Path(mbsim_cli.__file__).parent.rglob("*.py"))
CODE = r"(?:Column|Measure|Law|Force|Sensor)\.\w"
IN_ORDER = re.compile(rf"[<>]=? *{CODE}|{CODE}+ *[<>]")


def holding(predicate, kinds):
    """The kinds that a predicate holds for; it holds for no other number."""
    assert not predicate(NONE) and not predicate(len(kinds)) and not predicate(1000)
    return {kind for kind in kinds if predicate(int(kind))}


def test_columns():
    assert holding(is_translation, Column) == set(TRANSLATIONS)
    assert holding(is_euler, Column) == set(EULER_PARAMETERS)
    for group in (TRANSLATIONS, ROTATIONS, EULER_PARAMETERS):  # kernels count from the first of each
        assert [kind - group[0] for kind in group] == list(range(len(group)))
    assert set(TURNING) == set(ROTATIONS) | set(EULER_PARAMETERS) == set(Column) - {*TRANSLATIONS, Column.ELASTIC}


def test_measures():
    assert sorted((*BETWEEN_BODIES, *OF_COORDINATES)) == sorted(Measure)
    assert holding(is_force_line, Measure) == {Measure.PROJECTION, Measure.DISTANCE}


def test_forces():
    assert holding(is_tyre, Force) == set(TYRES)
    assert holding(has_quantities, Force) == {*TYRES, *CONTACTS, Force.BUSHING}
    assert holding(is_on_bodies, Force) == set(ON_BODIES)
    assert sorted((*ALONG, *ON_BODIES)) == sorted(Force) == sorted(FORCE_SIZES)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
@pytest.mark.parametrize("name", ["fivebar", "buggy"])
def test_measures_and_forces_of_models(name, formulation):
    """Kernels read from pairs which measures are between bodies, and from measures which forces act along one."""
    problem = build(load(MODELS / f"{name}.yaml", Settings()), Settings(formulation=formulation), []).problem
    model = problem.system.model if problem.options.natural else problem.model
    measures, forces = model.measures, model.forces
    assert measures.kind.size and forces.kind.size
    np.testing.assert_array_equal(measures.pair != NONE, np.isin(measures.kind, BETWEEN_BODIES))
    np.testing.assert_array_equal(forces.measure != NONE, np.isin(forces.kind, list(ALONG)))


def test_sensors():
    vectors = {kind for kind in Sensor if SENSOR_WIDTH[kind] == 3}
    assert holding(reads_motion, Sensor) == (vectors - {Sensor.FORCE_ON_BODY}) | {Sensor.ALONG}
    assert (Sensor.POSITION, Sensor.VELOCITY, Sensor.ACCELERATION) == (0, 1, 2)  # orders of what ALONG reads


@pytest.mark.parametrize("kind", Sensor, ids=lambda kind: kind.name.lower())
def test_every_sensor_is_read(kind):
    at = pulled(with_sensors(kind))
    seen = np.full(at.sensors.size, np.nan)
    sense(at.model, at.theta, TIME, motion_alone(at.state), at.state.lam, at.kin, seen)
    assert seen.size and np.isfinite(seen).all()


def test_nothing_compares_codes_by_their_order():
    assert [str(path) for path in SOURCES if IN_ORDER.search(path.read_text())] == []
