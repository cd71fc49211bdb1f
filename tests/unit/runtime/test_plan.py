from __future__ import annotations

import pytest

from anvil_runtime.execute import execute
from anvil_runtime.origin import target
from anvil_runtime.plan import ContractError, make_plan, shown
from anvil_runtime.styles import UnsendableError


@pytest.fixture
def plan(contract, operation):
    def make(args, name="refund_create", **changes):
        return make_plan(operation(name, **changes), args, target(contract().service, {}))

    return make


def path_of(plan, charge):
    return plan({"charge": charge}, "charge_get").path


def parameter(name: str, location: str, **more) -> dict:
    style = {"path": "simple", "header": "simple"}.get(location, "form")
    data = {"argument": name.lower().replace("-", "_"), "name": name, "location": location, "required": False}
    return {**data, "style": style, "explode": False, "json_schema": {}, **more}


def with_parameters(operation_input, *parameters, **more):
    return {**operation_input, "parameters": list(parameters), "body": None, **more}


def test_the_whole_request(plan, full):
    made = plan({**full, "expand": ["a b", "c"]})
    assert made.method == "POST"
    assert made.url == "https://api.shop.example/api/v1/charges/ch_1/refunds?expand=a%20b&expand=c"
    assert made.body == b'{"amount":5}'
    assert dict(made.headers) == {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "anvil-runtime",
        "Content-Type": "application/json",
        "X-Version": "7",
        "Idempotency-Key": "key-0001",
    }


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("a?b#c", "a%3Fb%23c"),
        ("https://evil.example", "https%3A%2F%2Fevil.example"),
        ("//evil.example", "%2F%2Fevil.example"),
        ("@evil.example", "%40evil.example"),
        ("%2e%2e", "%252e%252e"),
        ("...", "..."),
        ("a b\r\né", "a%20b%0D%0A%C3%A9"),
        ("a;b=c", "a%3Bb%3Dc"),
        ("\\evil", "%5Cevil"),
    ],
)
def test_a_path_value_stays_in_its_segment(plan, value, segment):
    assert path_of(plan, value) == f"/api/v1/charges/{segment}"


def test_what_stands_behind_a_hash_in_the_documents_path_is_not_sent(plan, operation):
    source = {**operation("charge_get").source.model_dump(), "path": "/charges/{charge}#{refund}"}
    assert plan({"charge": "ch_1"}, "charge_get", source=source).url.endswith("/api/charges/ch_1")


@pytest.mark.parametrize("value", ["", ".", "..", "../admin", "a/../../b", "..\\admin", "a/./b"])
def test_a_path_value_cannot_change_the_path(plan, value):
    with pytest.raises(UnsendableError, match="part of the path") as error:
        path_of(plan, value)
    assert error.value.argument == "charge"


@pytest.mark.parametrize(
    ("style", "value"), [("label", ""), ("label", "."), ("simple", [".", "."]), ("simple", {"..": 1})]
)
def test_nor_in_any_other_style(plan, operation, style, value):
    one = parameter("charge", "path", style=style)
    with pytest.raises(UnsendableError, match="part of the path"):
        plan({"charge": value}, "charge_get", input={"parameters": [one], "json_schema": {}})


@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("/cmp/{base}..{head}", {"base": "/", "head": "/admin"}),
        ("/cmp/{base}..{head}", {"base": "a\\", "head": "\\b"}),
        ("/cmp/{base}{head}", {"base": "x/.", "head": "./y"}),
        ("/cmp/.{base}/{head}", {"base": ".", "head": "y"}),
        ("/cmp/.{base}/{head}", {"base": ".;v=1", "head": "y"}),
        ("/cmp/{base}/{head}", {"base": "..;v=1", "head": "y"}),
        ("/cmp/{base}/{head}", {"base": "y", "head": "x/..;/z"}),
    ],
)
def test_nor_do_parts_that_are_put_together(plan, path, args):
    given = {"parameters": [parameter("base", "path"), parameter("head", "path")], "json_schema": {}}
    source = {"path": path, "method": "get", "operation_id": None, "pointer": "/", "line": 1}
    changes = {"input": given, "source": source}
    assert plan({"base": "v1.0", "head": "v2.0"}, "charge_get", **changes).path.startswith("/api/cmp/")
    with pytest.raises(UnsendableError, match="part of the path"):
        plan(args, "charge_get", **changes)


def test_nor_an_exploded_label(plan):
    one = parameter("charge", "path", style="label", explode=True)
    given = {"parameters": [one], "json_schema": {}}
    assert plan({"charge": ["a", "b"]}, "charge_get", input=given).path == "/api/v1/charges/.a.b"
    with pytest.raises(UnsendableError, match="part of the path"):
        plan({"charge": ["", "/admin"]}, "charge_get", input=given)


@pytest.mark.parametrize("args", [{"charge": None}, {}])
def test_a_path_is_never_sent_with_a_place_left_open(plan, args):
    with pytest.raises(UnsendableError, match="must have a value") as error:
        plan(args, "charge_get")
    assert error.value.argument == "charge"


