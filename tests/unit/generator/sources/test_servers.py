from __future__ import annotations

import json

import pytest

from anvil_core.air import Origin
from anvil_generator.sources import origin, read_bytes


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port", "base_path"),
    [
        ("https://api.example.com", "https", "api.example.com", 443, ""),
        ("https://API.example.com/", "https", "api.example.com", 443, ""),
        ("http://localhost:8080/a/b/", "http", "localhost", 8080, "/a/b"),
        ("https://[::1]:9/x%20y", "https", "::1", 9, "/x%20y"),
    ],
)
def test_origin_and_base_path(url, scheme, host, port, base_path):
    assert origin(url) == (Origin(scheme=scheme, host=host, port=port), base_path)


@pytest.mark.parametrize(
    "url",
    [
        "/v1", "v1", "", "//api.example.com/v1", "ftp://a.b/", "https://", "https://u:p@a.b/", "https://a.b/?q=1",
        "https://a.b/#f", "https://a.b/x/../y", "https://a.b/%2E%2e/y", "https://a.b//c", "https://a b/",
        "https://a.b:99999/", "https://a.b:0/", "https://{host}/", "https://a.b/{v}", "https://a\n.b/",
        "https://a.b\\@evil.example/", "https://ä.example/", "https://[::1/",
    ],
)  # fmt: skip
def test_what_is_no_plain_absolute_address_is_refused(url):
    with pytest.raises(ValueError, match="server"):
        origin(url)


def test_variables_are_bound_to_their_defaults(make):
    url = "https://{region}.example.com:{port}/{version}"
    variables = {"region": {"default": "eu"}, "port": {"default": 8443}, "version": {"default": "v2"}}
    (server,) = make({}, servers=[{"url": url, "variables": variables, "description": "Live"}]).servers
    assert server.url == "https://eu.example.com:8443/v2"
    assert (server.origin.port, server.base_path, server.description) == (8443, "/v2", "Live")


@pytest.mark.parametrize(
    ("servers", "code"),
    [
        ([], "server_missing"),
        (None, "server_missing"),
        ([{"url": "/v1"}], "server_unusable"),
        ([{"url": "https://{h}.example.com"}], "server_unusable"),
        ([{}], "server_unusable"),
        (["https://a.b"], "server_unusable"),
    ],
)
def test_a_server_that_cannot_be_used_names_the_way_out(make, servers, code):
    document = make({"/a": {"get": {}}}, servers=servers)
    assert document.servers == ()
    (problem,) = document.problems
    assert (problem.code, problem.severity) == (code, "warning")
    assert "`server:`" in problem.message
    assert problem.position.line is not None


SAME = {"url": "https://api.example.com/v1/"}
OTHER = {"url": "https://upload.example.com/v1"}


def withheld(document):
    return [(w.source.method, w.source.path, w.reason) for w in document.withheld]


def test_an_operation_with_servers_of_its_own_is_withheld_unless_it_goes_to_the_service_s(make):
    """The first usable one is where it goes, as of the document's servers: that others overlap is nothing."""
    document = make(
        {
            "/a": {
                "get": {"servers": [SAME, OTHER]},
                "post": {"servers": [OTHER]},
                "put": {"servers": [OTHER, SAME]},
                "patch": {"servers": [{"url": "/v2"}, SAME]},
                "head": {"servers": [{"url": "/v2"}]},
                "delete": {"servers": "https://upload.example.com"},
                "options": {"servers": []},
            },
            "/b": {"servers": [OTHER], "get": {}, "put": {"servers": [SAME]}},
        },
        servers=[SAME, OTHER],
    )
    assert sorted(withheld(document)) == [
        ("delete", "/a", "other_server"),
        ("get", "/b", "other_server"),
        ("head", "/a", "other_server"),
        ("post", "/a", "other_server"),
        ("put", "/a", "other_server"),
    ]
    assert len(document.operations) == 4
    assert {w.position.line for w in document.withheld} & {None} == set()


@pytest.mark.parametrize("declared", [[SAME], [OTHER], []])
def test_where_the_project_says_the_server_operations_are_held_against_that(declared):
    raw = {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "servers": declared,
        "paths": {"/a": {"get": {"servers": [SAME]}, "put": {"servers": [OTHER]}, "post": {}}},
    }
    document = read_bytes(json.dumps(raw).encode(), "t.json", origin(OTHER["url"]))
    assert withheld(document) == [("get", "/a", "other_server")]
