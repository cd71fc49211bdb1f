"""Tool names: readable, unique, short enough, and the same whatever the order."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_core import names

PATTERN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
CLAUDE_ROOM = 23  # behind mcp__plugin_anvil-<16 characters>_api__

methods = st.sampled_from(["get", "post", "put", "patch", "delete", "head", "options"])
segments = st.one_of(
    st.sampled_from(["users", "{id}", "{user-id}", "v2", "OAuth2Tokens", "a", "_", "é", "items.list", "2fa"]),
    st.text(alphabet="abZ019_-.{}~é", min_size=1, max_size=8),
)
paths = st.lists(segments, max_size=5).map(lambda parts: "/" + "/".join(parts))
operation_ids = st.one_of(
    st.none(),
    st.sampled_from(
        ["getUser", "get_user", "get-user", "getUser2", "preview", "Preview", "", "2fa", "orders/create"]
    ),
    st.text(max_size=40),
)
operations = st.dictionaries(st.tuples(methods, paths), operation_ids, max_size=15)


def wanted(found):
    return {
        f"{method} {path}": names.snake(operation_id or "") or names.from_method_and_path(method, path)
        for (method, path), operation_id in found.items()
    }


@given(operations, st.integers(14, 60))
def test_every_name_is_well_formed_unique_and_short(found, limit):
    given_names = names.assign(wanted(found), limit)
    assert set(given_names) == set(wanted(found))
    assert len(set(given_names.values())) == len(given_names)
    assert names.RESERVED not in given_names.values()
    for name in given_names.values():
        assert PATTERN.fullmatch(name)
        assert len(name) <= limit


@given(operations, st.integers(14, 60), st.randoms())
@pytest.mark.invariant("I8")
def test_the_order_in_the_document_does_not_matter(found, limit, shuffler):
    pairs = list(wanted(found).items())
    shuffler.shuffle(pairs)
    assert names.assign(dict(pairs), limit) == names.assign(wanted(found), limit)


@given(operations)
def test_an_operation_that_nobody_collides_with_keeps_its_name(found):
    asked = wanted(found)
    alone = {key: name for key, name in asked.items() if list(asked.values()).count(name) == 1}
    given_names = names.assign(asked, 400)
    for key, name in alone.items():
        if name not in ("", names.RESERVED):
            assert given_names[key] == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("getUser", "get_user"),
        ("GetUserByID", "get_user_by_id"),
        ("HTMLParser", "html_parser"),
        ("listOAuth2Tokens", "list_o_auth2_tokens"),
        ("repos/list-for-org", "repos_list_for_org"),
        ("payments.payment.create", "payments_payment_create"),
        ("get users #1", "get_users_1"),
        ("__init__", "init"),
        ("2fa", "op_2fa"),
        ("v2Users", "v2_users"),
        ("größe", "gr_e"),
        ("日本", ""),
        ("", ""),
        ("a__b--c", "a_b_c"),
    ],
)
def test_snake(text, name):
    assert names.snake(text) == name


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/users/{id}", "get_users_by_id"),
        ("get", "/users", "get_users"),
        ("DELETE", "/users/{userId}/keys/{key-id}", "delete_users_by_user_id_keys_by_key_id"),
        ("get", "/", "get"),
        ("post", "/2fa", "post_2fa"),
        ("get", "/items/{a},{b}", "get_items_by_a_by_b"),
        ("get", "/日本", "get"),
    ],
)
def test_from_method_and_path(method, path, name):
    assert names.from_method_and_path(method, path) == name


def test_words():
    assert names.words("refundPayment-v2/x") == ["refund", "payment", "v", "2", "x"]
    assert names.words("dropdown") == ["dropdown"]


def test_colliding_names_are_all_told_apart_and_stay_the_same():
    """Pinned: a name that changes breaks every approval and prompt that holds it."""
    asked = {"get /users": "list_users", "get /v2/users": "list_users", "get /orgs": "list_orgs"}
    assert names.assign(asked, 63) == {
        "get /users": "list_users_16279a",
        "get /v2/users": "list_users_26f0f6",
        "get /orgs": "list_orgs",
    }


def test_a_third_that_collides_does_not_rename_the_two():
    asked = {"get /users": "list_users", "get /v2/users": "list_users"}
    more = names.assign({**asked, "get /v3/users": "list_users"}, 63)
    assert {key: more[key] for key in asked} == names.assign(asked, 63)


def test_the_previews_name_is_reserved():
    assert names.assign({"post /preview": "preview"}, 63)["post /preview"].startswith("preview_")


def test_an_operation_without_a_readable_name():
    assert names.assign({"get /日本": ""}, 63) == {"get /日本": "op"}


@pytest.mark.parametrize(
    ("wanted_name", "limit", "name"),
    [
        # Adyen and Box: operation ids made of the whole path, of 104 and 82 characters.
        (
            "post_companies_company_id_api_credentials_api_credential_id_allowed_origins_origin_id_generate_client_key",
            CLAUDE_ROOM,
            "post_companies_2c70e1",
        ),
        (
            "put_metadata_templates_enterprise_security_classification_6vmvochwuwo_schema_classifications",
            CLAUDE_ROOM,
            "put_metadata_2c70e1",
        ),
        # Abbreviated words are enough.
        ("create_organization_subscription", CLAUDE_ROOM, "new_org_sub"),
        # It fits: no word is changed.
        ("create_subscription", CLAUDE_ROOM, "create_subscription"),
    ],
)
def test_long_names(wanted_name, limit, name):
    assert names.assign({"key": wanted_name}, limit) == {"key": name}


def test_long_names_that_differ_only_at_their_end():
    asked = {f"get /{number}": "very_" * 30 + str(number) for number in range(300)}
    given_names = names.assign(asked, CLAUDE_ROOM)
    assert len(set(given_names.values())) == 300
    assert all(len(name) <= CLAUDE_ROOM and PATTERN.fullmatch(name) for name in given_names.values())


def test_hashes_that_meet_are_made_longer(monkeypatch):
    """A name that an API chose equal to another's hashed name."""
    taken = names.assign({"a": "x", "b": "x"}, 63)["a"]
    given_names = names.assign({"a": "x", "b": "x", "c": taken}, 63)
    assert len(set(given_names.values())) == 3
    assert all(PATTERN.fullmatch(name) for name in given_names.values())


