"""Documents that are made to cost too much: refused or read, in bounded time and memory, each measured.

Each is read in a process of its own, so that the memory that it took is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import pytest

from anvil_generator.sources import limits, read_bytes

# Far above what is measured on a machine that does nothing else, and far below what they would cost.
SECONDS = 120
MEGABYTES = 700

READ = """
import resource, sys
from anvil_generator.sources import read_bytes
data = open(sys.argv[1], "rb").read()
found = read_bytes(data, sys.argv[2])
problem = found.problems[0]
print(problem.severity, problem.code, len(found.operations), len(found.failed), len(found.withheld))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def _json(text):
    return b'{"openapi":"3.1.0",' + text + b"}"


def _operation(text):
    return _json(b'"paths":{"/a":{"get":' + text + b"}}")


def _yaml(text):
    return b"openapi: 3.1.0\nx:\n" + text


def _aliases():
    lines = ["- &a0 [x]", *(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 100))]
    return "\n".join(lines).encode()


def _shared(operations, parameters):
    item = {
        "get": {"parameters": [{"name": f"p{n}", "in": "query", "schema": {}} for n in range(parameters)]}
    }
    return json.dumps(
        {"openapi": "3.1.0", "paths": {f"/{n}": {"$ref": "#/x"} for n in range(operations)}, "x": item}
    )


def _chain(operations, length):
    schemas = {f"S{n}": {"items": {"$ref": f"#/x/S{n + 1}"}} for n in range(length)}
    body = {"content": {"application/json": {"schema": {"$ref": "#/x/S0"}}}}
    paths = {f"/{n}": {"post": {"requestBody": body}} for n in range(operations)}
    return json.dumps({"openapi": "3.1.0", "paths": paths, "x": {**schemas, f"S{length}": {}}})


HOSTILE = {
    "a text of 60 MB": (lambda: _json(b'"x":"' + b"a" * 60_000_000 + b'"'), "server_missing"),
    "a text of 100 MB": (lambda: _json(b'"x":"' + b"a" * 100_000_000 + b'"'), "document_too_large"),
    "a description of 50 MB": (
        lambda: _operation(b'{"description":"' + b"a b " * 12_500_000 + b'"}'), "server_missing"),
    "a path of 50 MB": (
        lambda: _json(b'"paths":{"/' + b"a" * 50_000_000 + b'":{"get":{}}}'), "key_too_long"),
    "an id of 50 MB": (
        lambda: _operation(b'{"operationId":"' + b"a " * 25_000_000 + b'"}'), "server_missing"),
    "a number of 50 MB": (lambda: _json(b'"x":' + b"1" * 50_000_000), "invalid_json"),
    "20 million lists": (lambda: _json(b'"x":[' + b"[]," * 20_000_000 + b"[]]"), "document_too_large"),
    "a million lists in each other": (
        lambda: _json(b'"x":' + b"[" * 900_000 + b"]" * 900_000), "document_too_deep"),
    "500,000 values": (lambda: _json(b'"x":[' + b'{"a":{}},' * 500_000 + b"1]"), "server_missing"),
    "15 million lines": (lambda: _yaml(b"- a\n" * 15_000_000), "document_too_large"),
    "900,000 lines": (lambda: _yaml(b"- a\n" * 900_000), "server_missing"),
    "a million brackets": (lambda: _yaml(b"  " + b"[" * 1_000_000), "invalid_yaml"),
    "aliases of aliases": (lambda: _yaml(_aliases()), "yaml_aliases"),
    "operations that share all parameters": (lambda: _shared(20_000, 900).encode(), "document_too_large"),
    "operations that share a long chain": (lambda: _chain(5_000, 9_000).encode(), "document_too_large"),
}  # fmt: skip


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_costs_bounded_time_and_memory(name, tmp_path):
    make, code = HOSTILE[name]
    data = make()
    path = tmp_path / "document"
    path.write_bytes(data)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), "a.json" if data.startswith(b"{") else "a.yaml"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000)),
    )
    assert done.returncode == 0, done.stderr
    said, peak = done.stdout.splitlines()
    assert said.split()[1] == code, said
    assert int(peak) - len(data) // 1_000_000 < MEGABYTES
    assert time.monotonic() - started < SECONDS


def _code(document):
    return document.problems[0].code


def test_too_many_operations_are_refused(monkeypatch):
    monkeypatch.setattr("anvil_generator.sources.operations.MOST_OPERATIONS", 2)
    for number, code in ((2, "server_missing"), (3, "document_too_large")):
        paths = {f"/{n}": {"get": {}} for n in range(number)}
        document = read_bytes(json.dumps({"openapi": "3.1.0", "paths": paths}, indent=1).encode(), "a.json")
        assert _code(document) == code
    assert document.problems[0].position.line == 11


@pytest.mark.parametrize("top", [{"openapi": "3.1.0"}, {"swagger": "2.0"}])
def test_an_operation_with_too_many_parameters_fails_alone(top):
    many = [{"name": str(n), "in": "query", "type": "string"} for n in range(limits.MOST_PARAMETERS + 1)]
    paths = {"/a": {"get": {"parameters": many}}, "/b": {"get": {"parameters": many[1:]}}}
    document = read_bytes(json.dumps({**top, "paths": paths}).encode(), "a.json")
    assert [one.problem.code for one in document.failed] == ["parameters_too_many"]
    assert [one.source.path for one in document.operations] == ["/b"]


def test_a_schema_that_no_model_could_read_withholds_its_operation(make):
    half = {"enum": ["x" * (limits.LARGEST_SCHEMA // 2)]}
    components = {"schemas": {"A": half, "B": {"items": {"$ref": "#/components/schemas/A"}, **half}}}
    paths = {
        f"/{name}": {
            "post": {"requestBody": {"content": {"application/json": {"schema": schema}}}},
        }
        for name, schema in {
            "small": {"$ref": "#/components/schemas/A"},
            "together": {"$ref": "#/components/schemas/B"},
            "alone": {"enum": ["x" * limits.LARGEST_SCHEMA]},
        }.items()
    }
    document = make(paths, components=components)
    assert [one.source.path for one in document.operations] == ["/small"]
    assert [(one.source.path, one.reason) for one in document.withheld] == [
        ("/together", "schema_too_large"),
        ("/alone", "schema_too_large"),
    ]


def test_an_answer_that_is_too_large_to_describe_is_not_checked(one, make):
    schema = {"enum": ["x" * limits.LARGEST_SCHEMA]}
    responses = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    found = one({"responses": responses})
    assert (found.output.media_type, found.output.json_schema) == ("application/json", None)
    document = make({"/a": {"get": {"responses": responses}}})
    assert [problem.code for problem in document.problems] == ["schema_too_large"]


def test_an_id_that_is_too_long_is_ignored_with_a_word(make):
    document = make({"/a": {"get": {"operationId": "a" * (limits.LONGEST_ID + 1)}}})
    assert document.operations[0].source.operation_id is None
    assert [problem.code for problem in document.problems] == ["operation_id_too_long"]


def test_what_is_written_for_all_operations_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "MOST_WRITTEN", 1000)
    paths = {f"/{n}": {"get": {"description": "x" * 300}} for n in range(4)}
    document = read_bytes(json.dumps({"openapi": "3.1.0", "paths": paths}).encode(), "a.json")
    assert (_code(document), document.operations) == ("document_too_large", ())
