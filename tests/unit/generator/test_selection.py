"""Selecting by tag, path and operation: what is left out is withheld, counted, and renames nothing."""

from __future__ import annotations

import json

import pytest

from anvil_core.problems import Position
from anvil_generator.manifest import ManifestChoice
from anvil_generator.report import left_out, report
from anvil_generator.selection import Selection, matches_path

OK = {"responses": {"200": {"description": "ok"}}}
PET = {"name": "pet", "in": "path", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets", "public"], **OK},
        "post": {"operationId": "addPet", "tags": ["pets"], **OK},
    },
    "/pets/{pet}": {
        "parameters": [PET],
        "get": {"operationId": "getPet", "tags": ["pets", "public"], **OK},
        "delete": {"operationId": "deletePet", "tags": ["pets", "admin"], **OK},
    },
    "/pets/{pet}/photos": {"parameters": [PET], "get": {"tags": ["photos"], **OK}},
    "/petshops": {"get": {"operationId": "listShops", **OK}},
    "/broken/{id}": {"get": {"operationId": "broken", "tags": ["torn"], **OK}},
}
ALL = {"listPets", "addPet", "getPet", "deletePet", "GET /pets/{pet}/photos", "listShops"}


def title(one):
    return one.source.operation_id or f"{one.source.method.upper()} {one.source.path}"


def chosen(made):
    return {title(one) for one in made.air.operations}


# lines of the manifest -> what is in the bundle
SELECTIONS = {
    "nothing said": ("", ALL),
    "a tag": ("select: {tags: [public]}", {"listPets", "getPet"}),
    "two tags": ("select: {tags: [photos, admin]}", {"deletePet", "GET /pets/{pet}/photos"}),
    "a path": ("select: {paths: [/pets]}", {"listPets", "addPet"}),
    "a path with its parameter": ('select: {paths: ["/pets/{pet}"]}', {"getPet", "deletePet"}),
    "one part of a path": ("select: {paths: [/pets/*]}", {"getPet", "deletePet"}),
    "all below": ("select: {paths: [/pets/**]}", ALL - {"listShops"}),
    "the start of a part": ("select: {paths: [/pet*]}", {"listPets", "addPet", "listShops"}),
    "an operationId": ("select: {operations: [getPet]}", {"getPet"}),
    "method and path": (
        'select: {operations: ["GET /pets/{pet}/photos"]}',
        {"GET /pets/{pet}/photos"},
    ),
    "any of several": (
        "select: {tags: [admin], paths: [/petshops], operations: [addPet]}",
        {"deletePet", "listShops", "addPet"},
    ),
    "all but a tag": ("select: {exclude: {tags: [admin]}}", ALL - {"deletePet"}),
    "all but a path": ("select: {exclude: {paths: [/pets/**]}}", {"listShops"}),
    "all but an operation": ("select: {exclude: {operations: [listShops]}}", ALL - {"listShops"}),
    "a tag but one of it": (
        "select: {tags: [public], exclude: {operations: [listPets]}}",
        {"getPet"},
    ),
    "excluded goes before chosen": (
        "select: {operations: [deletePet, getPet], exclude: {tags: [admin]}}",
        {"getPet"},
    ),
}


@pytest.mark.parametrize("case", SELECTIONS)
def test_what_the_manifest_selects(project, compiled, case):
    lines, wanted = SELECTIONS[case]
    assert chosen(compiled(project(PATHS, lines + "\n"))) == wanted


@pytest.mark.invariant("I6")
@pytest.mark.parametrize("case", SELECTIONS)
def test_what_is_left_out_is_withheld_with_that_reason_and_the_accounting_adds_up(project, compiled, case):
    lines, wanted = SELECTIONS[case]
    accounting = report(compiled(project(PATHS, lines + "\n")))["accounting"]
    withheld = {one["operation_id"] or f"{one['method']} {one['path']}" for one in accounting["withheld"]}
    assert withheld == ALL - wanted
    assert {one["reason"] for one in accounting["withheld"]} <= {"not_selected"}
    assert len(accounting["failed"]) == 1, "what cannot be compiled is still told"
    assert sum(len(entries) for entries in accounting.values()) == 7


