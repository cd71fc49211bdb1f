"""The manifest over what was inferred: section 5's sentences on tightening, loosening, floor and policy."""

from __future__ import annotations

import pytest

from anvil_generator.contract import FLOOR

OK = {"responses": {"200": {"description": "ok"}}}
BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
PATHS = {
    "/low": {"post": {"operationId": "low", **OK}},
    "/keyed": {
        "post": {
            "operationId": "keyed",
            "parameters": [
                {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
            ],
            **OK,
        }
    },
    "/optional": {
        "post": {
            "operationId": "optional",
            "requestBody": BODY,
            "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
            **OK,
        }
    },
    "/put": {"put": {"operationId": "replace", **OK}},
    "/money": {"post": {"operationId": "refund", **OK}},
    "/gone": {"delete": {"operationId": "destroy", **OK}},
    "/send": {"post": {"operationId": "invite", **OK}},
    "/look": {"get": {"operationId": "look", **OK}},
    "/find": {"post": {"operationId": "find", **OK}},
    "/odd": {"get": {"operationId": "deleteOdd", **OK}},
}
LOOSEN = "    loosen: {because: it is known}\n"


@pytest.fixture
def operation(project, compiled):
    """A function: (the operation, what was loosened) with these lines in its manifest entry."""

    def make(name, lines="", *, policy=None, top=""):
        entry = f"operations:\n  {name}:\n{lines}" if lines else ""
        made = compiled(project(PATHS, top + entry), None, policy)
        one = next(one for one in made.contracted if one.operation.source.operation_id == name)
        return one.operation, one.loosened

    return make


def value(operation, dotted):
    for part in dotted.split("."):
        operation = getattr(operation, part)
    return operation


# operation, manifest entry, field, its value
TIGHTER = [
    ("look", "effect: mutation", "effect.kind", "mutation"),
    ("look", "effect: mutation", "idempotency.mode", "none"),
    ("look", "effect: mutation", "confirmation.required", True),
    ("find", "effect: mutation", "idempotency.mode", "none"),
    ("find", "effect: mutation", "confirmation.required", True),
    ("deleteOdd", "effect: mutation", "effect.risk", "destructive"),
    ("low", "risk: financial", "effect.risk", "financial"),
    ("keyed", "risk: high", "confirmation.required", True),
    ("keyed", "reversible: false", "effect.reversible", False),
    ("keyed", "reversible: false", "confirmation.required", True),
    ("keyed", "confirmation: {required: true}", "confirmation.required", True),
    ("keyed", "confirmation: {human_approval: true}", "confirmation.human_approval", True),
    ("keyed", "confirmation: {human_approval: true}", "confirmation.required", True),
    ("low", "confirmation: {reason: Ask Ann.}", "confirmation.reason", "Ask Ann."),
    ("optional", "idempotency: {mode: required}", "idempotency.mode", "required"),
    ("low", "retries: never", "retries", "never"),
    ("low", "state: blocked", "state", "blocked"),
]


@pytest.mark.parametrize(("name", "entry", "field", "wanted"), TIGHTER)
def test_tightening_always_applies(operation, name, entry, field, wanted):
    assert value(operation(name)[0], field) != wanted or field == "retries"
    made, loosened = operation(name, f"    {entry}\n")
    assert value(made, field) == wanted
    assert loosened == ()


# operation, manifest entry, what is said to be loosened, field, its value then
LOOSER = [
    (
        "low",
        "confirmation: {required: false}",
        "confirmation: required -> not",
        "confirmation.required",
        False,
    ),
    ("low", "effect: read", "effect: mutation -> read", "effect.kind", "read"),
    ("low", "idempotency: {mode: natural}", "idempotency: none -> natural", "idempotency.mode", "natural"),
    (
        "low",
        "idempotency: {mode: required, carrier: header, key: X-Key}",
        "confirmation: required -> not",
        "confirmation.required",
        False,
    ),
    (
        "low",
        "idempotency: {mode: key_supported, carrier: header, key: X-Key}",
        "confirmation: required -> not",
        "confirmation.required",
        False,
    ),
    (
        "keyed",
        "idempotency: {mode: key_supported}",
        "required -> key_supported",
        "idempotency.mode",
        "key_supported",
    ),
    ("keyed", "idempotency: {mode: none}", "required -> none", "idempotency.mode", "none"),
    ("optional", "idempotency: {mode: natural}", "key_supported -> natural", "idempotency.mode", "natural"),
    ("money", "reversible: true", "reversible: irreversible -> reversible", "effect.reversible", True),
    ("low", "reversible: true", "reversible: unknown -> reversible", "effect.reversible", True),
    ("money", "risk: low", "risk: financial -> low", "effect.risk", "low"),
    ("send", "risk: medium", "risk: high -> medium", "effect.risk", "medium"),
    ("low", "retries: always", "retries: always", "retries", "always"),
    ("optional", "retries: always", "retries: always", "retries", "always"),
]
BY_ID = {"money": "refund", "gone": "destroy", "send": "invite", "odd": "deleteOdd"}


@pytest.mark.parametrize(("name", "entry", "what", "field", "wanted"), LOOSER)
def test_loosening_without_a_reason_is_an_error_with_its_line(
    project, problems, operation, name, entry, what, field, wanted
):
    name = BY_ID.get(name, name)
    assert value(operation(name)[0], field) != wanted
    folder = project(PATHS, f"operations:\n  look:\n    effect: read\n  {name}:\n    {entry}\n")
    said = problems(folder)
    assert all(line.startswith(f"{folder}/anvil.yaml:7: error: ") for line in said)
    assert any(what in line and "loosen: {because:" in line for line in said)


@pytest.mark.parametrize(("name", "entry", "what", "field", "wanted"), LOOSER)
def test_loosening_with_a_reason_applies_and_is_listed(operation, name, entry, what, field, wanted):
    name = BY_ID.get(name, name)
    made, loosened = operation(name, f"    {entry}\n{LOOSEN}")
    assert value(made, field) == wanted
    assert any(what in one for one in loosened)


def test_a_value_that_says_what_was_inferred_is_not_a_loosening(operation):
    lines = "    effect: mutation\n    risk: financial\n    reversible: false\n"
    lines += "    confirmation: {required: true}\n"
    assert operation("refund", lines)[1] == ()


@pytest.mark.parametrize("name", ["refund", "destroy"])
def test_the_floor_keeps_a_confirmation_that_is_dropped_with_a_reason(project, problems, name):
    folder = project(PATHS, f"operations:\n  {name}:\n    confirmation: {{required: false}}\n{LOOSEN}")
    (said,) = problems(folder)
    assert "keeps its confirmation" in said
    assert said.startswith(f"{folder}/anvil.yaml:5: ")


@pytest.mark.parametrize("name", ["refund", "destroy"])
def test_lowering_the_risk_does_not_take_the_floor_away(operation, project, problems, name):
    lines = f"    risk: low\n    reversible: true\n    idempotency: {{mode: natural}}\n{LOOSEN}"
    made, _ = operation(name, lines)
    assert made.effect.risk == "low"
    assert made.confirmation.required
    assert made.controls.confirm == "confirm"
    folder = project(PATHS, f"operations:\n  {name}:\n{lines}    confirmation: {{required: false}}\n")
    assert "keeps its confirmation" in problems(folder)[0]


def test_the_floor_is_of_financial_and_destructive(operation):
    assert {"financial", "destructive"} == FLOOR
    made, _ = operation("invite", f"    confirmation: {{required: false}}\n{LOOSEN}")
    assert not made.confirmation.required


# policy -> the operations that a person must approve
POLICIES = {
    "none": set(),
    "unsafe": {"refund", "destroy", "invite"},
    "all": {"refund", "destroy", "invite", "low"},
}


@pytest.mark.parametrize("by_flag", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_touches_only_what_needs_a_confirmation(project, compiled, policy, by_flag):
    folder = project(PATHS, "" if by_flag else f"human_approval: {policy}\n")
    made = compiled(folder, None, policy if by_flag else None)
    human = {one.source.operation_id for one in made.air.operations if one.confirmation.human_approval}
    assert human == POLICIES[policy]


def test_irreversible_is_unsafe(operation):
    made, _ = operation("keyed", "    reversible: false\n", policy="unsafe")
    assert made.confirmation.human_approval


def test_a_human_approval_of_its_own_is_kept_under_any_policy(operation):
    assert operation("keyed", "    confirmation: {human_approval: true}\n", policy="none")[
        0
    ].confirmation.human_approval


LOST = "confirmation.human_approval: unsafe of the service -> false"


@pytest.mark.parametrize("lines", ["    risk: low\n", "    reversible: true\n    risk: medium\n"])
def test_the_policy_sees_the_risk_that_was_inferred(operation, lines):
    made, loosened = operation("refund", lines + LOOSEN, policy="unsafe")
    assert made.confirmation.human_approval
    assert LOST not in loosened
    made, loosened = operation(
        "refund", lines + "    confirmation: {human_approval: false}\n" + LOOSEN, policy="unsafe"
    )
    assert not made.confirmation.human_approval
    assert LOST in loosened


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("refund", "    effect: read\n"),
        ("invite", "    confirmation: {required: false}\n"),
        ("invite", "    risk: low\n    idempotency: {mode: natural}\n"),
    ],
)
def test_a_person_s_approval_that_goes_with_the_confirmation_is_listed(
    operation, project, problems, name, lines
):
    made, loosened = operation(name, lines + LOOSEN, policy="unsafe")
    assert (made.confirmation.required, made.confirmation.human_approval) == (False, False)
    assert {LOST, "confirmation: required -> not required"} <= set(loosened)
    folder = project(PATHS, f"human_approval: unsafe\noperations:\n  {name}:\n{lines}")
    assert any(LOST in line for line in problems(folder))


