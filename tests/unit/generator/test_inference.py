"""What is guessed from names, methods and parameters: a table, each row with the words it turns on."""

from __future__ import annotations

import pytest

from anvil_core.air import Effect, Idempotency
from anvil_core.names import words
from anvil_generator.inference import (
    MUTATION_VERBS,
    NOUNS_TOO,
    READ_VERBS,
    RISK_WORDS,
    infer,
    is_key_name,
    key_form,
    needed_confirmation,
)

# method, path, operationId, summary -> kind, certain
KINDS = [
    ("get", "/pets", "listPets", "List pets", "read", True),
    ("head", "/pets", "headPets", "", "read", True),
    ("get", "/pets/{id}", None, "", "read", True),
    ("get", "/pets/{id}/delete", None, "", "read", False),
    ("get", "/unsubscribe", None, "", "read", False),
    ("get", "/pets", "deletePets", "", "read", False),
    ("get", "/pets", "pets", "Delete all pets", "read", False),
    ("get", "/pets", "pets", "Deletes all pets", "read", False),
    ("get", "/pets", "pets", "Finds and sends pets", "read", False),
    ("get", "/pets", "getDropdown", "Get the dropdown", "read", True),
    ("get", "/refunds", "listRefunds", "List refunds", "read", True),
    ("get", "/refunds/{id}", "getRefund", "Show details of a refund", "read", True),
    ("get", "/refunds/{id}", "refundPayment", "", "read", False),
    ("get", "/orders", "orders", "Orders of a shop", "read", False),
    ("get", "/uploads", "listUploads", "List uploads", "read", True),
    ("post", "/pets/search", "searchPets", "Search pets", "read", False),
    ("post", "/query", "query-data-source", "Query a data source", "read", False),
    ("post", "/search", "post-search", "Search by title", "read", False),
    ("post", "/search", "post-search-titles", "", "read", False),
    ("post", "/pets", "addPet", "", "mutation", True),
    ("post", "/pets", None, "Search pets", "mutation", False),
    ("post", "/pets", None, "", "mutation", False),
    ("post", "/pets", None, "Adds a pet", "mutation", True),
    ("post", "/pets/{id}/archive", None, "", "mutation", True),
    ("post", "/rpc", "chat.postMessage", "", "mutation", False),
    ("post", "/rpc", "conversations.history", "", "mutation", False),
    ("post", "/orders", "cancelByFilter", "", "mutation", True),
    ("post", "/orders", "filterAndCancelSearch", "", "mutation", True),
    ("post", "/find-and-send", "find", "", "mutation", True),
    ("post", "/mail", "findAndSend", "", "mutation", True),
    ("post", "/{index}/_delete_by_query", "query", "", "mutation", True),
    ("post", "/{index}/docs", "delete_by_query", "", "mutation", True),
    ("post", "/docs", "query", "Delete by query", "mutation", True),
    ("post", "/docs", "query", "Deletes what the query finds", "mutation", True),
    ("post", "/docs", "query", "Finds documents and purges them", "mutation", True),
    ("post", "/checkout", "checkout", "", "mutation", False),
    ("put", "/pets/{id}", "searchPets", "", "mutation", True),
    ("patch", "/pets/{id}", "getPets", "", "mutation", True),
    ("delete", "/pets/{id}", "findPets", "", "mutation", True),
]


def named(found, method, path, name, summary, **more):
    fields = {"summary": summary, **more}
    if name:
        fields["operationId"] = name
    for part in ("id", "index"):
        if f"{{{part}}}" in path:
            fields["parameters"] = [
                *fields.get("parameters", []),
                {"name": part, "in": "path", "required": True, "schema": {"type": "string"}},
            ]
    return infer(found(method, path, **fields))


@pytest.mark.parametrize(("method", "path", "name", "summary", "kind", "certain"), KINDS)
def test_effect(found, method, path, name, summary, kind, certain):
    inferred = named(found, method, path, name, summary)
    assert (inferred.effect.kind, inferred.certain) == (kind, certain)


def bound(value, name="method", where="query"):
    return {"name": name, "in": where, "required": True, "schema": {"const": value}}


@pytest.mark.parametrize(
    ("method", "name", "value", "kind", "certain"),
    [
        ("get", "rest", "flickr.photos.delete", "read", False),
        ("get", "rest", "flickr.photos.getInfo", "read", True),
        ("get", "rest", "deletePhoto", "read", False),
        ("get", "rest", "payments.refund", "read", False),
        ("get", "rest", "pay", "read", False),
        ("get", "rest", "refund.list", "read", False),
        ("get", "rest", "list.refunds", "read", True),
        ("get", None, "photos.remove", "read", False),
        ("post", "search", "items.list", "read", False),
        ("post", "search", "items.purge", "mutation", True),
    ],
)
@pytest.mark.parametrize("where", ["query", "header"])
def test_what_the_compiler_has_bound_is_part_of_the_name(found, method, name, value, kind, certain, where):
    inferred = named(found, method, "/rest", name, "", parameters=[bound(value, where=where)])
    assert (inferred.effect.kind, inferred.certain) == (kind, certain)


