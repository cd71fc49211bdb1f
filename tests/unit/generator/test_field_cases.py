"""What people who do this job ran into, as far as it is about names, effects and accounting.

The number of a case is that of the list of cases from the field; each has the report that it comes from.
"""

from __future__ import annotations

import json
import re

import pytest

from anvil_core import names
from anvil_generator import harnesses
from anvil_generator.report import report, summary

OK = {"responses": {"200": {"description": "ok"}}}
SAFE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")


def parameter(name, where="path", **more):
    return {"name": name, "in": where, "required": True, "schema": {"type": "string"}, **more}


def named(made):
    return {f"{one.source.method} {one.source.path}": one.name for one in made.air.operations}


UNNAMED = {
    "/users": {"get": dict(OK), "post": {"operationId": "", **OK}},
    "/users/{user_id}": {
        "parameters": [parameter("user_id")],
        "get": {"operationId": "   ", **OK},
        "delete": dict(OK),
    },
    "/users/{user_id}/keys/{key-id}": {
        "parameters": [parameter("user_id"), parameter("key-id")],
        "get": dict(OK),
    },
    "/": {"get": dict(OK)},
    "/v2/--": {"get": dict(OK)},
}


def test_case_3_a_missing_id_gives_a_name_from_method_and_path(project, compiled):
    """open-webui#12902"""
    made = named(compiled(project(UNNAMED)))
    assert made["get /users"] == "get_users"
    assert made["post /users"] == "post_users"
    assert made["get /users/{user_id}"] == "get_users_by_user_id"
    assert made["delete /users/{user_id}"] == "delete_users_by_user_id"
    assert made["get /users/{user_id}/keys/{key-id}"] == "get_users_by_user_id_keys_by_key_id"
    assert len(set(made.values())) == len(made) == 7
    assert all(SAFE.fullmatch(name) for name in made.values())


def test_case_3_names_are_the_same_whatever_the_order(project, compiled):
    """open-webui#12902"""
    first = named(compiled(project(UNNAMED, name="first")))
    assert first == named(compiled(project(dict(reversed(UNNAMED.items())), name="second")))
    for left_out in UNNAMED:
        fewer = {path: entry for path, entry in UNNAMED.items() if path != left_out}
        made = named(compiled(project(fewer, name="fewer")))
        assert made == {place: first[place] for place in made}, "and whatever stands beside it"


def test_case_4_a_duplicate_id_is_told_with_both_places_and_loses_nothing(project, compiled):
    """litellm#11321"""
    paths = {path: {"get": {"operationId": "getIt", "tags": ["x"], **OK}} for path in ("/a", "/b", "/c")}
    made = compiled(project(paths))
    (problem,) = [one for one in made.problems if one.code == "operation_id_duplicate"]
    text = str(problem)
    lines = [one.source.line for one in made.air.operations]
    assert all(f"GET {path}" in text for path in paths)
    assert all(str(line) in text for line in lines)
    assert len(set(named(made).values())) == 3
    assert len({one.id for one in made.air.operations}) == 3
    assert all(name.startswith("get_it_") for name in named(made).values())


ODD_IDS = {
    "dots": ("payments.authorize.capture", "payments_authorize_capture"),
    "slashes": ("users/list-repos", "users_list_repos"),
    "a number sign": ("get_files_id#add_shared_link", "get_files_id_add_shared_link"),
    "spaces": ("Get all the things", "get_all_the_things"),
    "capitals": ("getHTTPStatusV2", "get_http_status_v2"),
    "two underscores": ("get__it", "get_it"),
    "a digit first": ("2fa.enable", "op_2fa_enable"),
    "underscores around": ("_private_", "private"),
    "quotes and line breaks": ('a"b\nc`d', "a_b_c_d"),
}


@pytest.mark.parametrize("case", ODD_IDS)
def test_case_5_an_odd_id_becomes_a_name_that_every_harness_keeps(project, compiled, case):
    """openapi-mcp-generator ends on such a document; PayPal and Box have them."""
    given, wanted = ODD_IDS[case]
    (one,) = compiled(project({"/x": {"get": {"operationId": given, **OK}}})).air.operations
    assert one.name == wanted
    assert one.title == given, "the original stays as title"
    assert SAFE.fullmatch(one.name)


LONG = "post_accounts_account_holder_balance_platform_transfer_instruments_configuration_of_the_{}_merchant"