def test_a_mutation_that_is_called_a_read_lists_all_that_it_loses(operation):
    made, loosened = operation("refund", f"    effect: read\n{LOOSEN}", policy="all")
    assert (made.effect.kind, made.effect.risk, made.controls.confirm) == ("read", "none", None)
    assert loosened == (
        "effect: mutation -> read",
        "risk: financial -> none",
        "confirmation.human_approval: all of the service -> false",
        "confirmation: required -> not required",
    )


@pytest.mark.parametrize(
    ("name", "lines", "reason"),
    [
        ("refund", "    risk: low\n", "It moves money or commits someone to pay. It cannot be undone."),
        ("refund", "    risk: high\n", "It moves money or commits someone to pay. It cannot be undone."),
        ("refund", "    risk: low\n    reversible: true\n", "It moves money or commits someone to pay."),
        ("refund", "    risk: destructive\n", "It destroys data. It cannot be undone."),
        ("destroy", "    risk: medium\n", "It destroys data. It cannot be undone."),
    ],
)
def test_the_floor_tells_the_most_serious_reason(operation, name, lines, reason):
    assert operation(name, lines + LOOSEN)[0].confirmation.reason == reason


def test_an_explicit_no_wins_over_the_policy_and_is_a_loosening(operation, project, problems):
    lines = "    confirmation: {human_approval: false}\n"
    made, loosened = operation("refund", lines + LOOSEN, policy="all")
    assert (made.confirmation.human_approval, made.confirmation.required) == (False, True)
    assert loosened == ("confirmation.human_approval: all of the service -> false",)
    folder = project(PATHS, f"human_approval: unsafe\noperations:\n  refund:\n{lines}")
    assert "unsafe of the service -> false" in problems(folder)[0]


