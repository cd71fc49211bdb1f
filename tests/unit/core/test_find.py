"""hookcore's search over catalogs that anvil_core.catalog wrote, whole and damaged."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.air import make_air, make_operation, make_refund
from support.decisions import NOBODY

import hookcore
from anvil_core import catalog

SIZES = (0, 1, 2, 3, 10, 1000)
GOOD = {"confirm": True, "idempotency_key": "order-4711"}


def written(names, **fields):
    return catalog.write(make_air(*(make_operation(name, **fields) for name in names), preview="preview"), {})


def look_up(data, tool):
    file = io.BytesIO(data)
    _, start, end = hookcore.read_header(file)
    return hookcore.find(file, start, end, tool)


def put(folder, data):
    path = folder / "catalog.json"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("size", SIZES)
def test_every_tool_is_found_and_no_other(size):
    names = [f"tool_{number:04d}" for number in range(size)]
    data = written(names)
    for name in names:
        assert look_up(data, name)["tool"] == name
    absent = [
        "",
        "a",
        "tool",
        "tool_",
        "tool_000",
        "tool_0000x",
        "tool_00000",
        "tool_9999",
        "z",
        "é",
        "\ud800",
        "\u0000",
    ]
    for name in absent:
        assert look_up(data, name) is None


def test_lines_of_very_different_length():
    long = {"title": "t" * 5000}
    operations = [make_operation(f"op_{n:02d}", **(long if n % 3 else {})) for n in range(40)]
    data = catalog.write(make_air(*operations), {})
    assert [look_up(data, operation.name)["tool"] for operation in operations] == [
        one.name for one in operations
    ]


tool_names = st.from_regex(r"\A[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,4}){0,2}\Z")


@given(st.sets(tool_names, max_size=30), st.lists(st.one_of(tool_names, st.text(max_size=8)), max_size=10))
@pytest.mark.invariant("I4")
def test_found_exactly_when_it_is_there(names, asked):
    data = written(names)
    for name in [*names, *asked]:
        found = look_up(data, name)
        assert (found["tool"] if found else None) == (name if name in names else None)


@given(st.sets(tool_names, min_size=1, max_size=8), st.text(max_size=40))
def test_titles_never_confuse_the_search(names, title):
    data = written(names, title=title)
    for name in names:
        assert look_up(data, name)["title"] == title


def test_the_search_reads_a_few_lines_only():
    """The same at 10 and at 10,000 operations: a bisection, never the whole file."""

    class Counting(io.BytesIO):
        lines = 0

        def readline(self, *size):
            self.lines += 1
            return super().readline(*size)

    names = [f"tool_{number:05d}" for number in range(10_000)]
    file = Counting(written(names))
    _, start, end = hookcore.read_header(file)
    for name in (names[0], names[4321], names[-1], "tool_x", "a", "z"):
        file.lines = 0
        hookcore.find(file, start, end, name)
        assert file.lines <= 60


# Damaged files


def refused(path, tool, args=GOOD):
    decision = hookcore.evaluate(path, tool, args, NOBODY)
    assert decision.verb == hookcore.DENY
    return decision


@pytest.fixture(scope="module")
def small():
    operations = [make_operation("get_item"), make_refund(), make_operation("shut", state="blocked")]
    return catalog.write(make_air(*operations, preview="preview"), {"claude": ["mcp__x__"]})


@pytest.mark.invariant("I4")
def test_cut_at_every_byte(small, tmp_path):
    """Never an entry that is not the whole file's: denied as unusable, or the right answer."""
    whole = {tool: look_up(small, tool) for tool in ("get_item", "refund_payment", "shut", "nothing")}
    for length in range(len(small)):
        path = put(tmp_path, small[:length])
        for tool in (*whole, "preview"):
            assert refused(path, tool, {**GOOD, "operation": "get_item"}).code == "catalog_unusable"


