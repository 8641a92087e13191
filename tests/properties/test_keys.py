"""Accepted means effective: whatever stands in a model file changes what comes of it, or is refused.

The keys come from the schema itself, so that a key which no file under ``models`` holds fails here by itself.
"""

from collections.abc import Iterator
from functools import cache
from itertools import chain, islice

import pytest

from mbsim_cli.errors import MbsimError, ModelError
from tests.properties.changes import BASES, Base, Leaf, with_value
from tests.properties.effects import Effects, differ
from tests.properties.schema_keys import Key, every_key

CHANGED, REFUSED, IGNORED = "changed", "refused", "ignored"
TRIES = 4  # leaves of a file that are tried for a key
CHOICES_OF_NODES = {"flexible.NodeSet"}  # near values choose the same nodes; tests/reduction/test_model_bodies.py
NEAR_VALUES = {  # some change nothing, as no element's density, or no reading, lies between
    ("flexible.SimpLaw", "threshold"),
    ("studies.Measurement", "between"),
}
DEMANDS = {"independent", "cut"}  # one that is met anyway changes nothing where it stands
ELSEWHERE = {
    ("model_file.ModelFile", "include"): "tests/spec/test_include.py",
    ("model_file.ModelFile", "repeat"): "tests/spec/test_repeat.py",
    ("model_file.ModelFile", "mbsim"): "the one version there is",
    ("laws.Table", "delimiter"): "tests/io/test_tables.py",
    ("laws.MeasuredProfile", "delimiter"): "tests/io/test_tables.py",
    ("analysis.MotionTable", "delimiter"): "tests/io/test_tables.py",
    ("studies.CasesFile", "delimiter"): "tests/io/test_tables.py",
    ("studies.Measurement", "delimiter"): "tests/io/test_tables.py",
    ("analysis.Analysis", "accuracy"): "tests/cli/test_step_auto.py",
    ("objectives.Check", "field_gradient"): "tests/spec/test_gradients_by_fields.py, tests/models/test_models.py",
    ("bodies.Orientation", "rotation_matrix"): "no entry of a rotation changes alone; see below",
    ("cables.Cable", "length"): "goes with its rate: tests/models/test_cables.py",
    ("joints.Friction", "law"): "asks for keys that the other has not: tests/spec/test_states.py",
    ("bodies.Visual", "mesh"): "tests/cli/test_import.py",
    ("bodies.Visual", "scale"): "tests/cli/test_import.py",
    ("bodies.Visual", "position"): "tests/cli/test_import.py",
    ("bodies.Visual", "orientation"): "tests/cli/test_import.py",
    ("bodies.Body", "visuals"): "tests/cli/test_import.py",
    ("flexible.Coupling", "M1"): "no entry changes alone: tests/reduction/test_by_number.py",
    ("flexible.NodeSet", "group"): "tests/reduction/test_mesh_files.py",
    ("flexible.SimpLaw", "threshold"): "tests/reduction/test_model_bodies.py",
    ("flexible.FlexibleFile", "sid"): "tests/reduction/test_model_bodies.py",
    ("flexible.FlexibleMeshed", "frame"): "tests/reduction/test_model_bodies.py",
    ("flexible.Matrices", "type"): "tests/reduction/test_matrices.py",
    ("flexible.Matrices", "stiffness"): "tests/reduction/test_matrices.py",
    ("flexible.Matrices", "mass"): "tests/reduction/test_matrices.py",
    ("flexible.Matrices", "nodes"): "tests/reduction/test_matrices.py",
    ("flexible.MeshFile", "type"): "tests/reduction/test_mesh_files.py",
    ("flexible.MeshFile", "file"): "tests/reduction/test_mesh_files.py",
    ("flexible.MeshFile", "scale"): "tests/reduction/test_mesh_files.py",
    ("flexible.MeshFile", "thickness"): "tests/reduction/test_mesh_files.py",
    ("flexible.Field", "file"): "tests/reduction/test_model_bodies.py",
    ("flexible.Field", "dataset"): "tests/reduction/test_model_bodies.py",
    ("studies.Optimization", "algorithm"): "tests/study/test_optimizing.py",
    ("studies.Optimization", "starts"): "tests/study/test_controls.py",
    ("laws.Spline", "between"): "tests/study/test_controls.py",
    ("laws.Control", "force"): "tests/study/test_controls.py",
    ("laws.Control", "intervals"): "tests/study/test_controls.py",
    ("laws.Control", "between"): "tests/study/test_controls.py",
    ("laws.Control", "bounds"): "tests/study/test_controls.py",
    ("laws.Control", "initial"): "tests/study/test_controls.py",
    ("model_file.ModelFile", "controls"): "tests/study/test_controls.py",
    ("laws.Control", "description"): "tests/study/test_controls.py",
    ("laws.Control", "unit"): "tests/study/test_controls.py",
    ("analysis.Modes", "type"): "tests/cli/test_linear_page.py",
    ("analysis.Modes", "at"): "tests/cli/test_linear_page.py",
    ("analysis.Modes", "start"): "tests/cli/test_linear_page.py",
    ("analysis.Modes", "hold"): "tests/cli/test_linear_page.py",
    ("analysis.Modes", "count"): "tests/cli/test_linear_page.py",
    ("analysis.Modes", "sensitivity"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "type"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "at"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "start"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "hold"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "inputs"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "outputs"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "frequencies"): "tests/cli/test_linear_page.py",
    ("analysis.FrequencyResponse", "sensitivity"): "tests/cli/test_linear_page.py",
    ("analysis.Frequencies", "from"): "tests/cli/test_linear_page.py",
    ("analysis.Frequencies", "to"): "tests/cli/test_linear_page.py",
    ("analysis.Frequencies", "count"): "tests/cli/test_linear_page.py",
    ("analysis.Frequencies", "scale"): "tests/cli/test_linear_page.py",
    ("objectives.Transfer", "input"): "tests/cli/test_linear_page.py",
    ("objectives.Transfer", "output"): "tests/cli/test_linear_page.py",
    ("objectives.Transfer", "frequency"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "gain"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "phase"): "tests/cli/test_linear_page.py",
    ("analysis.Kinematics", "type"): "tests/cli/test_kinematics_page.py",
    ("analysis.Kinematics", "sampling"): "tests/cli/test_kinematics_page.py",
    ("analysis.Kinematics", "duration"): "tests/cli/test_kinematics_page.py",
    ("analysis.Kinematics", "sweep"): "tests/cli/test_kinematics_page.py",
    ("analysis.Kinematics", "sensitivity"): "tests/cli/test_kinematics_page.py",
    ("analysis.Range", "from"): "tests/cli/test_kinematics_page.py",
    ("analysis.Range", "to"): "tests/cli/test_kinematics_page.py",
    ("analysis.Range", "count"): "tests/cli/test_kinematics_page.py",
    ("analysis.Motion", "constraints"): "tests/kernels/plain/test_inverse_of_loops.py",
    ("analysis.InverseDynamics", "drives"): "tests/kernels/plain/test_inverse_of_loops.py",
    ("analysis.InverseDynamics", "redundancy"): "tests/kernels/plain/test_inverse_of_loops.py",
    ("analysis.InverseDynamics", "weights"): "tests/kernels/plain/test_inverse_of_loops.py",
    ("objectives.Objective", "frequency"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "damping_ratio"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "real_part"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "imaginary_part"): "tests/cli/test_linear_page.py",
    ("objectives.Objective", "rms"): "of a record without mean square: tests/study/test_objectives.py",
    ("contacts.Contact", "law"): "rigid is refused today",
    ("bodies.DesignVector", "bodies"): "what names the vector on a body fails without it; see below",
}


