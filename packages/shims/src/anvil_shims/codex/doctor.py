"""Looks at everything that can silence the hook, or shadow the server, of a bundle in Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.codex import appserver, plugin_files
from anvil_shims.codex.install import PROGRAM
from anvil_shims.installing import bundle_files, common_checks
from anvil_shims.installing.actions import ActionError, Check
from anvil_shims.installing.keeping import Config, lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_shims.codex.plugin_files import Plugin
    from anvil_shims.installing.actions import Surroundings, Verified
    from anvil_shims.installing.bundle_files import Bundle

Settings = dict[Path, dict[str, Any]]


def checks(bundle: Bundle | None, where: Surroundings, verified: Verified) -> Iterator[Check]:
    found = list(common_checks.program(PROGRAM, where, verified))
    yield from found
    settings: Settings = {}
    yield from _read(settings, where)
    yield _feature(settings)
    yield _managed(where)
    yield from common_checks.interpreters(where)
    if bundle is None:
        return
    yield common_checks.files(bundle)
    try:
        plugin = plugin_files.read(bundle)
    except ActionError as error:
        yield Check("bundle-names", ok=False, found=f"{error.file} {error.message}", next="compile it again")
        return
    yield _root_manifest(bundle)
    yield from _installed(plugin, bundle, settings, where)
    if found[0].ok:
        yield from _hook(plugin, Path(found[0].found), where)
    yield from _names(plugin, settings, where)
    for server in plugin.servers.values():
        command = [str(server["command"]), *map(str, server.get("args", []))]
        yield from common_checks.server(bundle, command, where, bundle.root)


def _read(settings: Settings, where: Surroundings) -> Iterator[Check]:
    """The system's configuration, the user's, the project's, the administrator's; later ones win."""
    user, system = plugin_files.config(where).path, where.etc / "codex"
    project = [folder / ".codex" / "config.toml" for folder in _project_folders(where.cwd)]
    project = [path for path in project if path.resolve() != user.resolve()]
    for path in (system / "config.toml", user, *project, system / "managed_config.toml"):
        settings[path], wrong = common_checks.configuration(Config(path, "toml"))
        if wrong:
            yield wrong
            return
    yield Check("config", ok=True, found=str(user))


def _project_folders(cwd: Path) -> list[Path]:
    """From the project's root, which holds .git, down to the working folder; without a root that alone."""
    folders = [cwd, *cwd.parents]
    roots = [index for index, folder in enumerate(folders) if (folder / ".git").exists()]
    return folders[: roots[0] + 1][::-1] if roots else [cwd]


def _feature(settings: Settings) -> Check:
    for path, data in settings.items():
        for name in ("hooks", "codex_hooks"):
            if lookup(data, ("features", name)) is False:
                found = f"{path} says features.{name} = false: no hook runs"
                return Check("hooks-feature", ok=False, found=found, next="take that line out", state="off")
    return Check(
        "hooks-feature", ok=True, found="hooks are not switched off in a configuration file", state="on"
    )


def _managed(where: Surroundings) -> Check:
    path = where.etc / "codex" / "requirements.toml"
    try:
        _, data = Config(path, "toml").read()
    except ActionError as error:
        return Check(
            "managed-hooks-only", ok=False, found=f"{path} {error.message}", next="ask the administrator"
        )
    if data.get("allow_managed_hooks_only") is True:
        found = f"{path} says allow_managed_hooks_only = true: no plugin's hook runs"
        return Check("managed-hooks-only", ok=False, found=found, next="ask the administrator", state="on")
    return Check("managed-hooks-only", ok=True, found="hooks of plugins are allowed", state="off")


def _root_manifest(bundle: Bundle) -> Check:
    path = bundle.root / "plugin.json"
    if path.exists():
        found = f"{path} makes Codex leave out the plugin's hooks"
        return Check("root-manifest", ok=False, found=found, next="remove it", state="present")
    return Check("root-manifest", ok=True, found="no plugin.json at the root")


def _installed(plugin: Plugin, bundle: Bundle, settings: Settings, where: Surroundings) -> Iterator[Check]:
    copy = plugin.copy(plugin_files.home(where))
    install = f"anvil install {bundle.root} --harness codex"
    if not copy.is_dir():
        others = sorted(path.name for path in copy.parent.glob("*")) if copy.parent.is_dir() else []
        found = f"{plugin.id} {plugin.version} is not installed" + (f", but {others[0]} is" if others else "")
        state = "other-version" if others else "absent"
        yield Check("plugin-installed", ok=False, found=found, next=install, state=state)
        return
    yield Check("plugin-installed", ok=True, found=str(copy))
    wrong = bundle_files.differing(copy, bundle.facts)
    yield Check(
        "installed-copy",
        ok=not wrong,
        found=common_checks.few(wrong) if wrong else "the installed files are the bundle's",
        next=install if wrong else "",
    )
    user = plugin_files.config(where).path
    for path, data in settings.items():
        said = lookup(data, ("plugins", plugin.id, "enabled"))
        if said is False or (said is None and path == user):
            state = "off" if said is False else "absent"
            found = f"{path} has the plugin {state}"
            advice = f"set enabled = true in {path}" if said is False else install
            yield Check("plugin-enabled", ok=False, found=found, next=advice, state=state)
            return
    yield Check("plugin-enabled", ok=True, found=f"enabled in {user}", state="on")


