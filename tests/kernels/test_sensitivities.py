"""Direct sensitivities against the complex step of the whole simulation, for every kind of number.

The loops run over the enumerations of ``codes``: a new joint, measure, law, force or sensor without a case fails.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.model.codes import (
    APPLIED,
    BODIES_TOUCHING,
    ELEMENTS,
    EVERYWHERE,
    SENSOR_WIDTH,
    TYRES,
    Axes,
    Force,
    Joint,
    Law,
    Measure,
    Sensor,
)
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Options
from tests.kernels.differentiate import assert_agree, assert_agree_together
from tests.kernels.elements import USED_ENTRIES
from tests.kernels.mechanisms import PAIRS, any_measure, branches, everything, four_bar, loop, with_sensors
from tests.kernels.textbook_laws import LAW_NUMBERS

FORMULATIONS = ("ali3p-rtdyn0", "ali3p-rtdyn1")
STEPS = (1e-4, 1e-3, 1e-2)
PROJECTIONS = ("mass", "identity")
GEOMETRIC = [kind for kind in Measure if kind in USED_ENTRIES]
TIGHT = 1e-13  # of the motion; at its default, 1e-10, sensitivities of accelerations reach some 1e-9
PLACES = ("time", "elongation", "rate", "constraint", "point_force", "torque")  # of laws
CONFIGURATIONS = list(itertools.product(FORMULATIONS, STEPS, PROJECTIONS))
# with kernels of their own, which take two minutes; plain/test_simulation.py runs the same forces without compiling
OF_THEIR_OWN = ("drag", "wing", "tyre", "sphere", "bushing")
ALONE = [kind for kind, family in ELEMENTS.items() if family not in EVERYWHERE]
OWN = [pytest.param(True, marks=pytest.mark.slow, id="every force"), pytest.param(False, id="forces of all models")]


def configuration(k):
    """The k-th choice of formulation, step and projection, in turn; consecutive ones differ in all."""
    formulation, step, projection = CONFIGURATIONS[5 * k % len(CONFIGURATIONS)]
    return {"formulation": formulation, "step": step, "projection": projection, "tolerance": TIGHT}


def chosen(builder, *kinds):
    """Directions of the numbers whose names start so; of measures only the entries that their kind reads."""
    return {
        name: direction for name, direction in builder.directions().items() if name.startswith(kinds) and is_read(name)
    }


def is_read(name):
    """Whether the number ``kind:entry`` is one that its measure reads."""
    kind, entry = name.split(":")
    used = [entries for measure, entries in USED_ENTRIES.items() if f" {measure.name.lower()} " in f"{kind} "]
    return not kind.startswith(("cut", "measure")) or not used or entry.split(".")[0] in used[0]


@pytest.mark.parametrize("cut", Joint, ids=lambda joint: joint.name.lower())
@pytest.mark.parametrize("tree", Joint, ids=lambda joint: joint.name.lower())
def test_every_tree_joint_with_every_cut_joint(tree, cut):
    """Every number by itself with a quarter of the other joints, and all blocks of numbers together with all."""
    builder = loop(tree, cut)
    problem = builder.problem(**configuration(8 * tree + cut))
    kinds = f"tree {tree.name.lower()} 1", "cut", "constraint", "gravity", "initial"
    if (tree - cut) % 4 == 0:
        assert_agree(problem, chosen(builder, *kinds), steps=5)
    else:
        blocks = {name: direction for name, direction in by_block(builder).items() if name.startswith(kinds)}
        assert_agree_together(problem, blocks, steps=5)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("k", range(len(CONFIGURATIONS)), ids=lambda k: "-".join(map(str, CONFIGURATIONS[k])))
def test_blocks_of_numbers_with_every_option(k, own):
    builder = everything(own=own)
    problem = builder.problem(**configuration(k))
    assert_agree_together(problem, by_block(builder), steps=2 if problem.options.step == max(STEPS) else 5)


def test_default_tolerances():
    builder = everything(own=False)
    problem = builder.problem(step=1e-3)
    assert_agree(problem, by_block(builder), steps=10, relative=1e-8)


def by_block(builder):
    """One random combination of the numbers of each block."""
    rng, blocks = np.random.default_rng(5), {}
    for name, direction in builder.directions().items():
        blocks.setdefault(name.split(":")[0], []).append(direction)
    return {name: rng.normal(size=len(rows)) @ np.array(rows) for name, rows in blocks.items()}


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("k", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_number_of_a_model_of_everything(k, own):
    builder = everything(own=own)
    problem = builder.problem(**configuration(k))
    assert_agree(problem, builder.directions(), steps=2)


@pytest.mark.parametrize("pair", range(len(PAIRS)))
@pytest.mark.parametrize("kind", Measure, ids=lambda kind: kind.name.lower())
def test_every_measure_as_force_constraint_and_sensor(kind, pair):
    """Every number by itself between a third of the pairs of bodies, and all blocks together between the others."""
    a, b = PAIRS[pair]
    builder = branches(20 + pair)
    if kind != Measure.EULER_NORM:  # an equation of every tree with Euler parameters, and no force's measure
        builder.along(any_measure(builder, kind, a, b))
        builder.constraint(any_measure(builder, kind, a, b))
    builder.every_sensor()
    problem = builder.problem(**configuration(6 * kind + pair))
    own = "measure", "force", "constraint"
    blocks = {name: direction for name, direction in by_block(builder).items() if name.startswith(("tree", *own))}
    if (kind + pair) % 3 == 0:
        assert_agree(problem, blocks | chosen(builder, *own), steps=4)
    else:
        assert_agree_together(problem, blocks, steps=4)


@pytest.mark.parametrize("slot", PLACES)
@pytest.mark.parametrize("kind", Law, ids=lambda kind: kind.name.lower())
def test_every_law_in_every_place(kind, slot):
    """Every number by itself with one of the steps in turn, those of splines with all; others together."""
    builder = branches()
    law = builder.law(kind)
    if slot == "constraint":
        builder.constraint(builder.coordinates((0,)), law)
    elif slot in ("point_force", "torque"):
        builder.applied(Force[slot.upper()], 4, Axes.BODY, law)
    else:
        laws = [law if slot == place else NONE for place in ("time", "elongation", "rate")]
        builder.along(builder.geometric(Measure.DISTANCE, 2, 4), tuple(laws))
    builder.every_sensor()
    problem = builder.problem()
    directions = chosen(builder, "law", "initial velocity:0")
    if slot != "constraint":  # where a spline may jump, each coefficient for itself
        directions |= {f"coefficient {k}": builder.direction(k) for k in law_span(builder, law)}
    for k, step in enumerate(STEPS):
        alone = kind == Law.SPLINE or (k + kind + PLACES.index(slot)) % len(STEPS) == 0
        agree = assert_agree if alone else assert_agree_together
        agree(replace(problem, options=Options(step=step, tolerance=TIGHT)), directions, steps=6)


def law_span(builder, law):
    """Indices of the law's numbers."""
    offset = builder.laws[law][1]
    return range(offset, offset + len(LAW_NUMBERS[builder.laws[law][0]]))


