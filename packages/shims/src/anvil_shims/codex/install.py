"""Installs a bundle into Codex with Codex's own commands, and takes it out again.

Codex skips an untrusted hook in silence, so an install ends with the question whether to trust it. What is
shown is what Codex runs: the definition that it lists must have the digest of the bundle's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.codex import appserver, plugin_files
from anvil_shims.installing import bundle_files, keeping, programs, records
from anvil_shims.installing.actions import ActionError, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_shims.codex.plugin_files import Plugin
    from anvil_shims.installing.actions import Surroundings
    from anvil_shims.installing.bundle_files import Bundle
    from anvil_shims.installing.keeping import Entry
    from anvil_shims.installing.records import Record
    from anvil_shims.installing.stdio_rpc import Peer

PROGRAM, HARNESS = "codex", "codex"


def config(where: Surroundings) -> Path:
    return plugin_files.config(where).path


def plan(bundle: Bundle, where: Surroundings) -> list[str]:
    plugin = plugin_files.read(bundle)
    programs.find(PROGRAM, where)
    file = plugin_files.config(where)
    file.read()
    return [
        f"codex plugin marketplace add {bundle.root}",
        f"codex plugin add {plugin.id}",
        f"ask whether to trust its hook, and write that into {file.path}",
    ]


def install(bundle: Bundle, where: Surroundings, consent: Callable[[str], bool]) -> Outcome:
    plugin, program, file = (
        plugin_files.read(bundle),
        programs.find(PROGRAM, where),
        plugin_files.config(where),
    )
    entries = _entries(plugin)
    record = records.started(
        where,
        file,
        entries,
        harness=HARNESS,
        plugin=plugin.name,
        marketplace=plugin.marketplace,
        service=bundle.service,
        bundle=str(bundle.root),
    )
    outcome = Outcome()
    _add(plugin, bundle, program, where, record, outcome)
    different = bundle_files.differing(plugin.copy(plugin_files.home(where)), bundle.facts)
    if different:
        message = f"is not what the bundle holds ({different[0]}); was the bundle changed after its compile?"
        raise ActionError("copy_differs", message, str(plugin.copy(plugin_files.home(where))))
    with appserver.connect(program, where) as peer:
        _trust(plugin, peer, where, consent, outcome)
    return outcome


def _entries(plugin: Plugin) -> list[Entry]:
    states: list[Entry] = [("hooks", "state", hook.key) for hook in plugin.hooks]
    return [("marketplaces", plugin.marketplace), ("plugins", plugin.id), *states]


def _add(
    plugin: Plugin, bundle: Bundle, program: Path, where: Surroundings, record: Record, outcome: Outcome
) -> None:
    # Read here: the command that lists marketplaces fails when a single one of them is broken.
    _, data = plugin_files.config(where).read()
    elsewhere = keeping.lookup(data, ("marketplaces", plugin.marketplace, "source"))
    if elsewhere is not None and Path(str(elsewhere)).resolve() == bundle.root.resolve():
        elsewhere = None
    if elsewhere is not None and record.was(("marketplaces", plugin.marketplace)) is not None:
        message = (
            f"another marketplace of this name was added from {elsewhere}, not by anvil; "
            f"`codex plugin marketplace remove {plugin.marketplace}` takes it out"
        )
        raise ActionError("marketplace_taken", message, plugin.marketplace)

    def run() -> None:
        if elsewhere is not None:
            programs.output([program, "plugin", "marketplace", "remove", plugin.marketplace], where)
        programs.output([program, "plugin", "marketplace", "add", bundle.root], where)
        programs.output([program, "plugin", "add", plugin.id], where)

    records.save(where, record)
    _kept(run, plugin, where, outcome)
    outcome.done.append(f"added the marketplace {plugin.marketplace} ({bundle.root})")
    outcome.done.append(f"added the plugin {plugin.id} {plugin.version}")


def _kept(run: Callable[[], None], plugin: Plugin, where: Surroundings, outcome: Outcome) -> None:
    file = plugin_files.config(where)
    if not keeping.run_keeping(file, _entries(plugin), run):
        outcome.warnings.append(f"{file.path} is now as Codex wrote it: its spelling could not be kept")


def _trust(
    plugin: Plugin, peer: Peer, where: Surroundings, consent: Callable[[str], bool], outcome: Outcome
) -> None:
    listed = _listed(plugin, peer, where)
    waiting = {key: hook for key, hook in listed.items() if hook["trustStatus"] not in ("trusted", "managed")}
    if waiting:
        if not consent(shown(plugin, listed)):
            outcome.guarded = False
            outcome.warnings.append(
                "the hook is not trusted: Codex skips it without a word; the server still refuses"
            )
            return
        marks = {key: str(hook["currentHash"]) for key, hook in waiting.items()}
        _kept(lambda: appserver.trust(peer, marks), plugin, where, outcome)
        listed = _listed(plugin, peer, where)
        left = [hook["trustStatus"] for hook in listed.values() if hook["trustStatus"] != "trusted"]
        if left:
            message = (
                f"Codex still says {left[0]} after the trust was written; trust the hook with /hooks in Codex"
            )
            raise ActionError("trust_failed", message, str(config(where)))
        outcome.done.append("wrote that you trust its hook")
    else:
        outcome.done.append("its hook is trusted already")
    if not all(hook["enabled"] for hook in listed.values()):
        outcome.guarded = False
        outcome.warnings.append("the hook is switched off in Codex; /hooks switches it on")


def _listed(plugin: Plugin, peer: Peer, where: Surroundings) -> dict[str, dict[str, Any]]:
    """The plugin's hooks as Codex lists them, which must be those of the bundle."""
    listed = {
        str(hook["key"]): hook for hook in appserver.hooks(peer, where.cwd) if hook["pluginId"] == plugin.id
    }
    if not listed:
        message = "Codex lists no hook of this plugin; `anvil doctor` says what switches hooks off"
        raise ActionError("hook_not_listed", message, plugin.id)
    here = {hook.key: hook.digest for hook in plugin.hooks}
    there = {key: str(hook["currentHash"]).partition("/")[0] for key, hook in listed.items()}
    if here != there:
        message = (
            "Codex lists other hooks than the bundle defines; nothing was trusted. Report this, with versions"
        )
        raise ActionError("hook_differs", message, plugin.id)
    return listed


