"""Installs a bundle into Claude Code with its own commands, for this user, and takes it out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.claude import plugin_files
from anvil_shims.installing import keeping, programs, records
from anvil_shims.installing.actions import ActionError, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_shims.claude.plugin_files import Plugin
    from anvil_shims.installing.actions import Surroundings
    from anvil_shims.installing.bundle_files import Bundle
    from anvil_shims.installing.keeping import Entry
    from anvil_shims.installing.records import Record

PROGRAM, HARNESS = "claude", "claude"


def config(where: Surroundings) -> Path:
    return plugin_files.config(where).path


def plan(bundle: Bundle, where: Surroundings) -> list[str]:
    plugin = plugin_files.read(bundle)
    programs.find(PROGRAM, where)
    plugin_files.config(where).read()
    return [
        f"claude plugin marketplace add {bundle.root}",
        f"claude plugin install {plugin.id}",
        f"(both are noted in {config(where)})",
    ]


def install(bundle: Bundle, where: Surroundings, consent: Callable[[str], bool]) -> Outcome:
    del consent  # Claude Code asks for no trust in a plugin's hooks beyond its install
    plugin, program, file = (
        plugin_files.read(bundle),
        programs.find(PROGRAM, where),
        plugin_files.config(where),
    )
    outcome = Outcome()
    record = records.started(
        where,
        file,
        _entries(plugin.marketplace, plugin.id),
        harness=HARNESS,
        plugin=plugin.name,
        marketplace=plugin.marketplace,
        service=bundle.service,
        bundle=str(bundle.root),
    )
    _refuse_taken(plugin, bundle, program, where, record)

    def run() -> None:
        programs.output([program, "plugin", "marketplace", "add", bundle.root], where)
        said = json.loads(programs.output([program, "plugin", "install", plugin.id, "--json"], where))
        if said.get("installedVersion") != said.get("availableVersion"):
            programs.output([program, "plugin", "update", plugin.id], where)

    records.save(where, record)
    if not keeping.run_keeping(file, _entries(plugin.marketplace, plugin.id), run):
        outcome.warnings.append(f"{file.path} is now as Claude Code wrote it: its spelling could not be kept")
    outcome.done.append(f"added the marketplace {plugin.marketplace} ({bundle.root})")
    outcome.done.append(f"installed the plugin {plugin.id} {plugin.version}; it is read from that folder")
    return outcome


def _entries(marketplace: str, plugin_id: str) -> list[Entry]:
    return [("extraKnownMarketplaces", marketplace), ("enabledPlugins", plugin_id)]


def _refuse_taken(plugin: Plugin, bundle: Bundle, program: Path, where: Surroundings, record: Record) -> None:
    """The command would turn a marketplace of that name over to the new folder without asking."""
    known = json.loads(programs.output([program, "plugin", "marketplace", "list", "--json"], where))
    for one in known:
        place = one.get("path") or one.get("installLocation") or "another source"
        if one["name"] != plugin.marketplace or Path(place).resolve() == bundle.root.resolve():
            continue
        if record.was(("extraKnownMarketplaces", plugin.marketplace)) is not None:
            message = (
                f"another marketplace of this name was added from {place}, not by anvil; "
                f"`claude plugin marketplace remove {plugin.marketplace}` takes it out"
            )
            raise ActionError("marketplace_taken", message, plugin.marketplace)


def uninstall(record: Record, where: Surroundings) -> Outcome:
    program, outcome = programs.find(PROGRAM, where), Outcome()
    file = plugin_files.config(where, record.empties)
    plugin_id = f"{record.plugin}@{record.marketplace}"
    market, enabled = _entries(record.marketplace, plugin_id)
    installed = json.loads(programs.output([program, "plugin", "list", "--json"], where))
    known = json.loads(programs.output([program, "plugin", "marketplace", "list", "--json"], where))

    def run() -> None:
        there = any(one["id"] == plugin_id and one.get("scope") == "user" for one in installed)
        if record.was(enabled) is None and there:
            programs.output([program, "plugin", "uninstall", plugin_id, "--json"], where)
            outcome.done.append(f"removed the plugin {plugin_id}")
        if record.was(market) is None and any(one["name"] == record.marketplace for one in known):
            programs.output([program, "plugin", "marketplace", "remove", record.marketplace], where)
            outcome.done.append(f"removed the marketplace {record.marketplace}")

    if not keeping.run_keeping(file, [market, enabled], run):
        outcome.warnings.append(f"{file.path} is now as Claude Code wrote it: its spelling could not be kept")
    if record.was(enabled) is not None:
        outcome.warnings.append(f"the plugin {plugin_id} was there before `anvil install`, and stays")
    before: dict[Entry, Any] = {tuple(path): value for path, value in record.before}
    if not keeping.change(file, before):
        message = f"holds entries of {plugin_id} that cannot be changed here; remove them by hand"
        raise ActionError("config_left", message, str(file.path))
    records.put_back_blank(record)
    records.forget(where, record)
    return outcome