@pytest.mark.parametrize("limit", [14, CLAUDE_ROOM, 63])
def test_a_long_single_word_is_cut_to_the_limit(limit):
    (alone,) = names.assign({"a": "x" * 80}, limit).values()
    assert len(alone) == limit
    both = names.assign({"a": "x" * limit, "b": "x" * limit}, limit)
    assert sorted(map(len, both.values())) == [limit, limit]


def test_no_room_is_an_error():
    with pytest.raises(ValueError, match="13 characters leave no room"):
        names.assign({"a": "x"}, 13)
    assert len(names.assign({"a": "x" * 40, "b": "x" * 40}, 14)) == 2


def test_room_is_what_the_longest_prefix_leaves():
    assert names.room(["mcp__a__", "mcp__plugin_anvil-sixteen-letters-x_api__"]) == 63 - 41
    assert names.room(["mcp__plugin_anvil-" + "x" * 16 + "_api__"]) == CLAUDE_ROOM
    assert names.room([]) == 63


def test_ten_thousand_names_do_not_depend_on_their_order():
    asked = {f"get /things/{number}": f"get_thing_{number % 5000}" for number in range(10_000)}
    keys = list(asked)
    random.Random(1).shuffle(keys)
    assert names.assign({key: asked[key] for key in keys}, CLAUDE_ROOM) == names.assign(asked, CLAUDE_ROOM)
