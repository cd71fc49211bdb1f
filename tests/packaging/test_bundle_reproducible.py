"""I8: same input, same bytes, whatever the process, its folder, its hash seed or the document's order.

The same document with its paths in another order is another input: its digest and its lines are in the
bundle. Everything else in it is the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.invariant("I8")
ROOT = Path(__file__).parents[2]
EXAMPLES = ("payments", "paypal-payments", "notion")
PETSTORE = ROOT / "tests/corpus/documents/petstore3.yaml"


def compile_(project: Path | str, out: Path, *, cwd: Path = ROOT, **environ: str) -> dict[str, bytes]:
    command = [sys.executable, "-m", "anvil_generator", "compile", str(project), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, cwd=cwd, env={**os.environ, **environ})
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_same_input_same_bytes(name, tmp_path):
    project = ROOT / "examples" / name
    first = compile_(project, tmp_path / "1", PYTHONHASHSEED="0")
    assert compile_(project, tmp_path / "1", PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C") == first
    shutil.copytree(project, tmp_path / "elsewhere" / "copy")
    os.utime(tmp_path / "elsewhere" / "copy" / "anvil.yaml", (0, 0))
    assert compile_("copy", tmp_path / "2", cwd=tmp_path / "elsewhere", PYTHONHASHSEED="7") == first


def test_no_path_of_this_machine_is_in_a_bundle(tmp_path):
    shutil.copytree(ROOT / "examples/payments", tmp_path / "project")
    text = (tmp_path / "project/approvals.yaml").read_text().replace("fingerprint: 1:", "fingerprint: 1:0", 1)
    (tmp_path / "project/approvals.yaml").write_text(text)  # so that a warning with a position is in it
    bundle = compile_(tmp_path / "project", tmp_path / "out")
    assert b"was changed since" in bundle["report.json"]
    assert [name for name, data in bundle.items() if str(tmp_path).encode() in data] == []


def reversed_document(project: Path, out: Path) -> Path:
    """The project with paths, methods, tags and components of its document the other way round."""
    shutil.copytree(project, out)
    (document,) = [path for path in out.iterdir() if path.name.startswith("openapi.")]
    import yaml

    raw = yaml.safe_load(document.read_text(encoding="utf-8"))

    def turn(value: dict) -> dict:
        return dict(reversed(value.items()))

    raw["paths"] = {path: turn(item) for path, item in reversed(raw["paths"].items())}
    raw["components"] = {key: turn(part) for key, part in reversed(raw["components"].items())}
    text = json.dumps(turn(raw), indent=1)
    document.write_text(text, encoding="utf-8")
    return out


def without_places(value: object) -> object:
    """Data of a bundle without the document's digest, its lines and the order in lists of places."""
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in value.items() if key not in ("line", "sha256")}
    return [without_places(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_order_in_the_document_changes_lines_and_nothing_else(name, tmp_path):
    one = compile_(ROOT / "examples" / name, tmp_path / "1")
    other = compile_(reversed_document(ROOT / "examples" / name, tmp_path / "p"), tmp_path / "2")
    assert one.keys() == other.keys()
    different = {path for path in one if one[path] != other[path]}
    assert different <= {"air.json", "report.json", "bundle.json"}
    for path in ("air.json", "report.json"):
        assert without_places(json.loads(one[path])) == without_places(json.loads(other[path]))
    files = [json.loads(bundle["bundle.json"])["files"] for bundle in (one, other)]
    assert {path for path in files[0] if files[0][path] != files[1][path]} == different - {"bundle.json"}