@pytest.mark.parametrize("service", ["p", "a-service-id-xyz"])
def test_case_6_a_long_name_is_cut_to_a_readable_stem_and_a_hash(project, compiled, service):
    """claude-code#20830, codex#1289; Adyen has names of 104 characters, Box of 82."""
    paths = {
        f"/{which}": {"post": {"operationId": LONG.format(which), **OK}} for which in ("first", "second")
    }
    made = compiled(project(paths), service)
    found = named(made)
    assert len(set(found.values())) == 2
    for name in found.values():
        assert re.fullmatch(r"post_accounts(_[a-z]+)*_[0-9a-f]{6}", name), name
        for prefix in harnesses.longest_prefixes(service).values():
            assert len(prefix + name) <= names.LONGEST_WHOLE_NAME
    alone = compiled(project({"/first": paths["/first"]}, name="alone"), service)
    assert named(alone)["post /first"] == found["post /first"], "the same without the other"


def test_case_10_a_header_with_one_value_is_bound_and_not_asked_for(project, compiled):
    """Version headers, Accept and Content-Type are the server's."""
    given = [
        parameter("Notion-Version", "header", schema={"type": "string", "enum": ["2022-06-28"]}),
        parameter("Accept", "header"),
        parameter("Content-Type", "header"),
        parameter("X-Trace", "header"),
    ]
    (one,) = compiled(project({"/x": {"post": {"parameters": given, **OK}}})).air.operations
    assert list(one.input.json_schema["properties"]) == ["X-Trace"]
    assert [(each.name, each.value) for each in one.input.constants] == [("Notion-Version", "2022-06-28")]


@pytest.mark.parametrize(
    "name", ["Idempotency-Key", "idempotency-key", "PayPal-Request-Id", "X-Idempotency-Key"]
)
@pytest.mark.parametrize("required", [True, False])
def test_case_10_an_idempotency_header_is_recognised(project, compiled, name, required):
    key = parameter(name, "header", required=required)
    (one,) = compiled(project({"/x": {"post": {"parameters": [key], **OK}}})).air.operations
    assert (one.idempotency.key, one.controls.idempotency_key) == (name, "idempotency_key")
    assert one.idempotency.mode == ("required" if required else "key_supported")
    assert one.input.json_schema["properties"] == {}, "it is Anvil's argument, not the document's"


# An API where nearly everything is POST, in the style of Slack and Dropbox: id -> effect, state.
RPC = {
    "conversations.list": ("read", "review_required"),
    "files.search": ("read", "review_required"),
    "chat.postMessage": ("mutation", "review_required"),
    "conversations.history": ("mutation", "review_required"),
    "users.identity": ("mutation", "review_required"),
    "channels.archive": ("mutation", "generated"),
    "files.delete": ("mutation", "generated"),
    "chat.scheduleMessage": ("mutation", "generated"),
    "files.listAndDelete": ("mutation", "generated"),
    "search.inviteAll": ("mutation", "generated"),
}


def test_case_11_effect_is_not_the_method_and_unknown_is_for_review(project, compiled):
    paths = {f"/{name}": {"post": {"operationId": name, "tags": ["x"], **OK}} for name in RPC}
    made = compiled(project(paths)).air.operations
    assert {one.title: (one.effect.kind, one.state) for one in made} == RPC
    for one in made:
        if one.effect.kind == "mutation":
            assert one.confirmation.required, "and nothing of it runs without a confirmation"
            assert one.effect.reversible is not True


def test_case_11_reads_among_them_are_not_approved_by_the_lot(project, cli):
    """Nor by a GET that changes: both wait for a person who names them."""
    paths = {f"/{name}": {"post": {"operationId": name, **OK}} for name in RPC}
    paths["/odd"] = {"get": {"operationId": "chat.delete", **OK}}
    done = cli("approve", project(paths), "--reads", "--json")
    assert json.loads(done.stdout)["approved"] == []


# One good operation among 150 of which something is wrong with each other one.
MANY = {
    **{f"/good/{n}": {"get": {"operationId": f"good{n}", **OK}} for n in range(100)},
    **{f"/bad/{{id}}/{n}": {"get": {"operationId": f"bad{n}", **OK}} for n in range(30)},
    **{f"/trace/{n}": {"trace": {"operationId": f"trace{n}", **OK}} for n in range(20)},
}


@pytest.mark.invariant("I6")
def test_case_14_no_operation_is_lost_without_a_word(project, compiled):
    """A generator turned 150 operations into 6 in silence."""
    made = compiled(project(MANY, "select: {exclude: {paths: [/good/1*]}}\n"))
    accounting = report(made)["accounting"]
    places = [f"{one['method']} {one['path']}" for entries in accounting.values() for one in entries]
    assert sorted(places) == sorted(
        f"{method.upper()} {path}" for path, item in MANY.items() for method in item
    )
    assert [len(accounting[part]) for part in ("compiled", "withheld", "failed")] == [89, 31, 30]
    assert {one["reason"] for one in accounting["withheld"]} == {"method_unsupported", "not_selected"}
    assert all("path_parameter_missing" in one["problem"] for one in accounting["failed"])
    assert summary(made).startswith("150 operations in api.json: 89 compiled (89 generated)")
    assert summary(made).endswith(", 31 withheld, 30 failed")