@pytest.mark.invariant("I4")
def test_a_piece_missing_in_the_middle_never_gives_another_answer(small, tmp_path):
    """One line's bytes cut out from any place to any other place on the same line."""
    whole = {tool: look_up(small, tool) for tool in ("get_item", "refund_payment", "shut")}
    first = small.index(b"\n") + 1
    line = small[first : small.index(b"\n", first)]
    for at in range(len(line)):
        for width in (1, 7, 40):
            data = small[: first + at] + small[first + at + width :]
            path = put(tmp_path, data)
            for tool, entry in whole.items():
                try:
                    found = look_up(data, tool)
                except hookcore.Unusable:
                    assert refused(path, tool).code == "catalog_unusable"
                    continue
                if found is not None and tool != "get_item":
                    assert found == entry


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"\n", id="a line end alone"),
        pytest.param(lambda data: data[: data.index(b"\n") + 1], id="header only"),
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="byte order mark"),
        pytest.param(lambda data: data.decode().encode("utf-16"), id="UTF-16"),
        pytest.param(lambda data: data + b"\n", id="a line end too many"),
        pytest.param(lambda data: data[data.index(b"\n") + 1 :], id="no header"),
        pytest.param(lambda data: data.replace(b'{"anvil": 1', b'{"anvil": 2'), id="another version"),
        pytest.param(lambda data: data.replace(b'"service": {', b'"service": {,'), id="header not JSON"),
        pytest.param(lambda data: data.replace(b'"operations": [', b'"entries": ['), id="another list"),
        pytest.param(lambda data: data.replace(b",\n", b", "), id="all lines in one"),
        pytest.param(lambda data: data.replace(b'"tool": "', b'"name": "'), id="lines of another form"),
        pytest.param(lambda data: data.replace(b'{"tool"', b' {"tool"'), id="indented"),
        pytest.param(lambda data: data.replace(b'"confirmation"', b'"confirmatiom"'), id="a field renamed"),
        pytest.param(lambda data: data.replace(b'"id"', b'"tool": "other", "id"'), id="tool named twice"),
        pytest.param(lambda data: data.replace(b'"natural"', b'"nat\xffral"'), id="not UTF-8"),
    ],
)
def test_damaged(small, tmp_path, damage):
    data = damage(small)
    assert data != small
    path = put(tmp_path, data)
    decision = refused(path, "get_item")
    assert decision.code == "catalog_unusable"
    assert path in decision.reason
    assert "Reinstall the bundle, or compile it again." in decision.reason


@pytest.mark.invariant("I4")
def test_two_lines_spliced(tmp_path):
    """A line end lost between two operations: neither is taken for the other."""
    data = written([f"tool_{number}" for number in range(4)])
    lines = data.split(b"\n")
    lines[2:4] = [lines[2] + b" " + lines[3]]
    path = put(tmp_path, b"\n".join(lines))
    assert refused(path, "tool_1").code == "catalog_unusable"
    assert refused(path, "tool_2").verb == hookcore.DENY


@pytest.mark.invariant("I4")
def test_reordered_lines_are_found_or_denied(tmp_path):
    names = [f"tool_{number:02d}" for number in range(9)]
    data = written(names)
    first, *lines, last = data.removesuffix(b"\n").split(b"\n")
    plain = [line.rstrip(b",") for line in lines]
    path = put(tmp_path, b"\n".join([first, b",\n".join(reversed(plain)), last, b""]))
    for name in names:
        decision = hookcore.evaluate(path, name, {}, NOBODY)
        assert decision.code in (None, "unknown_operation")


@pytest.mark.invariant("I4")
def test_missing(tmp_path):
    path = str(tmp_path / "nowhere" / "catalog.json")
    decision = refused(path, "get_item")
    assert decision.code == "catalog_unusable"
    assert f"{path}: No such file or directory." in decision.reason


@pytest.mark.invariant("I4")
def test_a_folder_in_its_place(tmp_path):
    decision = refused(str(tmp_path), "get_item")
    assert decision.code == "catalog_unusable"
    assert f"{tmp_path}: Is a directory." in decision.reason


def test_the_whole_catalog_passes(small, tmp_path):
    """The control of all the tests above: the same file, undamaged."""
    path = put(tmp_path, small)
    assert hookcore.evaluate(path, "get_item", {}, NOBODY).verb == hookcore.PASS
    assert hookcore.evaluate(path, "refund_payment", GOOD, NOBODY).verb == hookcore.PASS
    assert hookcore.evaluate(path, "preview", {"operation": "get_item"}, NOBODY).verb == hookcore.PASS
    assert refused(path, "shut").code == "operation_not_approved"


def test_a_file_without_ends_of_lines_costs_no_memory(tmp_path):
    whole = written(["get_item"])
    start, rest = whole.split(b"\n", 1)
    sparse = tmp_path / "sparse.json"
    with sparse.open("wb") as file:
        file.write(start + b"\n")
        file.seek(2**31)
        file.write(rest)
    no_line = tmp_path / "line.json"
    no_line.write_bytes(start + b"\n" + rest.replace(b"get_item", b"get_item" + b"x" * 2**20, 1))
    tracemalloc.start()
    for path in ("/dev/zero", str(sparse), str(no_line)):
        decision = hookcore.evaluate(path, "get_item", {}, NOBODY)
        assert (decision.verb, decision.code) == (hookcore.DENY, "catalog_unusable")
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


def test_a_long_line_is_read(tmp_path):
    """The limit is far above what a document's words come to."""
    path = put(tmp_path, written(["get_item"], title="x" * 500_000))
    assert hookcore.evaluate(path, "get_item", {}, NOBODY).verb == hookcore.PASS