def test_an_explicit_no_without_a_policy_loosens_nothing(operation):
    assert operation("refund", "    confirmation: {human_approval: false}\n")[1] == ()


def test_human_approval_takes_confirm_and_dry_run_away(operation):
    assert operation("refund")[0].controls.model_dump() == {
        "confirm": "confirm", "idempotency_key": None, "dry_run": "dry_run",
    }  # fmt: skip
    made, _ = operation("refund", "    confirmation: {human_approval: true}\n")
    assert set(made.controls.model_dump().values()) == {None}


@pytest.mark.parametrize(
    ("name", "entry", "word"),
    [
        ("look", "risk: low", "a read has none"),
        ("look", "confirmation: {human_approval: true}", "only a mutation"),
        ("low", "idempotency: {mode: required}", "say the key's carrier"),
        ("low", "idempotency: {mode: required, carrier: header}", "say the key's carrier"),
        ("keyed", "idempotency: {mode: required, carrier: path, key: nope}", 'no parameter "nope"'),
        ("keyed", "idempotency: {mode: required, carrier: body, key: key}", "needs a JSON body"),
        ("keyed", "idempotency: {mode: required, form: {min_length: 300}}", "no key has 300 to 255"),
        ("keyed", "idempotency: {mode: required, carrier: header, key: Host}", 'sets the header "Host"'),
        ("keyed", "idempotency: {mode: required, carrier: header, key: Accept}", 'sets the header "Accept"'),
        ("keyed", "idempotency: {mode: required, carrier: header, key: a b}", '"a b" is no name'),
        ("keyed", "idempotency: {mode: required, carrier: cookie, key: a}", 'sets the cookie "a"'),
        ("keyed", "idempotency: {mode: required, carrier: header, key: content-type}", "sets the header"),
        ("keyed", "idempotency: {mode: required, carrier: header, key: X-HTTP-Method}", "sets the header"),
        ("keyed", "idempotency: {mode: required, carrier: query, key: _method}", "sets the query"),
        (
            "keyed",
            'idempotency: {mode: required, carrier: header, key: "K\\r\\nHost"}',
            "is no name for a header",
        ),
        ("keyed", 'idempotency: {mode: required, carrier: header, key: ""}', "idempotency"),
    ],
)
def test_what_cannot_be_is_an_error(project, problems, name, entry, word):
    folder = project(PATHS, f"operations:\n  {name}:\n    {entry}\n{LOOSEN}")
    said = problems(folder)
    assert any(word in line for line in said)
    assert all(line.startswith(f"{folder}/anvil.yaml:5: ") for line in said)


