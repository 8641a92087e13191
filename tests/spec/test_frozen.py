"""A model that has been read never changes: nothing can be written into it, and no operation tries."""

from collections.abc import Mapping

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.base import Spec, parts
from mbsim_cli.spec.model_file import MAPPINGS, ModelFile
from mbsim_cli.spec.warnings import warnings_of
from mbsim_cli.study.assembling import Settings, build, load

CRANK = """
mbsim: 1
constants: {half: r/2}
parameters: {r: {value: 0.25, bounds: [0.2, 0.3]}, l: 0.6, mu: 0.2}
points:
  A: {crank: [r, 0, 0], rod: [0, 0, 0]}
  B: {rod: [l, 0, 0], slider: [0, 0, 0]}
  C: {ground: [0, 0.05, 0], slider: [0, 0, 0]}
bodies:
  crank: {mass: 2, center_of_mass: [half, 0.02, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.08}}
  rod: {mass: 1.5, center_of_mass: [0.3, 0.01, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
  slider: {mass: 0.8, center_of_mass: [0.02, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
joints:
  O: {type: revolute, bodies: [ground, crank], point: origin, axis: z, initial: {angle: 1.1, independent: true}}
  A: {type: revolute, bodies: [crank, rod], point: A, axis: z}
  B: {type: revolute, bodies: [rod, slider], point: B, axis: z}
  S: {type: prismatic, bodies: [ground, slider], point: C, axis: x}
laws:
  push: {type: table, file: push.csv}
sensors: {q: {type: coordinate, coordinate: O.angle}}
"""
FORWARD = (
    CRANK.replace("axis: x}", "axis: x, friction: {dynamic: mu, velocity: 0.3}}").replace(
        "point: A, axis: z}", "point: A, axis: z, friction: {dynamic: mu, radius: 0.05}}"
    )
    + """
forces: {motor: {type: drive, coordinate: O.angle, law: push}}
controllers: {hip: {type: pid, coordinate: O.angle, target: 0.5, kp: 80, ki: 2}}
controls: {u: {force: extra, intervals: 2, bounds: [-1, 1]}}
objectives: {psi: {final: q}}
optimization: {calm: {minimize: psi, variables: [r, u]}}
analysis: {step: 0.01, duration: 0.03, sensitivity: {method: ddm, parameters: [u, r]}}
""".replace("law: push}}", "law: push}, extra: {type: drive, coordinate: O.angle, value: 0}}")
)
INVERSE = (
    CRANK.replace(", independent: true", "")
    + "analysis: {type: inverse_dynamics, sampling: 0.01, duration: 0.1, motion: {laws: {O.angle: push}}}"
)


def read(folder, text, **settings):
    folder.joinpath("push.csv").write_text("time,value\n0,1.1\n1,1.2\n2,1.3\n")
    path = folder / "model.yaml"
    path.write_text(text)
    return load(path, Settings(**settings))


def leaves(part, path=()):
    """Everything in a model, also what it remembers beside its sections."""
    below = list(parts(part))
    if isinstance(part, ModelFile):
        beside = {name: entry for name, entry in vars(part.derived).items() if name != "memo"}
        below += [*beside.items(), ("source", dict(part.source.stands_at)), ("data", part.source.data())]
    if isinstance(part, Spec):
        below += [("private", dict(part.__pydantic_private__ or {}))] if not isinstance(part, ModelFile) else []
        yield path, sorted(part.model_fields_set)
    for key, entry in below or (part.items() if isinstance(part, Mapping) else ()):
        yield from leaves(entry, (*path, key))
    if not below:
        yield path, repr(part)


def sections(part):
    if isinstance(part, Spec):
        yield part
    for _, entry in parts(part):
        yield from sections(entry)


def lists(part, path=()):
    if isinstance(part, list):
        yield path
    for key, entry in parts(part):
        yield from lists(entry, (*path, key))


@pytest.mark.parametrize(
    ("text", "settings"),
    [(FORWARD, {}), (FORWARD, {"all_numbers": True}), (INVERSE, {})],
    ids=("forward", "every number", "inverse"),
)
@pytest.mark.interpreted
def test_no_operation_changes_a_model(tmp_path, text, settings):
    model = read(tmp_path, text, **settings)
    before = list(leaves(model))
    assembled = build(model, Settings(), None)
    changed = {"r": 0.26} if not settings else {"points.C.ground.y": 0.051}
    assembled.at(changed)
    build(spec.with_values(model, changed), Settings(), None, assembled)
    assert assembled.info["joints"] and isinstance(warnings_of(model), list)
    assert list(leaves(model)) == before


def kinds(of):
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_no_key_is_read_as_a_list():
    fields = [(kind, name, entry.annotation) for kind in kinds(Spec) for name, entry in kind.model_fields.items()]
    assert len(fields) > 500
    assert not [(kind, name) for kind, name, annotation in fields if "list[" in repr(annotation)]


def test_nothing_can_be_written_into_a_model(tmp_path):
    model = read(tmp_path, FORWARD)
    for name in MAPPINGS:
        with pytest.raises(TypeError):
            getattr(model, name)["new"] = None
    for part in sections(model):
        for name in type(part).model_fields:
            with pytest.raises(ValueError, match="frozen"):
                setattr(part, name, None)
    assert not list(lists(model))
    for entry in (model.derived.made, model.derived.hidden):
        assert isinstance(entry, frozenset)
    for entry in (model.derived.parts, model.derived.paths, model.source.stands_at):
        with pytest.raises(TypeError):
            entry["new"] = None