@cache
def effects_of(name: str) -> Effects:
    """What becomes of a file as it stands."""
    return Effects(BASES[name].load())


@cache
def outcome(name: str, leaf: Leaf) -> str:
    """What another value at a leaf leads to: the first that is not refused counts."""
    return judge(BASES[name], effects_of(name), leaf)


def judge(base: Base, before: Effects, leaf: Leaf) -> str:
    """The same for a file with its effects."""
    for value in base.alternatives(leaf):
        try:
            after = Effects(base.load(base.changed(leaf, value)))
        except MbsimError:
            continue
        return CHANGED if before.differs(after, leaf.path[0]) else f"{IGNORED}: {value!r}"
    return REFUSED


def judged(leaf: Leaf) -> bool:
    """Whether a leaf is one for these tests; descriptions have a test of their own, another type is another class."""
    return leaf.key not in ("description", "type") and leaf.known_as[0] not in CHOICES_OF_NODES


def leaves_of(key: Key) -> Iterator[tuple[str, Leaf]]:
    """Leaves of a key, some of each file."""
    for name, base in BASES.items():
        yield from ((name, leaf) for leaf in islice((leaf for leaf in base.leaves if leaf.known_as == key), TRIES))


def keys_by_file() -> dict[str, list[Key]]:
    """Keys of the first file that holds each."""
    found: dict[str, list[Key]] = {name: [] for name in BASES}
    for key in sorted(
        {leaf.known_as for base in BASES.values() for leaf in base.leaves if judged(leaf)} - set(ELSEWHERE)
    ):
        found[next(leaves_of(key))[0]].append(key)
    return found


