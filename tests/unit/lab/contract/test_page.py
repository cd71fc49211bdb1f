"""The page says of each fact and version what the records say, and is not stale."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from anvil_lab.contract import __main__ as command
from anvil_lab.contract import page, relied, rows, verified

ROOT = Path(__file__).parents[4]


class Cells(HTMLParser):
    """{the fact of a row: the classes of its cells}, and every id."""

    def __init__(self):
        super().__init__()
        self.rows, self.ids, self.name, self.inside = {}, [], None, False

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.inside = tag == "button"
        if tag == "tr":
            self.name = None
        if tag == "td" and self.name and "colspan" not in found:
            self.rows[self.name].append(found["class"])

    def handle_data(self, data):
        if self.inside:
            self.name, self.inside = data.replace("\u200b", ""), False
            self.rows[self.name] = []


@pytest.fixture(scope="module")
def text():
    return (ROOT / page.PAGE).read_text(encoding="utf-8")


def test_what_is_made_from_the_records_is_not_stale(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert command.main(["docs", "--check"]) == 0, capsys.readouterr().err


def test_a_stale_page_is_said_and_left_alone(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(page, "files", lambda _: [(ROOT / "docs" / "reference" / "none.html", "x")])
    assert command.main(["docs", "--check"]) == 1
    assert "docs/reference/none.html" in capsys.readouterr().err
    assert not (ROOT / "docs" / "reference" / "none.html").exists()


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_cell_is_what_the_record_says(harness, text):
    made = page.table(ROOT, harness)
    found = {record.version: record for record in verified.records(ROOT, harness)}
    wanted = relied.load(ROOT, harness)
    listed = [row for _, group in made.groups for row in group]
    assert made.versions == tuple(found)
    assert [row.path for row in listed] == [
        f"{p.id}:{facet}" for p in rows.load(harness) for facet in p.observe
    ]
    assert {path for row in listed for path, _ in row.relied} == set(wanted)
    for row in listed:
        for version, (kind, _, _) in zip(made.versions, row.cells, strict=True):
            broken = set(relied.differing(found[version], wanted)) & {path for path, _ in row.relied}
            if row.relied:
                assert kind == ("broken" if broken else "holds"), (row.path, version)
            elif version == made.versions[-1]:
                assert kind == "same"
    kinds = {kind for row in listed for kind, _, _ in row.cells}
    assert kinds >= {"holds", "broken", "same", "differs"}


def test_every_row_is_in_the_page_with_its_cells(text):
    cells = Cells()
    cells.feed(text)
    assert len(cells.ids) == len(set(cells.ids))
    for harness in ("claude", "codex"):
        for _, group in page.table(ROOT, harness).groups:
            for row in group:
                if harness == "codex":  # of two rows of one name the parser keeps the second
                    assert cells.rows[row.path] == [kind for kind, _, _ in row.cells]
                assert row.key in cells.ids


def test_what_a_program_said_is_no_markup_and_nothing_is_loaded(text):
    assert "<plugin>/" not in text
    assert "&lt;plugin&gt;/" in text
    assert "http://" not in text.replace("http://127.0.0.1", "")
    assert all(word not in text for word in ("src=", "@import", "url(", '<link rel="stylesheet'))


def test_known_changes_are_seen():
    """What the page would say of changes that were found by other means."""
    rows_of = {
        row.path: row
        for name in ("claude", "codex")
        for _, group in page.table(ROOT, name).groups
        for row in group
    }
    assert rows_of["failure.exit-1:outcome"].history == (
        ('"ran"', "2.1.121 to 2.1.294"),
        ('"blocked"', "2.1.295 to 2.1.332"),
    )