def _hook(plugin: Plugin, program: Path, where: Surroundings) -> Iterator[Check]:
    """What Codex itself says about the plugin's hooks."""
    try:
        with appserver.connect(program, where) as peer:
            hooks = [hook for hook in appserver.hooks(peer, where.cwd) if hook["pluginId"] == plugin.id]
    except ActionError as error:
        yield Check(
            "hook-listed", ok=False, found=error.message, next="see `codex app-server`", state="unknown"
        )
        return
    keys = {hook["key"] for hook in hooks}
    missing = [hook.key for hook in plugin.hooks if hook.key not in keys]
    if missing:
        found = f"Codex does not list {missing[0]}"
        advice = "mend what failed above, or install the bundle again"
        yield Check("hook-listed", ok=False, found=found, next=advice, state="absent")
        return
    yield Check("hook-listed", ok=True, found=", ".join(sorted(keys)))
    digests = {hook.key: hook.digest for hook in plugin.hooks}
    same = all(hook["currentHash"].partition("/")[0] == digests.get(hook["key"]) for hook in hooks)
    found = "as the bundle defines it" if same else "Codex runs another definition than the bundle's"
    yield Check("hook-definition", ok=same, found=found, next="" if same else "install the bundle again")
    enabled = all(hook["enabled"] for hook in hooks)
    found = (
        "switched on" if enabled else f"switched off under hooks.state in {plugin_files.config(where).path}"
    )
    advice = "" if enabled else "switch it on with /hooks in Codex"
    yield Check("hook-enabled", ok=enabled, found=found, next=advice, state="on" if enabled else "disabled")
    states = sorted({str(hook["trustStatus"]) for hook in hooks} - {"trusted", "managed"})
    state = states[0] if states else "trusted"
    words = {
        "trusted": "a person trusted this definition and these files",
        "untrusted": "nobody trusted it: Codex skips it without a word",
        "modified": "it or a file of the plugin changed since it was trusted: Codex skips it without a word",
    }
    advice = f"anvil install {plugin.name} again, or /hooks in Codex" if states else ""
    yield Check("hook-trusted", ok=not states, found=words.get(state, state), next=advice, state=state)


def _names(plugin: Plugin, settings: Settings, where: Surroundings) -> Iterator[Check]:
    """Other servers that take the name of ours, or a spelling that makes Codex rename our tools."""
    others = [
        (name, str(path)) for path, data in settings.items() for name in lookup(data, ("mcp_servers",)) or {}
    ]
    elsewhere = list(_other_plugins(plugin, settings, where))
    shadows = [f"{name} in {place}" for name, place in [*others, *elsewhere] if name in plugin.servers]
    yield Check(
        "shadowing-server",
        ok=not shadows,
        found=f"another server has our name: {common_checks.few(shadows)}"
        if shadows
        else "no other has our name",
        next="rename or remove it: Codex starts it in place of ours" if shadows else "",
    )
    ours = {plugin_files.normal(name) for name in plugin.servers}
    similar = [
        f"{name} in {place}"
        for name, place in [*others, *elsewhere]
        if name not in plugin.servers and plugin_files.normal(name) in ours
    ]
    yield Check(
        "colliding-names",
        ok=not similar,
        found=f"Codex renames our tools, because of {common_checks.few(similar)}"
        if similar
        else "none collides",
        next="rename or remove that server" if similar else "",
    )


def _other_plugins(plugin: Plugin, settings: Settings, where: Surroundings) -> Iterator[tuple[str, str]]:
    user = settings.get(plugin_files.config(where).path, {})
    for other, data in (lookup(user, ("plugins",)) or {}).items():
        name, _, marketplace = other.partition("@")
        if other == plugin.id or not isinstance(data, dict) or data.get("enabled") is False:
            continue
        folder = plugin_files.home(where) / "plugins" / "cache" / marketplace / name
        for manifest in sorted(folder.glob("*/.c*-plugin/plugin.json")):
            for server in _servers(manifest):
                yield server, f"the plugin {other}"


def _servers(manifest: Path) -> list[str]:
    try:
        said = json.loads(manifest.read_bytes()).get("mcpServers", "./.mcp.json")
        if isinstance(said, str):
            said = json.loads((manifest.parent.parent / said).read_bytes())
        return list(said.get("mcpServers", said))
    except (OSError, ValueError, AttributeError, TypeError):
        return []
