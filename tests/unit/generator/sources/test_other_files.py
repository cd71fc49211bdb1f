"""A document of several files: references lead to files below its folder, and nowhere else."""

from __future__ import annotations

import hashlib
import json

import pytest

from anvil_generator.sources import assemble, other_files, read
from anvil_generator.sources.pointers import File

MAIN = """openapi: 3.1.0
info: {title: T, version: '1'}
servers: [{url: 'https://api.example.com'}]
paths:
  /pets:
    $ref: paths/pets.yaml
  /pets/{id}:
    get:
      parameters:
        - $ref: 'common/parameters.yaml#/Id'
      responses:
        '200': {$ref: 'common/responses.yaml#/Pet'}
"""
FILES = {
    "openapi.yaml": MAIN,
    "paths/pets.yaml": """
get:
  operationId: listPets
  responses:
    '200':
      content: {application/json: {schema: {type: array, items: {$ref: '../schemas/Pet.json'}}}}
post:
  operationId: addPet
  requestBody:
    content: {application/json: {schema: {$ref: ../schemas/Pet.json}}}
""",
    "common/parameters.yaml": "Id: {name: id, in: path, required: true, schema: {$ref: '#/x/Id'}}\n"
    "x: {Id: {type: integer}}\n",
    "common/responses.yaml": "Pet:\n  content:\n    application/json:\n"
    "      schema: {$ref: '../schemas/Pet.json'}\n",
    "schemas/Pet.json": json.dumps(
        {"type": "object", "properties": {"parent": {"$ref": "Pet.json"}, "tag": {"$ref": "#/$defs/Tag"}}}
        | {"$defs": {"Tag": {"type": "string"}}}
    ),
}


@pytest.fixture
def written(tmp_path):
    def write(**changed):
        files = FILES | changed
        for name, content in files.items():
            path = tmp_path / "api" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return tmp_path / "api" / "openapi.yaml"

    return write


def _by_id(document):
    return {one.source.operation_id: one for one in document.operations}


def test_a_document_of_several_files_is_one(written, check_schema, tool):
    document = read(written())
    assert (document.withheld, document.failed, document.problems) == ((), (), ())
    assert len(document.operations) == 3
    for one in document.operations:
        check_schema(tool(one))
        if one.output.json_schema:
            check_schema(one.output.json_schema)
    body = assemble((), _by_id(document)["addPet"].body, _by_id(document)["addPet"].definitions)
    (pet, tag) = sorted(body["$defs"])
    assert body["properties"]["body"] == {"$ref": f"#/$defs/{pet}"}
    assert body["$defs"][pet]["properties"]["parent"] == {"$ref": f"#/$defs/{pet}"}
    assert body["$defs"][tag] == {"type": "string"}


def test_an_operation_stands_where_its_file_has_it(written):
    source = _by_id(read(written()))["addPet"].source
    assert (source.file, source.line, source.pointer) == ("paths/pets.yaml", 7, "paths/pets.yaml#/post")
    source = _by_id(read(written()))[None].source
    assert (source.file, source.line, source.pointer) == (None, 8, "/paths/~1pets~1{id}/get")


def test_the_digest_is_of_all_files(written):
    first = read(written()).sha256
    assert first == read(written()).sha256
    assert read(written(**{"schemas/Pet.json": '{"type": "object"}'})).sha256 != first


def test_the_digest_of_a_single_file_is_its_own(written):
    alone = MAIN.partition("paths:")[0] + "paths: {/a: {get: {}}}\n"
    assert read(written(**{"openapi.yaml": alone})).sha256 == hashlib.sha256(alone.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "code", "place"),
    [
        ("common/parameters.yaml", "a: 1\nId: {name: id\n", "invalid_yaml", ("common/parameters.yaml", 3)),
        ("common/parameters.yaml", "a: 1\nId:\n  in: path\n", "parameter_without_name",
         ("common/parameters.yaml", 2)),
        ("common/parameters.yaml", "Id: {$ref: 'gone.yaml'}\n", "unreadable", ("common/parameters.yaml", 1)),
        ("common/parameters.yaml", "\nId: {$ref: '#/Gone'}\n", "unresolved_reference",
         ("common/parameters.yaml", 2)),
        ("common/parameters.yaml", "Other: 1\n", "unresolved_reference", ("openapi.yaml", 10)),
        ("common/parameters.yaml", "Id: {$ref: '../openapi.yaml#/paths/~1pets~1{id}/get/parameters/0'}\n",
         "reference_cycle", ("openapi.yaml", 10)),
        ("schemas/Pet.json", '{"items":\n {"$ref": "#/gone"}}', "unresolved_reference",
         ("schemas/Pet.json", 2)),
        ("schemas/Pet.json", '{"items":\n', "invalid_json", ("schemas/Pet.json", 2)),
        ("schemas/Pet.json", "[]", "not_a_schema", ("common/responses.yaml", 4)),
    ],
)  # fmt: skip
def test_a_problem_in_another_file_is_told_with_that_files_position(written, name, content, code, place):
    document = read(written(**{name: content}))
    assert len(document.operations) + len(document.failed) == 3
    problem = next(one.problem for one in document.failed if one.source.path == "/pets/{id}")
    assert (problem.code, (problem.position.file, problem.position.line)) == (code, place)


