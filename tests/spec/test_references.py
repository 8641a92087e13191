"""Names of one thing in another: every text of the model file says what it is, and every name is looked up."""

from typing import Annotated, Literal, get_args, get_origin

import pytest
import yaml
from pydantic import AfterValidator, BeforeValidator

from mbsim_cli import spec
from mbsim_cli.spec.base import Names, Spec, references
from tests.spec.example import VALID, issues_of, write

SAYS = (Names, BeforeValidator, AfterValidator)  # what a text is, or that it is read as something else
MORE = """
roads: {hill: {type: flat}, all: {type: sum, roads: [hill, hill]}}
materials: {steel: {youngs_modulus: 2.1e+11, poisson_ratio: 0.3, density: 7850}}
fields: {rho: {value: 0.5}}
forces:
  tyre: {type: tyre, center: bar.B, axis: bar.y, road: hill, radius: 1, stiffness: 1, friction: 1, slip: SLIP}
  touch: {type: contact, shape: SHAPE, against: {type: road, road: hill}, stiffness: 1}
  twist: {type: torque, body: bar, value: [0, 0, 1]}
sensors:
  load: {type: tyre, tyre: tyre, quantity: normal_load}
  gap: {type: contact, contact: touch, quantity: penetration}
  reaction: {type: reaction, joint: A, "on": bar}
  slide: {type: multiplier, constraint: slot}
  turning: {type: roll, body: rod}
  angle: {type: angle, vectors: [ground.x, bar.x], axis: ground.z}
laws: {both: {type: sum, laws: [ramp, wave]}}
study: {corners: {grid: {L: [1, 2]}, keep: [psi]}, cases: {list: [{L: 1}]}}
optimization: {calm: {minimize: psi, variables: [L], constraints: {peak: {at_most: 1}}}}
measurements: {lab: {file: run.csv, columns: {x: {sensor: r.x}}}}
fit: {all: {measurements: [lab], parameters: [m]}}
""".replace("SLIP", "{type: linear, longitudinal_stiffness: 1, lateral_stiffness: 1}").replace(
    "SHAPE", "{type: points, points: [bar.B, bar.A]}"
)
SEEN_BY_ASSEMBLY = ("file", "drive", "constraint that moves")


def classes(above=Spec):
    for each in above.__subclasses__():
        if each.__module__.startswith("mbsim_cli") and each.__module__ != "mbsim_cli.spec.schema":
            yield each
        yield from classes(each)


def texts(annotation, says=()):
    """What is said of each text in the type of a field."""
    if annotation is str:
        yield says
    elif get_origin(annotation) is Annotated:
        inner, *says = get_args(annotation)
        yield from texts(inner, says)
    elif get_origin(annotation) is not Literal:
        for each in get_args(annotation):
            yield from texts(each)


def merged(below, above):
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: merged(below.get(key), entry) for key, entry in above.items()}}


EXAMPLE = merged(yaml.safe_load(VALID), yaml.safe_load(MORE)) | {"gravity": [0, 0, -9.81]}


@pytest.mark.parametrize("kind", list(dict.fromkeys(classes())), ids=lambda kind: kind.__qualname__)
def test_every_text_says_what_it_is(kind):
    """A name, or none: else nobody would look up what a new key names."""
    for name, field in kind.model_fields.items():
        for says in texts(field.annotation, field.metadata):
            assert any(isinstance(each, SAYS) for each in says), f"{kind.__name__}.{name}: a text is one of base.named"


def changed(part, path, is_key):
    key, *below = path
    if below:
        entries = dict(part) if isinstance(part, dict) else list(part)
        entries[key] = changed(part[key], below, is_key)
        return entries
    if is_key:
        return {("nowhere" if name == key else name): entry for name, entry in part.items()}
    return {**part, key: "nowhere"} if isinstance(part, dict) else [*part[:key], "nowhere", *part[key + 1 :]]


def test_every_name_is_looked_up(tmp_path):
    model = spec.load(write(tmp_path, yaml.safe_dump(EXAMPLE)))
    found = [
        each for each in references(model) if each.kind not in SEEN_BY_ASSEMBLY and each.path[-1] != "inertia_about"
    ]
    assert len({each.kind for each in found}) >= 20
    for path, kind, _, is_key, _ in found:
        issues = issues_of(tmp_path, yaml.safe_dump(changed(EXAMPLE, path, is_key), sort_keys=False))
        assert any("nowhere" in issue for issue in issues), (path, kind)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"analysis": {"step": 1e-3, "duration": 1, "sensitivity": {"parameters": ["all"]}}}, "parameter"),
        ({"optimization": {"calm": {"minimize": "psi", "variables": ["all"]}}}, "parameter"),
        ({"sensors": {"t": {"type": "torques", "coordinates": ["all", "A.angle"]}}}, "'all'"),
    ],
)
def test_a_word_is_a_name_in_a_list(tmp_path, more, what):
    """``all`` in place of a list stands for everything; in a list it names something."""
    issues = issues_of(tmp_path, yaml.safe_dump(merged(EXAMPLE, more), sort_keys=False))
    assert any("'all'" in issue and what in issue for issue in issues)
