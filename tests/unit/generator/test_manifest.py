"""A hand-broken ``anvil.yaml``: a position and words, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil_generator.errors import Failed
from anvil_generator.manifest import Manifest, read_manifest

HEAD = "document: api.json\n"
# text of the file, line of the problem (None: the whole file), words in it
BROKEN = {
    "empty": ("", 1, "is empty"),
    "only a comment": ("# nothing\n", 1, "is empty"),
    "a list": ("- document: api.json\n", 1, "must be a mapping"),
    "a text": ("document\n", 1, "must be a mapping"),
    "no document": ("anvil: 1\n", 1, "document: Field required"),
    "an unknown key": (
        HEAD + "documents: x\n",
        2,
        'documents: this key is not known; did you mean "document"? Known here: anvil, ',
    ),
    "an unknown key inside": (
        HEAD + "operations:\n  a:\n    risk: low\n    rsik: low\n",
        5,
        'operations.a.rsik: this key is not known; did you mean "risk"? Known here: effect, ',
    ),
    "an unknown key deep inside": (
        HEAD + "operations:\n  a:\n    idempotency:\n      mode: none\n      form: {size: 1}\n",
        6,
        "form.size: this key is not known. Known here: format, min_length, max_length",
    ),
    "another format": (HEAD + "anvil: 2\n", 2, "anvil: "),
    "a number for a text": (HEAD + "service: 7\n", 2, "service: "),
    "a capital in the id": (HEAD + "service: Pets\n", 2, "service: "),
    "a long id": (HEAD + "service: abcdefghijklmnopq\n", 2, "service: "),
    "a text for a list": (HEAD + "harnesses: claude\n", 2, "harnesses: "),
    "no harness": (HEAD + "harnesses: []\n", 2, "harnesses: "),
    "an unknown policy": (HEAD + "human_approval: some\n", 2, "human_approval: "),
    "yes is no boolean": (
        HEAD + "operations:\n  a:\n    confirmation:\n      required: 'no'\n",
        5,
        "operations.a.confirmation.required: ",
    ),
    "nor without quotes": (
        HEAD + "operations:\n  a:\n    reversible: yes\n",
        4,
        "operations.a.reversible: must be true or false",
    ),
    "0 is no boolean": (
        HEAD + "operations:\n  a:\n    reversible: 0\n",
        4,
        "operations.a.reversible: ",
    ),
    "an unknown risk": (HEAD + "operations:\n  a:\n    risk: huge\n", 4, "operations.a.risk: "),
    "an unknown carrier": (
        HEAD + "operations:\n  a:\n    idempotency:\n      mode: required\n      carrier: sky\n",
        6,
        "operations.a.idempotency.carrier: ",
    ),
    "only blocked can be said": (
        HEAD + "operations:\n  a:\n    state: approved\n",
        4,
        "operations.a.state: ",
    ),
    "an empty because": (
        HEAD + "operations:\n  a:\n    loosen: {because: ''}\n",
        4,
        "operations.a.loosen.because",
    ),
    "loosen without because": (
        HEAD + "operations:\n  a:\n    loosen: {}\n",
        4,
        "operations.a.loosen.because",
    ),
    "a text for a mapping": (HEAD + "operations:\n  a: blocked\n", 3, "operations.a: must be a mapping"),
    "a list of operations": (HEAD + "operations:\n  - a\n", 2, "operations: "),
    "a bad name": (HEAD + "operations:\n  a:\n    name: Get-It\n", 4, "operations.a.name: "),
    "a key twice": (HEAD + "service: a\nservice: b\n", 3, 'the key "service" stands twice'),
    "an operation twice": (HEAD + "operations:\n  a: {}\n  b: {}\n  a: {}\n", 5, 'the key "a" stands twice'),
    "a tab": (HEAD + "operations:\n\ta: {}\n", 3, "not valid YAML"),
    "an open bracket": (HEAD + "harnesses: [claude\n", 3, "not valid YAML"),
    "two documents": (HEAD + "---\nservice: a\n", 2, "not valid YAML"),
    "an unknown anchor": (HEAD + "service: *a\n", 2, "not valid YAML"),
    "a python tag": ("document: !!python/object/apply:os.system ['true']\n", 1, "not valid YAML"),
    "a tag without a value": ("document: !!bool maybe\n", 1, "not valid YAML"),
    "an empty number": ('document: !!int ""\n', 1, "not valid YAML"),
    "no time": ("document: !!timestamp x\n", 1, "not valid YAML"),
    "a set": ("document: !!set {a, b}\n", 1, "the tag !!set means nothing here"),
    "a value inside itself": ("document: &a [*a]\n", 1, "contains itself"),
    "a mapping as a key": ("? {a: b}\n: c\n", 1, "a key must be plain text"),
    "nested for ever": ("document: " + "[" * 50_000, 1, "not valid YAML"),
    "NUL": (HEAD + "service: a\0b\n", 2, "not valid YAML"),
}
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def problems_of(path):
    with pytest.raises(Failed) as failed:
        read_manifest(path)
    assert failed.value.exit_code == 1
    return [(one.position.file, one.position.line, one.message) for one in failed.value.problems]


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_manifest_is_told_with_its_line(tmp_path, case):
    text, line, words = BROKEN[case]
    path = tmp_path / "anvil.yaml"
    path.write_text(text, encoding="utf-8")
    found = problems_of(path)
    assert {(file, at) for file, at, message in found if words in message} == {("anvil.yaml", line)}, found
    assert not any("literal[" in message for _, _, message in found)


def test_bytes_that_are_no_utf8_have_a_line(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_bytes(b"document: a\r\n# caf\xe9\r\n")
    assert problems_of(path) == [("anvil.yaml", 2, "is not UTF-8: byte 18; save it as UTF-8")]


@pytest.mark.timeout(20)
def test_a_few_lines_that_stand_for_billions_are_refused(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_text(BOMB, encoding="utf-8")
    assert "aliases expand to too much" in problems_of(path)[0][2]


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    assert "larger than" in problems_of(path)[0][2]


@pytest.mark.timeout(20)
def test_a_device_in_its_place():
    assert problems_of(Path("/dev/zero")) == [("zero", None, "cannot be read: it is not a regular file")]


def test_a_folder_in_its_place(tmp_path):
    (tmp_path / "anvil.yaml").mkdir()
    assert "cannot be read" in problems_of(tmp_path / "anvil.yaml")[0][2]


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_text("anvil: 3\nservice: 7\nnope: 1\n", encoding="utf-8")
    assert {line for _, line, _ in problems_of(path)} == {1, 2, 3}


def test_what_is_not_said_has_a_default(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_bytes("\ufeffdocument: api.json  # é\n".encode())
    said, _ = read_manifest(path)
    assert said == Manifest(document="api.json")


def test_a_key_is_the_text_that_stands_there(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_text(
        "document: 'api.json'\nservice: !!str api\nauthor: 2026-11-30\n"
        "operations:\n  on: {risk: high}\n  404: {}\n  null: {}\n",
        encoding="utf-8",
    )
    said, file = read_manifest(path)
    assert list(said.operations) == ["on", "404", "null"]
    assert (said.service, said.author) == ("api", "2026-11-30")
    assert file.position("operations", "on", "risk").line == 5


def test_anchors_and_merges_are_plain_yaml(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_text(
        "document: api.json\noperations:\n  a: &a {risk: high}\n  b: {<<: *a, reversible: false}\n",
        encoding="utf-8",
    )
    said, _ = read_manifest(path)
    assert said.operations["b"].model_dump(exclude_none=True) == {"risk": "high", "reversible": False}