@pytest.mark.parametrize(
    "name", ["Host", "Authorization", "Cookie", "X-HTTP-Method-Override", "X-Forwarded-For"]
)
def test_a_declared_parameter_does_not_become_a_guarded_header(plan, name):
    given = {"parameters": [parameter(name, "header")], "json_schema": {}}
    source = {"path": "/x", "method": "get", "operation_id": None, "pointer": "/", "line": 1}
    changes = {"input": given, "source": source}
    assert name not in dict(plan({}, "charge_get", **changes).headers)
    with pytest.raises(UnsendableError, match="no argument ever sets"):
        plan({name.lower().replace("-", "_"): "x"}, "charge_get", **changes)


SOURCE = {"path": "/x", "method": "get", "operation_id": None, "pointer": "/", "line": 1}


def test_a_declared_user_agent_replaces_our_own(plan):
    given = {"parameters": [parameter("User-Agent", "header")], "json_schema": {}}
    with_one = plan({"user_agent": "shop/1"}, "charge_get", input=given, source=SOURCE)
    assert [value for name, value in with_one.headers if name == "User-Agent"] == ["shop/1"]
    without = plan({}, "charge_get", input=given, source=SOURCE)
    assert dict(without.headers)["User-Agent"] == "anvil-runtime"


def test_what_the_server_reads_and_writes_is_its_own_to_say(plan):
    given = {"parameters": [parameter("Accept-Encoding", "header")], "json_schema": {}}
    made = plan({"accept_encoding": "gzip"}, "charge_get", input=given, source=SOURCE)
    assert dict(made.headers)["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("value", [{"_method": "DELETE"}, {"a": 1, "_METHOD": "PUT"}])
def test_no_part_of_an_argument_names_another_method(plan, value):
    given = {"parameters": [parameter("filter", "query", explode=True)], "json_schema": {}}
    with pytest.raises(UnsendableError, match="no argument ever sets"):
        plan({"filter": value}, "charge_get", input=given, source=SOURCE)
    deep = {"parameters": [parameter("filter", "query", explode=True, style="deepObject")], "json_schema": {}}
    assert "filter%5B" in plan({"filter": value}, "charge_get", input=deep, source=SOURCE).query


def with_cookies(plan, args, *parameters, constants=()):
    given = {"parameters": list(parameters), "constants": list(constants), "json_schema": {}}
    made = plan(args, "charge_get", input=given, source=SOURCE)
    return dict(made.headers).get("Cookie")


def test_a_cookie_that_says_who_is_calling_is_no_argument(plan):
    with pytest.raises(UnsendableError, match="session, which no argument ever sets"):
        with_cookies(plan, {"session": "x"}, parameter("session", "cookie"))


def test_other_cookies_are_one_header(plan):
    fixed = {"name": "lang", "location": "cookie", "value": "de"}
    both = [parameter("theme", "cookie", explode=True), parameter("sizes", "cookie")]
    given = {"theme": "a; admin=1", "sizes": [1, 2]}
    assert with_cookies(plan, given, *both, constants=[fixed]) == "lang=de; theme=a%3B%20admin%3D1; sizes=1,2"
    assert with_cookies(plan, {}, *both) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"session": "x"}, "no argument ever sets"),
        ({"a b": "x"}, "no argument ever sets"),
        ({"lang": "x"}, "already set"),
        ({"a": "x; admin=1"}, "visible ASCII"),
        ({"a": "x\r\nHost: evil"}, "visible ASCII"),
        ({"a": "é"}, "visible ASCII"),
    ],
)
def test_a_cookie_ends_where_its_value_does(plan, value, problem):
    fixed = {"name": "lang", "location": "cookie", "value": "de"}
    where = parameter("more", "cookie", style="cookie", explode=True)
    with pytest.raises(UnsendableError, match=problem):
        with_cookies(plan, {"more": value}, where, constants=[fixed])
    assert with_cookies(plan, {"more": {"a": "x", "b": 1}}, where) == "a=x; b=1"


def test_a_header_with_an_empty_list_is_not_sent(plan):
    given = {"parameters": [parameter("X-Tags", "header")], "json_schema": {}}
    assert "X-Tags" not in dict(plan({"x_tags": []}, "charge_get", input=given, source=SOURCE).headers)
    assert dict(plan({"x_tags": [1, 2]}, "charge_get", input=given, source=SOURCE).headers)["X-Tags"] == "1,2"


def test_an_exploded_object_cannot_set_another_parameter(plan):
    given = {
        "parameters": [parameter("filter", "query", explode=True)],
        "constants": [{"name": "mode", "location": "query", "value": "safe"}],
        "json_schema": {},
    }
    source = {"path": "/x", "method": "get", "operation_id": None, "pointer": "/", "line": 1}
    changes = {"input": given, "source": source}
    assert plan({"filter": {"a": 1}}, "charge_get", **changes).query == "mode=safe&a=1"
    for name in ("mode", "MODE"):
        with pytest.raises(UnsendableError, match="must not set mode, a parameter of its own"):
            plan({"filter": {name: "wild"}}, "charge_get", **changes)


