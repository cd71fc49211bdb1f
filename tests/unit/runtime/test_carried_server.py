"""The server as a bundle carries it: a real process, its packages installed by hash, MCP over stdio.

Installing needs a package index or a wheelhouse (``ANVIL_TEST_WHEELHOUSE=FOLDER``).
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


@pytest.fixture(scope="module")
def prepared_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("prepared") / "cache"


@pytest.fixture
def cache(prepared_cache, bundle_folder):
    """A folder in which the server's packages are installed, by ``prepare`` itself."""
    if not list(prepared_cache.glob("*/.anvil-complete")):
        prepared_cache.mkdir(exist_ok=True)
        wheelhouse = os.environ.get("ANVIL_TEST_WHEELHOUSE")
        extra = ["--wheelhouse", wheelhouse] if wheelhouse else []
        made = launch(bundle_folder, prepared_cache, "prepare", *extra)
        assert made.stdout == ""
        if made.returncode != 0 and not os.environ.get("CI"):
            pytest.skip("needs a package index, or ANVIL_TEST_WHEELHOUSE=FOLDER")
        assert made.returncode == 0, made.stderr
    return prepared_cache


def kept_in(cache: Path) -> list[str]:
    """Where packages and state are, so that nothing of the tests is in the user's own folders."""
    return ["--cache", str(cache), "--state", str(cache.with_name(f"{cache.name}-state"))]


def launch(
    bundle: Path, cache: Path, *arguments: str, python=("-I", "-S"), cwd: Path | None = None, **environ: str
):
    return subprocess.run(
        [sys.executable, *python, str(bundle / "mcp" / "server.py"), *kept_in(cache), *arguments],
        env=environ,
        cwd=cwd or cache,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def ask(bundle: Path, cache: Path, era: str, question, **environ: str):
    async def run():
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-I", "-S", str(bundle / "mcp" / "server.py"), *kept_in(cache)],
            env=environ,
            cwd=cache,
        )
        async with Client(stdio_client(parameters), mode=era) as client:
            return await question(client)

    return asyncio.run(run())


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_it_serves_and_writes_nothing_into_its_bundle(bundle_folder, cache, era, httpserver, full):
    httpserver.expect_request("/api/v1/charges/ch_1/refunds", method="POST").respond_with_json({"id": "re_7"})
    before = files_of(bundle_folder)

    async def question(client):
        tools = (await client.list_tools()).tools
        refused = await client.call_tool("refund_create", {**full, "confirm": "true"})
        sent = await client.call_tool("refund_create", {**full, "idempotency_key": f"order-4711-{era}"})
        return [tool.name for tool in tools], refused, sent

    names, refused, sent = ask(bundle_folder, cache, era, question, ANVIL_BASE_URL=httpserver.url_for(""))
    assert names == ["charge_get", "payout_create", "preview", "refund_create"]
    assert json.loads(refused.content[0].text)["error"]["code"] == "confirmation_required"
    assert sent.structured_content == {"data": {"id": "re_7"}}
    assert len(httpserver.log) == 1
    assert files_of(bundle_folder) == before


def test_doctor(bundle_folder, cache):
    made = launch(bundle_folder, cache, "doctor")
    assert made.returncode == 0, made.stdout
    assert "ok       contract: shop, 3 of 4 operations approved" in made.stdout


def test_a_contract_that_is_cut_short_ends_the_server_with_words(bundle_folder, cache):
    (bundle_folder / "air.json").write_text("{", encoding="utf-8")
    made = launch(bundle_folder, cache)
    assert (made.returncode, made.stdout) == (1, "")
    assert str(bundle_folder / "air.json") in made.stderr
    assert "Traceback" not in made.stderr


def plant_bytecode(source: Path, marker: Path) -> None:
    """Bytecode that Python takes for the source's own, and that leaves a mark when it is run."""
    text = source.read_text(encoding="utf-8")
    code = compile(f"open({str(marker)!r}, 'w').close()\n{text}", str(source), "exec")
    status = source.stat()
    header = importlib.util.MAGIC_NUMBER + (0).to_bytes(4, "little")
    header += int(status.st_mtime).to_bytes(4, "little") + (status.st_size & 0xFFFFFFFF).to_bytes(4, "little")
    target = Path(importlib.util.cache_from_source(str(source)))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(header + marshal.dumps(code))


def test_planted_bytecode_never_runs(bundle_folder, cache, tmp_path):
    lib, marker = bundle_folder / "mcp" / "lib", tmp_path / "planted-code-ran"
    plant_bytecode(lib / "anvil_runtime" / "__init__.py", marker)
    plain = f"import sys; sys.path.insert(0, {str(lib)!r}); import anvil_runtime"
    subprocess.run([sys.executable, "-I", "-S", "-c", plain], check=True, capture_output=True)
    assert marker.exists(), "the control: without the launcher's care it does run"
    marker.unlink()
    assert launch(bundle_folder, cache, "doctor").returncode == 0
    assert not marker.exists()


@pytest.mark.parametrize("python", [("-I", "-S"), ()])
def test_nothing_is_imported_from_the_working_folder(bundle_folder, cache, tmp_path, python):
    project = tmp_path / "project"
    project.mkdir()
    for name in (
        "pydantic",
        "pydantic_core",
        "anvil_core",
        "anvil_runtime",
        "jsonschema_rs",
        "sitecustomize",
    ):
        (project / f"{name}.py").write_text(
            f"raise SystemExit('{name} of the project was run')", encoding="utf-8"
        )
    environ = {"PYTHONPATH": str(project)} if python else {}
    made = launch(bundle_folder, cache, "doctor", python=python, cwd=project, **environ)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.parametrize("home", [".", "..", "../project", "{project}"])
def test_packages_planted_in_a_home_that_a_project_names_never_run(bundle_folder, cache, tmp_path, home):
    project, marker = tmp_path / "project", tmp_path / "planted-code-ran"
    (installed,) = (path.parent for path in cache.glob("*/.anvil-complete"))
    planted = tmp_path / "planted"
    for folder in (planted, project / ".cache" / "anvil", tmp_path / ".cache" / "anvil"):
        package = folder / installed.name / "pydantic"
        package.mkdir(parents=True)
        (package.parent / ".anvil-complete").touch()
        (package / "__init__.py").write_text(f"open({str(marker)!r}, 'w').close()", encoding="utf-8")
    launch(bundle_folder, planted, "doctor")
    assert marker.exists(), "the control: from a cache it does run"
    marker.unlink()
    command = [sys.executable, "-I", "-S", str(bundle_folder / "mcp" / "server.py"), "doctor"]
    environ = {"HOME": home.format(project=project)}
    made = subprocess.run(command, env=environ, cwd=project, capture_output=True, text=True, check=False)
    assert "cache:" in made.stdout
    assert str(tmp_path / ".cache") not in made.stdout
    assert str(project) not in made.stdout
    assert not marker.exists()
