"""The JSON Schema: current, complete, and usable by editors."""

import json
from pathlib import Path

import jsonschema
import pytest

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.reading.nodes import read_nodes
from mbsim_cli.spec.schema import schema
from tests.spec.example import VALID, editor, variant

ROOT = Path(__file__).parents[2]


def _objects(part):
    if isinstance(part, dict):
        if "properties" in part:
            yield part
        for key, entry in part.items():
            if key != "else":  # a further condition for what has its description already
                yield from _objects(entry)
    elif isinstance(part, list):
        for entry in part:
            yield from _objects(entry)


def _data(text):
    return read_nodes(text.encode(), "model.yaml")[0].data()


def test_the_file_is_current():
    stored = json.loads((ROOT / "schemas" / "model.schema.json").read_text())
    assert stored == schema(), "write it anew: mbsim schema -o schemas/model.schema.json"


def test_editors_can_use_it():
    assert "prefixItems" not in json.dumps(schema())
    jsonschema.Draft202012Validator.check_schema(schema())


def test_a_type_is_the_first_key_and_free_text_the_last():
    """As a base class states free text, pydantic lists it first."""
    for entry in _objects(schema()):
        keys = list(entry["properties"])
        assert "type" not in keys[1:] and "description" not in keys[:-1]


def test_every_field_has_a_description_and_examples():
    for entry in _objects(schema()):
        assert entry["additionalProperties"] is False
        for name, field in entry["properties"].items():
            assert field.get("description"), (entry.get("description"), name)
            assert field.get("examples"), (entry.get("description"), name)


def _kinds(base=Spec):
    """Classes that a file chooses by ``type``."""
    for kind in base.__subclasses__():
        yield from {*([kind] if "type" in kind.model_fields else []), *_kinds(kind)}


def test_the_example_of_every_type_is_read():
    """It has the keys that only make sense together, of which the schema requires none."""
    kinds = set(_kinds())
    assert len(kinds) > 100
    for kind in kinds:
        (example,) = kind.model_json_schema(by_alias=True).get("examples") or [None]
        kind.model_validate(example)


@pytest.mark.parametrize("path", sorted((ROOT / "models").glob("**/*.yaml")), ids=lambda path: path.name)
def test_models_satisfy_it(path):
    editor().validate(_data(path.read_text()))


def test_it_finds_what_a_schema_can_find():
    editor().validate(_data(VALID))
    for old, new in (("name: example", "nam: e"), ("type: rod,", "type: rood,"), ("derivative: 1", "derivative: 3")):
        with pytest.raises(jsonschema.ValidationError):
            editor().validate(_data(variant(old, new)))


def test_a_block_may_state_half_an_item():
    """The other half stands in the file, in another block, or in what is laid over one instance."""
    base = _data(VALID)
    half = {"joints": {"B": {"initial": {"angles": ["i", 0]}}}, "forces": {"spring": {"damping": 3}}}
    block = {"repeat": {"more": {"for": {"i": [1, 1]}, **half}}}
    editor().validate(base | block)
    editor().validate({"mbsim": 1, **half} | block)
    editor().validate({"mbsim": 1, "include": ["base.yaml"], **half})
    for wrong in (
        base | half,  # in the file itself they are all there is
        base | {"repeat": {"more": {"for": {"i": [1, 1]}, "joints": {"B": {"inital": {}}}}}},
        base | {"repeat": {"more": {"for": {"i": [1, 1]}, "forces": {"spring": {"law": {"value": 2}}}}}},
        base | {"repeat": {"more": half}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            editor().validate(wrong)