def test_every_problem_of_every_operation_is_told_at_once(project, problems):
    folder = project(PATHS, "operations:\n  low: {risk: none, reversible: true}\n  look: {risk: low}\n")
    assert len(problems(folder)) == 3


def test_an_uncertain_read_is_for_review_until_someone_says_what_it_is(operation):
    assert operation("look")[0].state == "generated"
    assert operation("deleteOdd")[0].state == "review_required"
    assert operation("deleteOdd", "    effect: read\n")[0].state == "generated"
    assert operation("find")[0].state == "review_required"


def test_a_key_is_no_argument_of_the_document_any_more(operation):
    made, _ = operation("keyed")
    assert made.input.parameters == ()
    assert made.controls.idempotency_key == "idempotency_key"
    assert (made.idempotency.carrier, made.idempotency.key) == ("header", "Idempotency-Key")


def test_a_key_that_the_manifest_takes_away_becomes_an_argument(operation):
    made, _ = operation("keyed", f"    idempotency: {{mode: none}}\n{LOOSEN}")
    assert [one.name for one in made.input.parameters] == ["Idempotency-Key"]
    assert made.controls.idempotency_key is None


def keyed_by(schema, **more):
    key = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": schema, **more}
    return {"/pay": {"post": {"operationId": "pay", "parameters": [key], "requestBody": BODY, **OK}}}