def test_nor_one_that_the_call_leaves_out(plan):
    given = {
        "parameters": [parameter("filter", "query", explode=True), parameter("Account", "query")],
        "json_schema": {},
    }
    key = {"mode": "key_supported", "carrier": "query", "key": "request_id", "form": {"min_length": 3}}
    changes = {"input": given, "idempotency": key}
    args = {"charge": "x", "filter": {"filter": 1, "accounts": 2}}
    given["parameters"].append(parameter("charge", "path"))
    assert plan(args, "charge_get", **changes).query == "filter=1&accounts=2"
    for name in ("Account", "account", "request_id", "_method"):
        with pytest.raises(UnsendableError) as error:
            plan({"charge": "x", "filter": {name: "other"}}, "charge_get", **changes)
        assert error.value.argument == "filter"


def test_two_that_end_up_with_one_name(plan):
    given = {
        "parameters": [
            parameter("color", "query", style="deepObject", explode=True),
            parameter("charge", "path"),
        ],
        "constants": [{"name": "color[R]", "location": "query", "value": "1"}],
        "json_schema": {},
    }
    with pytest.raises(UnsendableError, match="already set"):
        plan({"charge": "x", "color": {"R": 2}}, "charge_get", input=given)


@pytest.mark.parametrize("carrier", ["header", "query", "body", "path"])
def test_the_idempotency_key_in_its_carrier(plan, full, carrier):
    idempotency = {"mode": "required", "carrier": carrier, "key": "the-key", "form": {"min_length": 3}}
    source = {"path": "/x/{the-key}" if carrier == "path" else "/x", "method": "put"}
    made = plan(
        full, idempotency=idempotency, source={**source, "operation_id": None, "pointer": "/", "line": 1}
    )
    found = {
        "header": ("the-key", "key-0001") in made.headers,
        "query": made.query == "the-key=key-0001",
        "body": b'"the-key":"key-0001"' in made.body,
        "path": made.path == "/api/x/key-0001",
    }
    assert [place for place, there in found.items() if there] == [carrier]
    without = plan(
        {**full, "idempotency_key": "a b"},
        idempotency=idempotency,
        source={**source, "operation_id": None, "pointer": "/", "line": 1},
    )
    assert "a b" not in repr(without)
    assert without.path == ("/api/x/{the-key}" if carrier == "path" else "/api/x")


@pytest.mark.parametrize(
    ("carrier", "key"),
    [
        ("header", "Accept"),
        ("header", "content-type"),
        ("header", None),
        ("cookie", "key"),
        ("path", "absent"),
        ("body", "key"),
        (None, None),
    ],
)
def test_a_key_that_nothing_carries_is_never_taken_for_one(plan, executor, upstream, full, carrier, key):
    changes = {"idempotency": {"mode": "required", "carrier": carrier, "key": key, "form": {"min_length": 3}}}
    if carrier == "body":
        changes["input"] = {
            "parameters": [parameter("charge", "path")],
            "json_schema": {"properties": {"charge": {}}},
        }
        del full["body"]
    with pytest.raises(ContractError, match="cannot carry it"):
        plan(full, **changes)
    error = execute(executor("refund_create", **changes), "refund_create", full).envelope["error"]
    assert (error["code"], error["retryable"], error["safe_to_retry"]) == ("internal_error", False, True)
    assert "Nothing was sent" in error["message"]
    assert upstream.plans == []


def test_an_optional_key_in_the_path_has_to_be_given(plan, full):
    idempotency = {"mode": "key_supported", "carrier": "path", "key": "charge", "form": {"min_length": 3}}
    given = {"parameters": [], "json_schema": {}}
    assert plan(full, idempotency=idempotency, input=given).path == "/api/v1/charges/key-0001/refunds"
    del full["idempotency_key"]
    with pytest.raises(UnsendableError, match="must have a value"):
        plan(full, idempotency=idempotency, input=given)


def test_a_body_cannot_bring_its_own_key(plan, full):
    idempotency = {"mode": "required", "carrier": "body", "key": "amount", "form": {"min_length": 3}}
    with pytest.raises(UnsendableError, match="the idempotency key is put there"):
        plan(full, idempotency=idempotency)


def test_null_leaves_a_parameter_out(plan, full):
    assert plan({**full, "expand": None}).query == ""


def test_a_plan_as_it_is_shown(plan, full):
    assert shown(plan(full))["body"] == {"amount": 5}
    assert shown(plan({"charge": "x"}, "charge_get"))["body"] is None
    long = shown(plan({**full, "body": {"note": "x" * 30_000}}))["body"]
    assert long == "(30011 bytes of application/json)"