def test_the_detail_says_what_left_it_out(project, compiled):
    made = compiled(project(PATHS, "select: {tags: [pets], exclude: {paths: ['/pets/{pet}']}}\n"))
    detail = {title(one): one.detail for one in made.document.withheld}
    assert detail["getPet"] == 'the path "/pets/{pet}" is excluded by `select` of anvil.yaml'
    assert detail["listShops"] == "`select` of anvil.yaml does not choose it"
    assert left_out(made)[1:] == [
        'api.json: 2 withheld: the path "/pets/{pet}" is excluded by `select` of anvil.yaml (not_selected)',
        "api.json: 2 withheld: `select` of anvil.yaml does not choose it (not_selected)",
    ]


def test_selecting_renames_nothing(project, compiled):
    """An approval is kept by its id, so that a name must not depend on what stands beside it."""
    same = {
        "/a": {"get": {"operationId": "list", "tags": ["cats"], **OK}},
        "/b": {"get": {"operationId": "cats_list", "tags": ["cats"], **OK}},
        "/c": {"get": {"operationId": "LIST", "tags": ["dogs"], **OK}},
    }
    whole = {title(one): (one.id, one.name) for one in compiled(project(same)).air.operations}
    for one in same.values():
        wanted = one["get"]["operationId"]
        made = compiled(project(same, f"select: {{operations: [{wanted}]}}\n"))
        assert [(each.id, each.name) for each in made.air.operations] == [whole[wanted]]


# lines of the manifest, line of the problem, words of it
MISSPELT = {
    "a tag": ("select:\n  tags: [pets, publik]\n", 5, 'the tag "publik"; did you mean "public"?'),
    "a tag in other letters": ("select:\n  tags: [Pets]\n", 5, 'did you mean "pets"?'),
    "a tag like no other": ("select:\n  tags: [zzz]\n", 5, "there are: admin, pets, photos, public"),
    "a tag of what cannot be compiled": (
        "select:\n  tags: [torn]\n",
        5,
        'no operation that can be compiled has the tag "torn"',
    ),
    "a path": ("select:\n  paths: [/pet]\n", 5, 'no path fits "/pet"'),
    "a pattern": ("select:\n  paths:\n    - /pets\n    - /pets/*/x\n", 7, 'no path fits "/pets/*/x"'),
    "an operation": ("select:\n  operations: [getPets]\n", 5, 'no operation "getPets"'),
    "a method": ("select:\n  operations: [PUT /pets]\n", 5, 'no operation "PUT /pets"'),
    "an excluded tag": ("select:\n  exclude:\n    tags: [admn]\n", 6, 'did you mean "admin"?'),
    "an excluded path": ("select:\n  exclude: {paths: [/admin/**]}\n", 5, 'no path fits "/admin/**"'),
    "an excluded operation": ("select:\n  exclude: {operations: [x]}\n", 5, 'no operation "x"'),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_a_word_that_selects_nothing_is_an_error_with_its_line(project, problems, case):
    lines, line, words = MISSPELT[case]
    folder = project(PATHS, lines)
    (said,) = problems(folder)
    assert said.startswith(f"{folder}/anvil.yaml:{line}: error: ")
    assert said.endswith("(selects_nothing)")
    assert words in said


def test_every_such_word_is_told_at_once(project, problems):
    assert len(problems(project(PATHS, "select: {tags: [x, y], exclude: {operations: [z]}}\n"))) == 3


@pytest.mark.parametrize(
    "lines", ["paths: ['/broken/{id}', /pets]", "operations: [broken, listPets, addPet]"]
)
def test_one_that_cannot_be_compiled_may_be_selected_and_is_told_as_that(project, compiled, lines):
    made = compiled(project(PATHS, f"select: {{{lines}}}\n"))
    assert chosen(made) == {"listPets", "addPet"}
    assert [one.source.operation_id for one in made.document.failed] == ["broken"]


def test_selecting_nothing_at_all_makes_no_bundle(project, problems):
    said = problems(project(PATHS, "select: {tags: [admin], exclude: {tags: [pets]}}\n"))
    assert "none of the document's 7 operations is selected and can be compiled" in said[0]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select: [pets]\n", "select: must be a mapping"),
        ("select: {tag: [pets]}\n", 'did you mean "tags"? Known here: tags, paths, operations, exclude'),
        ("select: {tags: pets}\n", "select.tags: "),
        ("select: {tags: ['']}\n", "select.tags.0: "),
        ("select: {exclude: {exclude: {}}}\n", "select.exclude.exclude: this key is not known"),
    ],
)
def test_a_broken_select_is_told(project, problems, text, word):
    assert any(word in line for line in problems(project(PATHS, text)))


