"""``air.json`` is read as it was written, with each shared definition once."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from support.air import make_air, make_operation

from anvil_core import air_file
from anvil_core.air import Input, Output

A, B = {"type": "string"}, {"items": {"$ref": "#/$defs/A"}}


def _operation(name, definitions, answer=None):
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/B"}}, "$defs": definitions}
    output = Output(media_type="application/json", json_schema=answer) if answer else Output()
    return make_operation(name, input=Input(json_schema=schema), output=output)


def _air(*operations):
    return make_air(*operations)


def test_what_operations_share_stands_there_once():
    air = _air(_operation("one_x", {"A": A, "B": B}), _operation("two_x", {"A": dict(A), "B": B}))
    data = json.loads(air_file.write(air))
    assert data["definitions"] == {"request": {"A": A, "B": B}, "response": {}}
    assert [one["input"]["json_schema"]["$defs"] for one in data["operations"]] == [["A", "B"], ["A", "B"]]
    assert air_file.read(air_file.write(air)) == air


def test_requests_and_answers_have_definitions_of_their_own():
    """What is read-only or write-only differs between them under one name."""
    air = _air(_operation("one_x", {"A": A, "B": B}, {"$ref": "#/$defs/A", "$defs": {"A": {"type": "null"}}}))
    data = json.loads(air_file.write(air))
    assert data["definitions"]["response"] == {"A": {"type": "null"}}
    assert air_file.read(air_file.write(air)) == air


def test_another_definition_of_the_same_name_stays_where_it_is():
    air = _air(_operation("one_x", {"A": A, "B": B}), _operation("two_x", {"A": {"type": "null"}, "B": B}))
    first, second = json.loads(air_file.write(air))["operations"]
    assert first["input"]["json_schema"]["$defs"] == ["A", "B"]
    assert second["input"]["json_schema"]["$defs"] == {"A": {"type": "null"}, "B": B}
    assert air_file.read(air_file.write(air)) == air


def test_a_contract_written_out_is_read_too():
    air = _air(_operation("one_x", {"A": A, "B": B}))
    assert air_file.read(air.model_dump_json().encode()) == air


def test_without_operations_and_definitions():
    assert air_file.read(air_file.write(_air())) == _air()


def test_each_operation_and_each_definition_has_a_line():
    air = _air(_operation("one_x", {"A": A, "B": B}), _operation("two_x", {"B": B, "A": A}))
    lines = air_file.write(air).splitlines()
    assert [line[:5] for line in lines if line.startswith(b'{"id"')] == [b'{"id"'] * 2
    assert [line[:4] for line in lines if line[:4] in (b'"A":', b'"B":')] == [b'"A":', b'"B":']


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data["definitions"]["request"].pop("A"),
        lambda data: data.pop("definitions"),
        lambda data: data.update(definitions=[]),
        lambda data: data["operations"].append(7),
        lambda data: data.update(operations={}),
        lambda data: data["operations"][0].pop("input"),
        lambda data: data["operations"][0]["input"]["json_schema"].update({"$defs": [7]}),
        lambda data: data.update(more=1),
    ],
)
def test_a_damaged_file_is_refused(damage):
    data = json.loads(air_file.write(_air(_operation("one_x", {"A": A, "B": B}))))
    damage(data)
    with pytest.raises(ValidationError):
        air_file.read(json.dumps(data).encode())


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b"null"])
def test_what_is_no_contract_is_refused(text):
    with pytest.raises(ValidationError):
        air_file.read(text)