def shown(plugin: Plugin, listed: dict[str, dict[str, Any]]) -> str:
    """What a person is asked to trust, whole."""
    lines = ["Codex runs this plugin's hook only when you trust it:"]
    for hook in plugin.hooks:
        lines += [
            f"  event    {hook.event}",
            f"  matcher  {hook.matcher}",
            f"  command  {hook.command}",
            f"  timeout  {hook.timeout} s",
            f"  file     {listed[hook.key]['sourcePath']}",
            f"  digest   {listed[hook.key]['currentHash']}",
        ]
        if listed[hook.key]["trustStatus"] == "modified":
            lines.append("  You trusted it before; the definition or a file of the plugin has changed since.")
    lines.append("Trust covers every file of the plugin: when one changes, Codex asks again.")
    return "\n".join(lines)


def uninstall(record: Record, where: Surroundings) -> Outcome:
    program, file, outcome = programs.find(PROGRAM, where), plugin_files.config(where), Outcome()
    plugin_id = f"{record.plugin}@{record.marketplace}"
    market: Entry = ("marketplaces", record.marketplace)
    added: Entry = ("plugins", plugin_id)
    _, data = file.read()

    def run() -> None:
        if record.was(added) is None:
            programs.output([program, "plugin", "remove", plugin_id], where)
            outcome.done.append(f"removed the plugin {plugin_id}")
        if record.was(market) is None and keeping.lookup(data, market) is not None:
            programs.output([program, "plugin", "marketplace", "remove", record.marketplace], where)
            outcome.done.append(f"removed the marketplace {record.marketplace}")

    if not keeping.run_keeping(file, [market, added], run):
        outcome.warnings.append(f"{file.path} is now as Codex wrote it: its spelling could not be kept")
    if record.was(added) is not None:
        outcome.warnings.append(f"the plugin {plugin_id} was there before `anvil install`, and stays")
    before: dict[Entry, Any] = {tuple(path): value for path, value in record.before}
    if not keeping.change(file, before):
        message = (
            f"holds entries of {plugin_id} in a spelling that cannot be changed here; remove them by hand"
        )
        raise ActionError("config_left", message, str(file.path))
    if any(path[0] == "hooks" and value is None for path, value in before.items()):
        outcome.done.append("removed the trust of its hook")
    records.put_back_blank(record)
    records.forget(where, record)
    return outcome