def test_what_the_compiler_has_bound_tells_of_risk(found):
    inferred = infer(found("post", "/rest", parameters=[bound("flickr.photos.delete")]))
    assert inferred.effect.risk == "destructive"


@pytest.mark.parametrize(
    ("description", "certain"),
    [
        ("Deletes the photo.", False),
        ("Delete the photo", False),
        ("**Removes** it.", False),
        ("Permanently deletes the photo.", False),
        ("<p>Cancels the order.</p>", False),
        ("Deleting it takes a day.", False),
        ("Refund a payment.", False),
        ("Returns a photo. Deleted ones are left out.", True),
        ("Returns all. Delete them elsewhere.", True),
        ("Lists what others deleted", True),
        ("", True),
    ],
)
def test_a_get_whose_description_begins_with_a_change_is_for_review(found, description, certain):
    inferred = infer(found("get", "/photo", operationId="photo", description=description))
    assert (inferred.effect.kind, inferred.certain) == ("read", certain)
    assert infer(found("head", "/photo", description=description)).certain is certain


def test_a_post_whose_description_begins_with_a_change_is_no_read(found):
    inferred = infer(found("post", "/docs", operationId="query", description="Purges what it finds."))
    assert inferred.effect.kind == "mutation"


# method, path, operationId, summary -> risk
RISKS = [
    ("post", "/things", "addThing", "", "low"),
    ("put", "/things/{id}", "putThing", "", "medium"),
    ("patch", "/things/{id}", "patchThing", "", "medium"),
    ("delete", "/things/{id}", "deleteThing", "", "destructive"),
    ("delete", "/things/{id}", "unfollow", "", "destructive"),
    ("post", "/menus", "openDropdown", "", "low"),
    ("post", "/patients", "dischargePatient", "", "low"),
    ("post", "/cards", "chargeCard", "", "financial"),
    ("post", "/x", "makeX", "Charges the card", "financial"),
    ("post", "/x", "makeX", "Removes everything", "destructive"),
    ("post", "/tables", "dropTable", "", "destructive"),
    ("delete", "/payments/{id}", "deletePayment", "", "financial"),
    ("post", "/users", "inviteUser", "", "high"),
    ("post", "/mail/send", "mail", "", "high"),
    ("get", "/payments", "listPayments", "", "none"),
]


@pytest.mark.parametrize(("method", "path", "name", "summary", "risk"), RISKS)
def test_risk(found, method, path, name, summary, risk):
    effect = named(found, method, path, name, summary).effect
    assert effect.risk == risk
    assert effect.reversible == (False if risk in ("financial", "destructive") else None)


def header(name, *, required=False, **schema):
    return {"name": name, "in": "header", "required": required, "schema": {"type": "string", **schema}}


@pytest.mark.parametrize(
    ("name", "required", "mode"),
    [
        ("Idempotency-Key", True, "required"),
        ("Idempotency-Key", False, "key_supported"),
        ("PayPal-Request-Id", False, "key_supported"),
        ("PayPal-Request-Id", True, "required"),
        ("X-Idempotency-Key", True, "required"),
        ("X-Idempotency-Token", False, "key_supported"),
        ("I-Twilio-Idempotency-Token", False, "key_supported"),
        ("Repeatability-Request-ID", True, "required"),
        ("ClientRequestToken", False, "key_supported"),
        ("idempotency_key", True, "required"),
        ("X-Request-Id", True, "none"),
        ("Key", True, "none"),
    ],
)
def test_a_declared_key_is_found(found, name, required, mode):
    inferred = infer(found("post", parameters=[header(name, required=required, minLength=8, maxLength=64)]))
    idempotency = inferred.idempotency
    assert idempotency.mode == mode
    if mode == "none":
        assert (idempotency.key, inferred.key_parameter) == (None, None)
    else:
        assert (idempotency.carrier, idempotency.key) == ("header", name)
        assert (idempotency.form.min_length, idempotency.form.max_length) == (8, 64)
        assert inferred.key_parameter.name == name


@pytest.mark.parametrize(
    ("method", "name", "mode"),
    [
        ("put", "putThing", "natural"),
        ("delete", "deleteThing", "natural"),
        ("patch", "patchThing", "none"),
        ("post", "addThing", "none"),
        ("get", "getThing", "natural"),
        ("post", "searchThings", "natural"),
    ],
)
def test_idempotency_without_a_key(found, method, name, mode):
    assert infer(found(method, operationId=name)).idempotency == Idempotency(mode=mode)


def test_a_key_goes_before_what_the_method_says(found):
    assert infer(found("put", parameters=[header("Idempotency-Key")])).idempotency.mode == "key_supported"