def test_an_entry_for_one_that_is_left_out_is_no_error(project, compiled):
    entry = "operations:\n  deletePet: {state: blocked}\n  broken: {risk: high}\n"
    made = compiled(project(PATHS, entry + "select: {tags: [public]}\n"))
    assert chosen(made) == {"listPets", "getPet"}


def test_an_approval_of_one_that_is_left_out_is_told(project, cli, compiled):
    folder = project(PATHS)
    assert cli("approve", folder, "getPet", "listPets").returncode == 0
    project(PATHS, "select: {operations: [listPets]}\n")
    made = compiled(folder)
    assert [one.state for one in made.air.operations] == ["approved"]
    assert ["left out of the bundle" in one.message for one in made.problems if one.code == "approval_stale"]


def test_approving_one_that_is_left_out_says_so(project, cli):
    folder = project(PATHS, "select: {operations: [listPets]}\n")
    for name in ("getPet", "GET /pets/{pet}"):
        done = cli("approve", folder, name)
        assert done.returncode == 2
        assert "is left out by `select` in the manifest" in done.stderr


@pytest.mark.parametrize("command", ["compile", "inspect"])
def test_flags_choose_among_what_the_manifest_selects(project, cli, tmp_path, command):
    folder = project(PATHS, "select: {tags: [pets]}\n")
    out = ["--out", tmp_path / "out"] if command == "compile" else []
    done = cli(command, folder, "--json", "--tag", "admin", "--path", "/pets", *out)
    assert done.returncode == 0, done.stdout
    accounting = json.loads(done.stdout)["accounting"]
    assert {one["operation_id"] for one in accounting["compiled"]} == {"listPets", "addPet", "deletePet"}
    assert [len(accounting[part]) for part in ("compiled", "withheld", "failed")] == [3, 3, 1]
    details = {one["operation_id"]: one["detail"] for one in accounting["withheld"]}
    assert details["getPet"] == "--tag or --path does not choose it"
    assert details["listShops"] == "`select` of anvil.yaml does not choose it"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tag", "publik"], '--tag: error: no operation that can be compiled has the tag "publik"'),
        (["--path", "/nope/**"], '--path: error: no path fits "/nope/**"'),
        (["--operation", "nope"], '--operation: error: the document has no operation "nope"'),
        (["--operation", "listShops"], '"listShops" is left out by `select` in the manifest'),
        (["--path", "/petshops"], '"/petshops" is left out by `select` in the manifest'),
    ],
)
def test_a_flag_that_selects_nothing_is_an_error(project, cli, tmp_path, flags, said):
    folder = project(PATHS, "select: {tags: [pets]}\n")
    done = cli("compile", folder, "--out", tmp_path / "out", *flags)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_operation_id_that_stands_twice_is_told_apart_in_the_manifest(project, problems, compiled):
    twice = {f"/{name}": {"get": {"operationId": "same", **OK}} for name in ("a", "b")}
    folder = project(twice, "operations:\n  same: {state: blocked}\n")
    (said,) = problems(folder)
    assert said.startswith(f"{folder}/anvil.yaml:5: error: ")
    assert "several operations; say which, as METHOD /path: GET /a, GET /b" in said
    made = compiled(project(twice, "operations:\n  GET /b: {state: blocked}\n"))
    assert {one.source.path: one.state for one in made.air.operations} == {"/a": "generated", "/b": "blocked"}
    assert chosen(compiled(project(twice, "select: {operations: [same]}\n"))) == {"same"}


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/a", "/a", True),
        ("/a", "/a/b", False),
        ("/a.c", "/abc", False),
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/*", "/a", False),
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/**", "/a/b", True),
        ("/**", "/", True),
        ("/*/c", "/a{b}/c", True),
        ("/a/**/d", "/a/b/c/d", True),
        ("/a[b]", "/a[b]", True),
        ("/A", "/a", False),
    ],
)
def test_patterns_of_paths(pattern, path, fits):
    assert matches_path(pattern, path) is fits


def test_a_selection_says_where_each_word_stands():
    choice = ManifestChoice(tags=("a",), operations=("b", "c"))
    said = Selection(choice, ManifestChoice(paths=("/d",)), "x", lambda *keys: Position(file=str(keys)))
    assert [(*before, kind, index, value) for before, kind, index, value in said.entries()] == [
        ("tags", 0, "a"), ("operations", 0, "b"), ("operations", 1, "c"), ("exclude", "paths", 0, "/d"),
    ]  # fmt: skip
