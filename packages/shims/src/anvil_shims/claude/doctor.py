"""Looks at everything that can silence the hook, or shadow the server, of a bundle in Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.claude import plugin_files
from anvil_shims.claude.install import PROGRAM
from anvil_shims.installing import common_checks, programs
from anvil_shims.installing.actions import ActionError, Check
from anvil_shims.installing.keeping import Config, lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_shims.claude.plugin_files import Plugin
    from anvil_shims.installing.actions import Surroundings, Verified
    from anvil_shims.installing.bundle_files import Bundle

Settings = dict[Path, dict[str, Any]]


def checks(bundle: Bundle | None, where: Surroundings, verified: Verified) -> Iterator[Check]:
    found = list(common_checks.program(PROGRAM, where, verified))
    yield from found
    settings: Settings = {}
    yield from _read(settings, where)
    yield _hooks_off(settings)
    yield _managed(settings, where)
    yield from common_checks.interpreters(where)
    if bundle is None:
        return
    yield common_checks.files(bundle)
    try:
        plugin = plugin_files.read(bundle)
    except ActionError as error:
        yield Check("bundle-names", ok=False, found=f"{error.file} {error.message}", next="compile it again")
        return
    listed: list[dict[str, Any]] = []
    if found[0].ok:
        yield from _installed(plugin, bundle, Path(found[0].found), where, listed)
    yield _enabled(plugin, settings)
    yield from _names(plugin, listed, where)
    for server in plugin.servers.values():
        words = [str(server["command"]), *map(str, server.get("args", []))]
        command = [word.replace("${CLAUDE_PLUGIN_ROOT}", str(bundle.root)) for word in words]
        yield from common_checks.server(bundle, command, where, where.cwd)


def _managed_files(where: Surroundings) -> list[Path]:
    folder = where.etc / "claude-code"
    return [folder / "managed-settings.json", *sorted(folder.glob("managed-settings.d/*.json"))]


def _read(settings: Settings, where: Surroundings) -> Iterator[Check]:
    """The settings of the user, the project, this checkout and the administrator; later ones win."""
    user = plugin_files.config(where).path
    project = where.cwd / ".claude"
    places = [user, project / "settings.json", project / "settings.local.json", *_managed_files(where)]
    for path in places:
        settings[path], wrong = common_checks.configuration(Config(path, "json"))
        if wrong:
            yield wrong
            return
    yield Check("config", ok=True, found=str(user))


def _hooks_off(settings: Settings) -> Check:
    for path, data in settings.items():
        if data.get("disableAllHooks") is True:
            found = f"{path} says disableAllHooks: no hook runs"
            return Check("hooks-setting", ok=False, found=found, next="take that key out", state="off")
    return Check("hooks-setting", ok=True, found="hooks are not switched off in a settings file", state="on")


def _managed(settings: Settings, where: Surroundings) -> Check:
    for path in _managed_files(where):
        if settings.get(path, {}).get("allowManagedHooksOnly") is True:
            found = f"{path} says allowManagedHooksOnly: no plugin's hook runs"
            return Check(
                "managed-hooks-only", ok=False, found=found, next="ask the administrator", state="on"
            )
    return Check("managed-hooks-only", ok=True, found="hooks of plugins are allowed", state="off")


def _installed(
    plugin: Plugin, bundle: Bundle, program: Path, where: Surroundings, listed: list[dict[str, Any]]
) -> Iterator[Check]:
    install = f"anvil install {bundle.root} --harness claude"
    try:
        listed += json.loads(programs.output([program, "plugin", "list", "--json"], where))
    except (ActionError, ValueError) as error:
        yield Check(
            "plugin-installed", ok=False, found=str(error), next="see `claude plugin list`", state="unknown"
        )
        return
    ours = [one for one in listed if one["id"] == plugin.id]
    if not ours:
        found = f"{plugin.id} is not installed"
        yield Check("plugin-installed", ok=False, found=found, next=install, state="absent")
        return
    yield Check("plugin-installed", ok=True, found=f"{plugin.id}, scope {ours[0].get('scope')}")
    errors = [str(error) for error in ours[0].get("errors", [])]
    place = Path(str(ours[0].get("readFromFolder") or ours[0].get("installPath") or ""))
    same = not errors and place.resolve() == bundle.root.resolve()
    found = f"read from {place}" if not errors else common_checks.few(errors)
    yield Check("plugin-folder", ok=same, found=found, next="" if same else install)


def _enabled(plugin: Plugin, settings: Settings) -> Check:
    said: tuple[Path, bool] | None = None
    for path, data in settings.items():
        value = lookup(data, ("enabledPlugins", plugin.id))
        if isinstance(value, bool):
            said = (path, value)
    if said is None:
        advice = "anvil install the bundle"
        return Check(
            "plugin-enabled", ok=False, found="no settings file enables it", next=advice, state="absent"
        )
    path, on = said
    advice = "" if on else f"take it out of enabledPlugins in {path}, or `claude plugin enable {plugin.id}`"
    found = f"{path} has it {'on' if on else 'off'}"
    return Check("plugin-enabled", ok=on, found=found, next=advice, state="on" if on else "off")


def _names(plugin: Plugin, listed: list[dict[str, Any]], where: Surroundings) -> Iterator[Check]:
    """Other servers whose tools get the names of ours."""
    ours = {plugin_files.normal(f"plugin_{plugin.name}_{server}") for server in plugin.servers}
    exact, similar = [], []
    for name, place in _user_servers(where):
        if name in ours:
            exact.append(f"{name} in {place}")
        elif plugin_files.normal(name) in ours:
            similar.append(f"{name} in {place}")
    for one in listed:
        other = str(one["id"]).partition("@")[0]
        similar += [
            f"{server} of the plugin {other}"
            for server in one.get("mcpServers", {})
            if one["id"] != plugin.id and plugin_files.normal(f"plugin_{other}_{server}") in ours
        ]
    yield Check(
        "shadowing-server",
        ok=not exact,
        found=f"another server takes our tools: {common_checks.few(exact)}"
        if exact
        else "no other has our name",
        next="remove it: Claude Code calls it in place of ours" if exact else "",
    )
    yield Check(
        "colliding-names",
        ok=not similar,
        found=f"the tools of {common_checks.few(similar)} are named as ours" if similar else "none collides",
        next="rename or remove that server" if similar else "",
    )


def _user_servers(where: Surroundings) -> Iterator[tuple[str, str]]:
    for path in (plugin_files.state_file(where), where.cwd / ".mcp.json"):
        data, _ = common_checks.configuration(Config(path, "json"))
        project = lookup(data, ("projects", str(where.cwd), "mcpServers"))
        for servers in (data.get("mcpServers"), project):
            for name in servers if isinstance(servers, dict) else {}:
                yield name, str(path)