def test_a_read_takes_no_key(found):
    assert infer(found("get", parameters=[header("Idempotency-Key", required=True)])).key_parameter is None


def test_what_the_manifest_calls_a_mutation_is_inferred_as_one(found):
    inferred = infer(found("get", "/pay", operationId="payNow"), mutates=True)
    assert (inferred.effect.kind, inferred.effect.risk) == ("mutation", "financial")
    assert inferred.idempotency.mode == "none"
    assert inferred.evidence[0].basis == "manifest"


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({}, ("token", 1, 255)),
        ({"format": "uuid"}, ("uuid", 1, 255)),
        ({"minLength": 8, "maxLength": 38}, ("token", 8, 38)),
        ({"minLength": 0, "maxLength": 0}, ("token", 1, 1)),
        ({"minLength": 300}, ("token", 300, 300)),
        ({"maxLength": 10**9}, ("token", 1, 10_000)),
        ({"minLength": "8", "maxLength": None}, ("token", 1, 255)),
    ],
)
def test_the_form_of_a_key(schema, form):
    made = key_form(schema)
    assert (made.format, made.min_length, made.max_length) == form


# kind, risk, reversible, idempotency -> confirmation needed, a word of the reason
CONFIRMATIONS = [
    ("read", "none", None, "natural", False, ""),
    ("mutation", "low", None, "natural", False, ""),
    ("mutation", "medium", None, "required", False, ""),
    ("mutation", "low", True, "key_supported", False, ""),
    ("mutation", "low", None, "none", True, "Repeating"),
    ("mutation", "low", False, "natural", True, "undone"),
    ("mutation", "high", None, "natural", True, "high-risk"),
    ("mutation", "high", True, "required", True, "high-risk"),
    ("mutation", "financial", False, "required", True, "money"),
    ("mutation", "financial", True, "required", True, "money"),
    ("mutation", "destructive", False, "natural", True, "destroys"),
]


@pytest.mark.parametrize(("kind", "risk", "reversible", "mode", "required", "word"), CONFIRMATIONS)
def test_what_needs_a_confirmation(kind, risk, reversible, mode, required, word):
    effect = Effect(kind=kind, action="do", risk=risk, reversible=reversible)
    confirmation = needed_confirmation(effect, Idempotency(mode=mode))
    assert confirmation.required is required
    assert not confirmation.human_approval
    assert word in confirmation.reason
    assert bool(confirmation.reason) is required


def test_the_vocabulary_is_of_whole_lower_case_words():
    lists = [MUTATION_VERBS, READ_VERBS, NOUNS_TOO, *RISK_WORDS.values()]
    assert all(words(word) == [word] for vocabulary in lists for word in vocabulary)


def test_no_word_says_read_and_change():
    assert not READ_VERBS & MUTATION_VERBS
    assert NOUNS_TOO <= MUTATION_VERBS


def test_key_names_are_compared_by_their_letters():
    assert is_key_name("Idempotency-Key")
    assert not is_key_name("Idempotency-Keys")


def test_every_value_has_its_evidence(found):
    fields = {one.field: one for one in infer(found("delete", operationId="deleteThing")).evidence}
    assert fields.keys() == {"effect.kind", "effect.risk", "effect.reversible", "idempotency"}
    assert all(one.note and one.line for one in fields.values())


@pytest.mark.parametrize(
    ("method", "path", "said", "reversible"),
    [
        ("post", "/notes", True, True),
        ("post", "/notes", False, False),
        ("delete", "/notes", True, True),
        ("post", "/notes", None, None),
        ("post", "/notes", "yes", None),
        ("post", "/notes", 1, None),
        ("delete", "/notes", "yes", False),
        ("get", "/notes", True, None),
    ],
)
def test_the_document_may_say_whether_there_is_a_way_back(found, method, path, said, reversible):
    inferred = infer(found(method, path, **{"x-reversible": said}))
    assert inferred.effect.reversible is reversible
    (ground,) = [one for one in inferred.evidence if one.field == "effect.reversible"]
    in_document = isinstance(said, bool) and method != "get"
    assert (ground.basis, ground.note.startswith("x-reversible")) == (
        ("document", True) if in_document else ("guess", False)
    )


@pytest.mark.parametrize(
    "summary",
    ["Undo it at any time", "This can be undone", "Reversible", "Restorable", "Move to trash"],
)
def test_no_word_of_the_document_makes_it_reversible(found, summary):
    for method in ("post", "put", "patch", "delete"):
        assert infer(found(method, summary=summary, description=summary)).effect.reversible is not True


def test_a_way_back_takes_no_confirmation_away_from_what_is_financial_or_destructive(found):
    for method, name in (("post", "refundPayment"), ("delete", "deleteAll")):
        inferred = infer(found(method, operationId=name, **{"x-reversible": True}))
        assert needed_confirmation(inferred.effect, inferred.idempotency).required
