"""From a project to AIR: names, ids, service and what is told of it."""

from __future__ import annotations

import pytest

from anvil_generator.errors import Failed

OK = {"responses": {"200": {"description": "ok"}}}


def get(name=None, **fields):
    return {"get": {**({"operationId": name} if name else {}), **fields, **OK}}


def names(made):
    return {one.source.path: one.name for one in made.air.operations}


def test_operations_are_sorted_by_name_whatever_the_document_s_order(project, compiled):
    paths = {f"/{name}": get(name) for name in ("zeta", "alpha", "mid")}
    one = compiled(project(paths, name="one"))
    other = compiled(project(dict(reversed(paths.items())), name="other"))
    assert [made.name for made in one.air.operations] == ["alpha", "mid", "zeta"]
    assert names(one) == names(other)


def test_names_come_from_the_operation_id_or_from_method_and_path(project, compiled):
    made = compiled(project({"/a": get("listAllPets"), "/pets/all": get()}))
    assert names(made) == {"/a": "list_all_pets", "/pets/all": "get_pets_all"}


def test_two_that_want_one_name_get_a_hash_each(project, compiled):
    made = names(compiled(project({"/a": get("getIt"), "/b": get("get_it"), "/c": get("other")})))
    assert made["/c"] == "other"
    assert len(set(made.values())) == 3
    assert all(made[path].startswith("get_it_") for path in ("/a", "/b"))


def test_a_name_that_the_manifest_gives(project, compiled):
    folder = project({"/a": get("first")}, "operations:\n  first: {name: look_it_up}\n")
    (one,) = compiled(folder).air.operations
    assert (one.name, one.id, one.title) == ("look_it_up", "pets.a.look_it_up", "first")


@pytest.mark.parametrize("given", ["second", "preview", "a" * 60])
def test_a_given_name_that_is_taken_reserved_or_too_long(project, problems, given):
    folder = project({"/a": get("first"), "/b": get("second")}, f"operations:\n  first: {{name: {given}}}\n")
    (said,) = problems(folder)
    assert said.startswith(f"{folder}/anvil.yaml:5: error: ")
    assert "is taken, reserved or longer than" in said


def test_ids_hold_the_resource_and_the_action(project, compiled):
    paths = {
        "/api/v1/pets/{id}": get("petsFind", tags=["Pets & Co"], parameters=[
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]),
        "/v2/shops": get("listShops"),
        "/": get("root"),
    }  # fmt: skip
    assert {one.source.path: one.id for one in compiled(project(paths)).air.operations} == {
        "/api/v1/pets/{id}": "pets.pets_co.pets_find",
        "/v2/shops": "pets.shops.list_shops",
        "/": "pets.root.root",
    }


def test_two_operations_that_want_one_id_keep_their_whole_names(project, compiled):
    paths = {
        f"/{name}": get(name, tags=["cats"])
        for name in ("list", "cats_list", "cats_cats_list", "cats_get", "look")
    }
    one = compiled(project(paths, name="one")).air.operations
    other = compiled(project(dict(reversed(paths.items())), name="other")).air.operations
    ids = {operation.name: operation.id for operation in one}
    assert ids == {operation.name: operation.id for operation in other}
    assert ids == {
        "list": "pets.cats.list",
        "cats_list": "pets.cats.cats_list",
        "cats_cats_list": "pets.cats.cats_cats_list",
        "cats_get": "pets.cats.get",
        "look": "pets.cats.look",
    }


def test_an_entry_may_name_method_and_path(project, compiled):
    folder = project({"/a": get()}, "operations:\n  GET /a: {state: blocked}\n")
    assert compiled(folder).air.operations[0].state == "blocked"


def test_an_entry_for_no_operation_says_what_is_near(project, problems):
    (said,) = problems(project({"/a": get("getPet")}, "operations:\n  getpet: {risk: none}\n"))
    assert 'no operation "getpet"; use operationId or METHOD /path, as "getPet"' in said


@pytest.mark.parametrize("harness", ["nope", "Claude", "anvil_shims"])
def test_an_unknown_harness_has_a_position(project, problems, harness):
    folder = project({"/a": get("a")}, f"harnesses:\n  - claude\n  - {harness}\n")
    (said,) = problems(folder)
    assert said.startswith(f"{folder}/anvil.yaml:6: error: no harness ")
    assert "there are: claude" in said


@pytest.mark.parametrize(
    ("title", "wanted"),
    [("Pets", "pets"), ("The Great PetStore API", "the-great-pet"), ("日本", "api"), ("a", "a")],
)
def test_the_service_id_is_made_from_the_title(project, compiled, title, wanted):
    folder = project({"/a": get("a")}, info={"title": title, "version": "1"})
    (folder / "anvil.yaml").write_text("document: api.json\n", encoding="utf-8")
    made = compiled(folder).air.service.id
    assert made == wanted or (wanted in made and len(made) <= 16)


def test_a_title_that_gives_no_id_names_the_flag(project, problems):
    folder = project({"/a": get("a")}, info={"title": "3D", "version": "1"})
    (folder / "anvil.yaml").write_text("document: api.json\n", encoding="utf-8")
    assert "give one with --service" in problems(folder)[0]


def test_the_flag_wins_over_the_manifest(project, compiled):
    assert compiled(project({"/a": get("a")}), "other").air.service.id == "other"


def test_the_manifest_s_server_wins_and_a_bad_one_has_its_line(project, compiled, problems):
    made = compiled(project({"/a": get("a")}, "server: https://other.example:8443/base/\n"))
    assert (str(made.air.service.origin), made.air.service.base_path) == (
        "https://other.example:8443",
        "/base",
    )
    folder = project({"/a": get("a")}, "server: /v1\n")
    assert problems(folder)[0].startswith(f"{folder}/anvil.yaml:4: error: ")


ELSEWHERE = [{"url": "https://files.pets.example"}]


def test_an_operation_goes_where_the_service_does_or_is_withheld(project, compiled):
    paths = {"/a": get("a", servers=ELSEWHERE), "/b": get("b")}
    made = compiled(project(paths))
    assert (list(names(made)), [one.reason for one in made.document.withheld]) == (["/b"], ["other_server"])
    made = compiled(project(paths, "server: https://files.pets.example\n"))
    assert list(names(made)) == ["/a", "/b"]
    home = [{"url": "https://api.pets.example/v1"}]
    made = compiled(project({"/a": get("a", servers=home), "/b": get("b")}, "server: http://localhost\n"))
    assert list(names(made)) == ["/b"], "the document's own first server is not where requests go"


def test_a_document_without_a_server_says_what_to_do(project, problems):
    assert "say it in anvil.yaml as server: https://..." in problems(project({"/a": get("a")}, servers=[]))[0]


def test_the_preview_is_served_where_an_approved_mutation_is(project, compiled):
    assert compiled(project()).air.preview is None


def test_problems_are_values(project, compiled):
    with pytest.raises(Failed) as failed:
        compiled(project({"/a": get("a")}, "operations:\n  b: {}\n  c: {}\n"))
    assert [(one.code, one.position.line) for one in failed.value.problems] == [
        ("unknown_operation", 5),
        ("unknown_operation", 6),
    ]
    assert failed.value.exit_code == 1


def test_the_trail_is_required_unless_the_manifest_says_otherwise(compiled, project):
    assert compiled(project()).air.service.trail == "required"
    made = compiled(project(manifest="trail: best_effort\n"))
    assert made.air.service.trail == "best_effort"
    (warning,) = [str(problem) for problem in made.problems if problem.code == "trail_best_effort"]
    assert "anvil.yaml:4" in warning