KEYS = keys_by_file()


def failures_of(key: Key) -> list[str]:
    """What is wrong with a key: values that are accepted and change nothing, or none that changes anything."""
    tried, ignored = [], []
    for file, leaf in leaves_of(key):
        tried.append(f"{file}.{path(leaf)} = {leaf.value!r} {outcome(file, leaf)}")
        if IGNORED in tried[-1] and leaf.key not in DEMANDS:
            ignored.append(tried[-1])
        if outcome(file, leaf) == CHANGED:
            return ignored
    return [f"{key} is stuck: {tried}"]


def path(leaf: Leaf) -> str:
    """Where a leaf stands, for messages."""
    return ".".join(map(str, leaf.path))


def test_every_key_stands_in_a_file():
    held = set(chain.from_iterable(base.keys for base in BASES.values()))
    assert every_key() - held <= set(ELSEWHERE)


@pytest.mark.parametrize("name", BASES)
def test_every_key_is_effective(name):
    """For each key another value that changes something; and none that is accepted and changes nothing."""
    assert [failure for key in KEYS[name] for failure in failures_of(key)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_every_value_is_effective(name):
    leaves = [leaf for leaf in BASES[name].leaves if judged(leaf) and leaf.key not in DEMANDS]
    leaves = [leaf for leaf in leaves if leaf.known_as not in NEAR_VALUES]
    assert [path(leaf) for leaf in leaves if IGNORED in outcome(name, leaf)] == []


@pytest.mark.parametrize("name", BASES)
def test_descriptions_are_told(name):
    told = effects_of(name).descriptions
    written = [leaf for leaf in BASES[name].leaves if leaf.key == "description"]
    assert told == {path(leaf).rpartition("description")[0].rstrip("."): leaf.value for leaf in written}


def test_another_rotation_is_another_start():
    base = BASES["arms"]
    leaf = next(leaf for leaf in base.leaves if leaf.key == "rotation_matrix")
    turned = with_value(base.data, leaf.path[:-2], [[1, 0, 0], [0, 0.6, -0.8], [0, 0.8, 0.6]])
    assert differ(effects_of("arms").solver, Effects(base.load(turned)).solver)


def test_a_vector_is_on_the_bodies_that_it_names_only():
    base = BASES["arms"]
    with pytest.raises(ModelError, match="is not on body 'trunk'"):
        base.load(with_value(base.data, ("vectors", "d", "bodies"), ["free"]))