def test_a_path_item_in_a_file_that_hides_an_operation_is_refused(written):
    document = read(written(**{"paths/pets.yaml": "get: {}\nget: {}\n"}))
    (failed,) = document.failed
    assert (failed.source.path, failed.source.method, failed.problem.code) == ("/pets", "*", "duplicate_path")
    assert (failed.problem.position.file, failed.problem.position.line) == ("paths/pets.yaml", 2)
    assert len(document.operations) == 1


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/a.yaml#/Id",
        "HTTPS://example.com/a.yaml",
        "//example.com/a.yaml",
        "file:///etc/passwd",
        "/etc/passwd",
        "../outside.yaml#/Id",
        "common/../../outside.yaml#/Id",
        "%2e%2e/outside.yaml#/Id",
        "..\\outside.yaml#/Id",
        "link.yaml#/Id",
        "folder/outside.yaml#/Id",
    ],
)
def test_a_reference_that_leaves_the_folder_withholds_the_operation(written, tmp_path, reference):
    (tmp_path / "outside.yaml").write_text(FILES["common/parameters.yaml"], encoding="utf-8")
    path = written(**{"openapi.yaml": MAIN.replace("common/parameters.yaml#/Id", reference)})
    (path.parent / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (path.parent / "folder").symlink_to(tmp_path)
    document = read(path)
    (withheld,) = document.withheld
    assert (withheld.reason, withheld.source.path) == ("external_reference", "/pets/{id}")
    assert repr(reference) in withheld.detail
    assert (withheld.position.file, withheld.position.line) == ("openapi.yaml", 10)
    assert len(document.operations) == 2


def test_a_folder_may_be_named_that_references_lead_to(written, tmp_path):
    (tmp_path / "outside.yaml").write_text(FILES["common/parameters.yaml"], encoding="utf-8")
    changed = MAIN.replace("common/parameters.yaml#/Id", "../outside.yaml#/Id")
    path = written(**{"openapi.yaml": changed})
    assert len(read(path, refs_within=tmp_path).operations) == 3
    assert len(read(path, refs_within=tmp_path / "api").withheld) == 1
    network = MAIN.replace("common/parameters.yaml#/Id", "https://example.com/a.yaml")
    assert len(read(written(**{"openapi.yaml": network}), refs_within=tmp_path).withheld) == 1


def test_the_document_may_be_named_from_another_file(written):
    content = "Id: {$ref: '../openapi.yaml#/components/parameters/Id'}\n"
    tail = "components: {parameters: {Id: {name: id, in: path, required: true, schema: {type: string}}}}\n"
    document = read(written(**{"openapi.yaml": MAIN + tail, "common/parameters.yaml": content}))
    (parameter,) = _by_id(document)[None].parameters
    assert parameter.json_schema == {"type": "string"}


@pytest.mark.timeout(20)
def test_only_so_many_files_and_bytes_are_read(written, monkeypatch):
    monkeypatch.setattr(other_files, "MOST_FILES", 2)
    assert {one.problem.code for one in read(written()).failed} == {"too_many_files"}
    monkeypatch.undo()
    monkeypatch.setattr("anvil_generator.sources.text.MAX_BYTES", len(MAIN) + 10)
    assert {one.problem.code for one in read(written()).failed} == {"document_too_large"}


@pytest.mark.timeout(20)
def test_a_file_that_is_none_is_never_opened(written):
    path = written(**{"openapi.yaml": MAIN.replace("common/parameters.yaml#/Id", "common")})
    assert [one.problem.code for one in read(path).failed] == ["not_a_file"]


def test_a_file_is_no_plain_segment():
    assert File("paths") != "paths"
    assert len({File("paths"), "paths"}) == 2
    assert File("paths") == File("paths")


SCHEMAS = {
    "List": {
        "$id": "https://example.com/schemas/list",
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "head": {"$ref": "#/$defs/Head"}, "n": {"$ref": "node"}},
        "$defs": {"Head": {"type": "string"}},
    },
    "Node": {"$id": "https://example.com/schemas/node", "$anchor": "here", "type": "integer"},
}


@pytest.mark.parametrize(
    ("reference", "accepted", "refused"),
    [
        ("https://example.com/schemas/node", 1, "x"),
        ("https://example.com/schemas/node#", 1, "x"),
        ("https://example.com/schemas/list", {"next": {"head": "x", "n": 1}}, {"next": {"head": 1}}),
        ("https://example.com/schemas/list", {"n": 1}, {"n": "x"}),
        ("https://example.com/schemas/list#/$defs/Head", "x", 1),
        ("#here", 1, "x"),
    ],
)
def test_schemas_may_be_named_by_id_and_anchor(schema_of, accepts, reference, accepted, refused):
    schema = schema_of({"$ref": reference}, version="3.1.0", components={"schemas": SCHEMAS})
    assert accepts(schema, {"body": accepted})
    assert not accepts(schema, {"body": refused})
