from __future__ import annotations

import pytest

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
TEXT, NUMBERS = {"type": "string"}, {"type": "array", "items": {"type": "integer"}}
BINARY = {"type": "string", "format": "binary"}
OBJECT = {"type": "object", "additionalProperties": TEXT}


def _document(make, media_type, schema, encoding, version, **rest):
    entry = {"schema": {"type": "object", "properties": {"a": schema, "b": TEXT}}}
    if encoding is not None:
        entry["encoding"] = {"a": encoding}
    return make({"/a": {"post": {"requestBody": {"content": {media_type: entry}}}}}, version=version, **rest)


@pytest.fixture
def fields(make):
    def read(media_type, schema, encoding=None, version="3.1.0", **rest):
        (found,) = _document(make, media_type, schema, encoding, version, **rest).operations
        return [field.model_dump(exclude_defaults=True, exclude={"others"}) for field in found.body.fields]

    return read


@pytest.mark.parametrize(
    ("media_type", "schema", "encoding"),
    [
        (FORM, TEXT, None),
        (FORM, OBJECT, None),
        (FORM, BINARY, None),
        (FORM, NUMBERS, {"style": "form", "explode": True}),
        (FORM, TEXT, {"allowReserved": False}),
        (MULTIPART, TEXT, None),
        (MULTIPART, OBJECT, None),
        (MULTIPART, TEXT, {"headers": {"Content-Type": {}}}),
    ],
)
def test_a_field_by_the_default_of_its_type_needs_no_word(fields, media_type, schema, encoding):
    assert fields(media_type, schema, encoding) == []


@pytest.mark.parametrize(
    ("media_type", "schema", "encoding", "expected"),
    [
        (FORM, NUMBERS, {"explode": False}, {"style": "form"}),
        (FORM, NUMBERS, {"style": "spaceDelimited"}, {"style": "spaceDelimited"}),
        (FORM, OBJECT, {"style": "deepObject"}, {"style": "deepObject", "explode": True}),
        (FORM, OBJECT, {"style": "form"}, {"style": "form", "explode": True}),
        (FORM, TEXT, {"allowReserved": True}, {"style": "form", "explode": True, "allow_reserved": True}),
        (FORM, TEXT, {"contentType": "application/json"}, {"media_types": ("application/json",)}),
        (MULTIPART, NUMBERS, {"style": "pipeDelimited"}, {"style": "pipeDelimited"}),
        (MULTIPART, BINARY, None, {"file": True}),
        (MULTIPART, {"type": "array", "items": BINARY}, None, {"file": True}),
        (MULTIPART, {}, None, {"file": True}),
        (MULTIPART, {"type": "string", "contentMediaType": "application/pdf"}, None, {"file": True}),
        (
            MULTIPART,
            {"type": "string", "format": "byte"},
            None,
            {"media_types": ("application/octet-stream",)},
        ),
        (
            MULTIPART,
            {"type": "string", "contentEncoding": "base64"},
            {"contentType": "image/png"},
            {"media_types": ("image/png",)},
        ),
        (MULTIPART, BINARY, {"contentType": "image/png"}, {"file": True, "media_types": ("image/png",)}),
        (
            MULTIPART,
            {},
            {"contentType": "image/png, image/*"},
            {"file": True, "media_types": ("image/png", "image/*")},
        ),
        (MULTIPART, TEXT, {"contentType": "image/png"}, {"file": True, "media_types": ("image/png",)}),
        (MULTIPART, TEXT, {"contentType": "text/csv"}, {"media_types": ("text/csv",)}),
        (MULTIPART, TEXT, {"contentType": "application/xml"}, {"media_types": ("application/xml",)}),
        (
            MULTIPART,
            OBJECT,
            {"contentType": "application/xml, application/json"},
            {"media_types": ("application/json",)},
        ),
        (MULTIPART, {"$ref": "#/components/schemas/File"}, None, {"file": True}),
    ],
)
def test_how_a_field_is_written(fields, media_type, schema, encoding, expected):
    assert fields(media_type, schema, encoding, components={"schemas": {"File": BINARY}}) == [
        {"name": "a", **expected}
    ]


@pytest.mark.parametrize(
    ("media_type", "schema", "encoding"),
    [
        (FORM, NUMBERS, {"style": "matrix"}),
        (FORM, NUMBERS, {"style": ["form"]}),
        (FORM, NUMBERS, {"style": "deepObject"}),
        (FORM, TEXT, {"style": "spaceDelimited"}),
        (FORM, NUMBERS, 1),
        (FORM, OBJECT, {"contentType": "application/xml"}),
        (MULTIPART, OBJECT, {"contentType": "application/xml; charset=utf-8"}),
        (MULTIPART, TEXT, {"contentType": "text/*"}),
        (MULTIPART, TEXT, {"headers": {"X-Rate": {"schema": TEXT}}}),
        (MULTIPART, {"type": "array", "items": NUMBERS}, {"style": "form"}),
    ],
)
def test_a_field_that_cannot_be_written_withholds_the_operation_where_it_stands(
    make, media_type, schema, encoding
):
    (withheld,) = _document(make, media_type, schema, encoding, "3.1.0").withheld
    assert withheld.reason == "encoding_unsupported"
    assert "'a'" in withheld.detail
    assert withheld.position.line > withheld.source.line


def test_a_style_in_a_multipart_form_counts_from_3_1_on(fields):
    assert fields(MULTIPART, NUMBERS, {"style": "spaceDelimited"}, version="3.0.3") == []


def test_a_schema_without_a_type_is_a_file_from_3_1_on(fields):
    assert fields(MULTIPART, {}, version="3.0.3") == []


def test_fields_of_combined_schemas_count_and_a_name_without_a_property_does_not(one, tool):
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Upload"}, {"properties": {"note": TEXT}}],
        "properties": {"size": {"type": "integer"}},
    }
    entry = {"schema": schema, "encoding": {"gone": {"style": "matrix"}}}
    upload = {
        "type": "object",
        "properties": {"file": BINARY},
        "allOf": [{"$ref": "#/components/schemas/Upload"}],
    }
    found = one({"requestBody": {"content": {MULTIPART: entry}}}, components={"schemas": {"Upload": upload}})
    assert [(field.name, field.file) for field in found.body.fields] == [("file", True)]
    assert tool(found)["properties"]["body"]["properties"]["file"] == {
        "description": "The bytes as base64 text."
    }


def test_the_model_is_told_how_a_file_is_given(one, tool):
    images = {"schema": {"type": "object", "properties": {"a": {**BINARY, "description": "A picture."}}}}
    images["encoding"] = {"a": {"contentType": "image/png, image/jpeg"}}
    said = tool(one({"requestBody": {"content": {MULTIPART: images}}}))["properties"]["body"]["properties"][
        "a"
    ]
    assert said["description"] == (
        "A picture. A data URL, data:TYPE;base64,...; TYPE is one of image/png, image/jpeg."
    )


def test_the_keys_of_a_spread_object_know_the_other_fields(make):
    (found,) = _document(make, FORM, OBJECT, {"style": "form"}, "3.1.0").operations
    assert found.body.fields[0].others == ("a", "b")