FORCES = [pytest.param(k, marks=[pytest.mark.slow] * (k in ALONE), id=k.name.lower()) for k in Force]


@pytest.mark.parametrize("axes", Axes, ids=lambda axes: axes.name.lower())
@pytest.mark.parametrize("kind", FORCES)
def test_every_force(kind, axes):
    builder = branches()
    if kind in ALONE and kind != Force.SPHERE_ON_ROAD:  # these share the kernels of a model of everything
        builder.wing(4)
        builder.bushing(2, 4)
        builder.drag(4)
    if kind == Force.ALONG_MEASURE:
        builder.along(builder.geometric(Measure.ANGLE, 2, 4))
    elif kind in TYRES:
        builder.tyre(kind, 4, builder.law(Law.POLYNOMIAL))
    elif kind in BODIES_TOUCHING:
        builder.contact(kind, 2, 4)
    elif kind == Force.SPHERE_ON_ROAD:
        builder.sphere_on_road(4, builder.law(Law.POLYNOMIAL))
    elif kind not in (Force.WING, Force.BUSHING, Force.DRAG):
        assert kind in APPLIED
        builder.applied(kind, 4, axes)
    builder.every_sensor()
    problem = builder.problem(**configuration(kind + 4 * axes))
    own = chosen(builder, "force", "point_force", "torque", *OF_THEIR_OWN)
    assert_agree(problem, by_block(builder) | own, steps=5)


SENSORS = [
    *(pytest.param(kind, True, marks=pytest.mark.slow, id=f"{kind.name.lower()}-every force") for kind in Sensor),
    *(pytest.param(kind, False, id=kind.name.lower()) for kind in Sensor if kind != Sensor.TYRE),
]


@pytest.mark.parametrize(("kind", "own"), SENSORS)
def test_every_sensor(kind, own):
    """By default along a third of the blocks of numbers: motions vary along all of them above."""
    builder = with_sensors(kind, own=own)
    problem = builder.problem(**configuration(kind))
    reads = kind == Sensor.ALONG or (SENSOR_WIDTH[kind] == 3 and kind != Sensor.FORCE_ON_BODY)
    numbers = chosen(builder, f"sensor {kind.name.lower()}") if reads else {}
    blocks = list(by_block(builder).items())
    assert_agree_together(problem, dict(blocks if own else blocks[kind % 3 :: 3]) | numbers, steps=2)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_redundant_constraints(formulation, step):
    builder = four_bar()
    problem = builder.problem(formulation=formulation, step=step, tolerance=TIGHT)
    in_plane = [name for name in builder.directions() if stays_in_plane(name)]
    directions = {name: builder.directions()[name] for name in in_plane}
    assert_agree(problem, directions, steps=20, outputs=("position", "velocity", "acceleration", "sensors"))


def stays_in_plane(name):
    """Whether the mechanism stays closed when this number varies."""
    kind, entry = name.split(":")
    if kind.startswith("cut"):
        return "projection" in kind and entry[-1] in "xy" and kind.split()[-1] != "2"
    if "turn" in entry:
        return entry.endswith("z")
    return not kind.startswith("constraint") and not entry.startswith(("p_P.z", "p_C.z"))