UUID = {"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36}


@pytest.mark.parametrize(
    ("schema", "entry", "form", "listed"),
    [
        (UUID, "", ("uuid", 36, 36), []),
        (UUID, "form: {min_length: 36}", ("uuid", 36, 36), []),
        (UUID, "form: {min_length: 8}", ("uuid", 8, 36), ["min_length: 36 -> 8"]),
        (UUID, "form: {format: token}", ("token", 36, 36), ["format: uuid -> token"]),
        (UUID, "form: {max_length: 99}", ("uuid", 36, 99), ["max_length: 36 -> 99"]),
        ({"minLength": 8}, "form: {min_length: 9}", ("token", 9, 255), []),
        ({"minLength": 8}, "form: {format: uuid}", ("uuid", 8, 255), []),
        ({"minLength": 8}, "form: {max_length: 300}", ("token", 8, 300), []),
        ({"minLength": 8}, "key: idempotency-key, carrier: header, form: {min_length: 1}",
         ("token", 1, 255), ["min_length: 8 -> 1"]),
    ],
)  # fmt: skip
def test_a_form_that_asks_for_less_than_the_document_is_a_loosening(
    project, compiled, problems, schema, entry, form, listed
):
    said = f"operations:\n  pay:\n    idempotency: {{mode: required, {entry}}}\n"
    (one,) = compiled(project(keyed_by(schema), said + LOOSEN)).contracted
    made = one.operation.idempotency
    assert (made.form.format, made.form.min_length, made.form.max_length) == form
    assert made.key == "Idempotency-Key"
    assert [line.removeprefix("idempotency.form.") for line in one.loosened] == listed
    assert one.operation.input.parameters == ()
    if listed:
        folder = project(keyed_by(schema), said)
        assert listed[0] in problems(folder)[0]
        assert problems(folder)[0].startswith(f"{folder}/anvil.yaml:5: ")


@pytest.mark.parametrize("entry", ["key: X-Other", "carrier: query", "carrier: body, key: id"])
def test_another_key_than_the_document_s_is_a_loosening(project, compiled, problems, entry):
    said = f"operations:\n  pay:\n    idempotency: {{mode: required, {entry}}}\n"
    (one,) = compiled(project(keyed_by({}), said + LOOSEN)).contracted
    assert one.loosened[0].startswith("idempotency.key: header Idempotency-Key -> ")
    assert [each.name for each in one.operation.input.parameters] == ["Idempotency-Key"]
    assert "idempotency.key: header" in problems(project(keyed_by({}), said))[0]


def test_a_key_is_no_name_that_the_compiler_has_bound(project, problems):
    bound = [{"name": "X-Mode", "in": "header", "required": True, "schema": {"const": "fast"}}]
    paths = {"/pay": {"post": {"operationId": "pay", "parameters": bound, **OK}}}
    said = "operations:\n  pay:\n    idempotency: {mode: required, carrier: header, key: x-mode}\n"
    (told,) = problems(project(paths, said + LOOSEN))
    assert 'the header "x-mode" is always "fast"' in told


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ({"name": "Idempotency-Key", "in": "cookie"}, "forbidden_parameter"),
        ({"name": "Idempotency Key", "in": "header"}, "parameter_name"),
        ({"name": "Idempotency-Key\r\nHost", "in": "header"}, "parameter_name"),
        ({"name": "Idempotency-Key\r\n", "in": "header"}, "parameter_name"),
    ],
)
def test_a_key_that_cannot_be_sent_is_none(project, compiled, key, code):
    """Said by the document: left out with a warning, and the confirmation stays."""
    paths = {"/pay": {"post": {"operationId": "do", "parameters": [{**key, "schema": {}}], **OK}}}
    made = compiled(project(paths))
    (one,) = made.air.operations
    assert (one.idempotency.mode, one.confirmation.required) == ("none", True)
    assert one.controls.idempotency_key is None
    assert code in [problem.code for problem in made.problems]


def test_a_key_may_go_into_a_json_body(operation):
    entry = "    idempotency: {mode: required, carrier: body, key: token}\n"
    made, _ = operation("optional", entry + LOOSEN)
    assert (made.idempotency.carrier, made.idempotency.key) == ("body", "token")


# Anvil's own arguments beside the API's of the same name.
TAKEN = [
    {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}
    for name, where in [
        ("confirm", "query"),
        ("dry_run", "header"),
        ("idempotency_key", "path"),
        ("body", "query"),
    ]
]


def test_control_arguments_move_aside(project, compiled):
    key = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
    paths = {
        "/pay/{idempotency_key}": {
            "post": {"operationId": "pay", "parameters": [key, *TAKEN], "requestBody": BODY, **OK}
        }
    }
    (made,) = compiled(project(paths)).air.operations
    controls = made.controls.model_dump()
    assert controls == {
        "confirm": "anvil_confirm", "idempotency_key": "anvil_idempotency_key", "dry_run": "anvil_dry_run",
    }  # fmt: skip
    properties = made.input.json_schema["properties"]
    assert {"confirm", "dry_run", "idempotency_key"} <= properties.keys()
    assert not properties.keys() & set(controls.values())
    assert made.input.body.argument in properties
    arguments = [one.argument for one in made.input.parameters] + [made.input.body.argument]
    assert len(set(arguments)) == len(arguments) == 5


def test_a_control_argument_moves_as_far_as_it_must(project, compiled):
    taken = [{**TAKEN[0], "name": name} for name in ("confirm", "anvil_confirm")]
    (made,) = compiled(
        project({"/a": {"post": {"operationId": "a", "parameters": taken, **OK}}})
    ).air.operations
    assert made.controls.confirm == "anvil_anvil_confirm"
