from __future__ import annotations

from anvil_generator.sources import assemble


def test_only_what_the_given_parts_reach_stays(one):
    ref = "#/components/schemas/"
    schemas = {
        "Key": {"type": "string"},
        "Body": {"properties": {"inner": {"$ref": ref + "Inner"}}},
        "Inner": {"type": "integer"},
        "Unused": {},
    }
    found = one(
        {
            "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"$ref": ref + "Key"}}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": ref + "Body"}}}},
        },
        components={"schemas": schemas},
    )
    assert list(found.definitions) == ["Body", "Inner", "Key"]
    without_key = assemble((), found.body, found.definitions)
    assert list(without_key["$defs"]) == ["Body", "Inner"]
    assert list(without_key["properties"]) == ["body"]
    assert assemble((), None, found.definitions) == {
        "type": "object", "properties": {}, "additionalProperties": False,
    }  # fmt: skip


def test_assembling_changes_nothing_that_was_given(one):
    found = one({"parameters": [{"name": "a", "in": "query", "schema": {"type": "string"}}]})
    schema = assemble(found.parameters, found.body, found.definitions)
    schema["properties"]["more"] = {}
    assert "more" not in assemble(found.parameters, found.body, found.definitions)["properties"]
