"""The doctor's checks that are the same whatever the harness is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_shims.installing import bundle_files, programs
from anvil_shims.installing.actions import ActionError, Check
from anvil_shims.installing.stdio_rpc import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from anvil_shims.installing.actions import Surroundings, Verified
    from anvil_shims.installing.bundle_files import Bundle
    from anvil_shims.installing.keeping import Config

HOOK_PYTHON, SERVER_PYTHON = (3, 9), (3, 10)
FIRST_START = 180.0  # it may have to install its packages
FEW = 3


def program(name: str, where: Surroundings, verified: Verified) -> Iterator[Check]:
    """The harness's own command, and whether we know this version of it."""
    try:
        found = programs.find(name, where)
    except ActionError as error:
        yield Check("cli", ok=False, found=f"{error.file} {error.message}", next=f"install {name}")
        return
    yield Check("cli", ok=True, found=str(found))
    try:
        version = programs.version(found, where)
    except ActionError as error:
        yield Check("version", ok=False, found=error.message, next=f"reinstall {name}", state="unknown")
        return
    yield _version(name, version, verified)


def _version(name: str, version: str, verified: Verified) -> Check:
    """What the records say of this version, or of those around it."""
    lowest, newest = verified.minimum, verified.newest
    broken = verified.broken.get(version)
    between = f"what we rely on holds in {lowest} to {newest}"
    if programs.numbers(version) > programs.numbers(newest):
        held = sum(not facts for facts in verified.broken.values())
        known = f"; it held in each of the {held} versions tried of these" if held else ""
        said = f"{version}: not tried yet; {between}{known}"
        advice = f"use {newest}, or look for a newer Anvil; until then the server alone is sure to refuse"
        return Check("version", ok=False, found=said, next=advice, state="newer")
    if broken or programs.numbers(version) < programs.numbers(lowest):
        facts = f"{len(broken)} facts are otherwise here, such as {few(broken)}" if broken else "not tried"
        advice = f"update {name} to {lowest} or newer: hooks of older ones do not hold"
        return Check("version", ok=False, found=f"{version}: {facts}; {between}", next=advice, state="older")
    said = f"{version}: tried, and {between}" if broken is not None else f"{version}: {between}"
    return Check("version", ok=True, found=said, state="verified")


def configuration(config: Config) -> tuple[dict[str, Any], Check | None]:
    """What a configuration file says, and what is wrong with it."""
    try:
        return config.read()[1], None
    except ActionError as error:
        line = f" line {error.line}" if error.line else ""
        return {}, Check("config", ok=False, found=f"{error.file}{line} {error.message}", next="mend it")


def files(bundle: Bundle) -> Check:
    """Whether the bundle is as it was compiled."""
    wrong = bundle_files.differing(bundle.root, bundle.facts)
    if not wrong:
        return Check("bundle-files", ok=True, found=f"{len(bundle.facts['files'])} files as compiled")
    return Check(
        "bundle-files",
        ok=False,
        found=few(wrong),
        next="compile the bundle again, or get it again",
        state="changed",
    )


def interpreters(where: Surroundings) -> Iterator[Check]:
    """The python3 that the harness finds: one for the hook, and a newer one for the server."""
    version: tuple[int, ...] = ()
    try:
        script = "import sys; print(*sys.version_info[:3], sep='.')"
        said = programs.output(["python3", "-I", "-S", "-c", script], where).strip()
        version = programs.numbers(said)
    except ActionError as error:
        said = f"python3 {error.message}"
    for what, needs in (("hook", HOOK_PYTHON), ("server", SERVER_PYTHON)):
        wanted = ".".join(map(str, needs))
        advice = "" if version >= needs else f"put a python3 of {wanted} or newer first on PATH"
        yield Check(f"python-{what}", ok=version >= needs, found=f"{said}; needs {wanted}", next=advice)


def server(bundle: Bundle, command: Sequence[str], where: Surroundings, cwd: Path) -> Iterator[Check]:
    """Whether the server starts, and lists what the catalog approves and nothing else."""
    kept = ("HOME", "LANG", "PATH", "TERM")
    environ = {key: where.environ[key] for key in kept if key in where.environ}
    try:
        listed = sorted(_tools(command, environ, cwd))
    except ActionError as error:
        advice = f"see what `python3 {bundle.root / 'mcp/server.py'} doctor` says"
        yield Check("server-starts", ok=False, found=f"{error.file} {error.message}", next=advice)
        return
    yield Check("server-starts", ok=True, found=f"lists {len(listed)} tools")
    wanted = bundle_files.approved_tools(bundle)
    wrong = [f"{name} not listed" for name in wanted if name not in listed]
    wrong += [f"{name} not in the catalog" for name in listed if name not in wanted]
    yield Check(
        "server-tools",
        ok=not wrong,
        found=few(wrong) if wrong else f"{len(wanted)} tools, as the catalog approves",
        next="compile the bundle again" if wrong else "",
    )


def _tools(command: Sequence[str], environ: dict[str, str], cwd: Path) -> list[str]:
    found: list[str] = []
    with Peer(command, environ, cwd, FIRST_START) as peer:
        info = {"name": "anvil-doctor", "version": "0"}
        started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        peer.ask("initialize", started)
        peer.tell("notifications/initialized")
        params: dict[str, str] = {}
        while True:
            page = peer.ask("tools/list", params)
            found += [str(tool["name"]) for tool in page["tools"]]
            if not page.get("nextCursor"):
                return found
            params = {"cursor": str(page["nextCursor"])}


def few(things: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(things) - FEW} more" if len(things) > FEW else ""
    return ", ".join(things[:FEW]) + more
