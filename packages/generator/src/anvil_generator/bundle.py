"""The plan of a bundle: each file copied, dumped or rendered, and nothing else (I9). Pure: no output here."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anvil_core
import anvil_runtime
from anvil_core import air_file, catalog, names, tools
from anvil_generator import conformance, credentials, harnesses
from anvil_generator.markdown import in_code, in_link, one_line, plain
from anvil_generator.report import report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_core.air import Air, Operation, Service
    from anvil_generator.compiler import Compiled

UNTAGGED = "other"
LONGEST_FILE_NAME = 60
LONGEST_NUMBER = 12
LONGEST_TITLE = 80
LARGEST_NUMBER = 10**LONGEST_NUMBER - 1


@dataclass(frozen=True)
class EmittedFile:
    """One file of the bundle: its path there with "/", its bytes, and how it came to be."""

    path: str
    data: bytes
    kind: Literal["copied", "dumped", "rendered"]


def plan(compiled: Compiled, author: str | None = None) -> list[EmittedFile]:
    """Every file of the bundle, sorted by path; the same input gives the same bytes (I8)."""
    air = compiled.air
    title = _title(air.service)
    facts = {
        "version": plugin_version(air.service.version, compiled.revision),
        "description": f"{title}: approved operations only, with Anvil's safety contract",
        "author": author or f"{_called(title)} owner",
    }
    clients = harnesses.clients(compiled.harnesses)
    files = [
        *_harness_files(compiled, facts),
        *_server_files(),
        EmittedFile("mcp/clients.json", _dump(clients.model_dump(mode="json")), "dumped"),
        *_skill_files(air),
        *_readme(compiled, facts),
        *_conformance_files(compiled),
        EmittedFile("air.json", air_file.write(air), "dumped"),
        EmittedFile("catalog.json", catalog.write(air, _prefixes(compiled)), "dumped"),
        EmittedFile("report.json", _dump(report(compiled)), "dumped"),
    ]
    files.append(EmittedFile("bundle.json", _dump(_bundle_facts(compiled, facts, files)), "dumped"))
    merged = {file.path: file for file in files}
    if any(merged[file.path].data != file.data for file in files):
        raise AssertionError("two different files for one path")
    return [merged[path] for path in sorted(merged)]


def _title(service: Service) -> str:
    return plain(service.title, LONGEST_TITLE) or service.id


def _called(title: str) -> str:
    """The API by its title, which may say itself that it is one."""
    return title if re.search(r"\bAPIs?\b", title, re.IGNORECASE) else f"{title} API"


def plugin_version(api_version: str, revision: int) -> str:
    """Semantic version of the plugin: the API's major and minor, then its patch and the revision.

    A later revision of the same API version is always newer, by the third number alone, since
    pre-release and build parts are not read alike by the harnesses.
    """
    numbers = [number.lstrip("0") or "0" for number in re.findall("[0-9]+", api_version)[:3]]
    # What reads semantic versions as numbers of 64 bits in floating point is exact up to 16 digits.
    bounded = [int(number) if len(number) <= LONGEST_NUMBER else LARGEST_NUMBER for number in numbers]
    major, minor, patch = (*bounded, 0, 0, 0)[:3]
    return f"{major}.{minor}.{patch * 1000 + revision}"


def _prefixes(compiled: Compiled) -> dict[str, list[str]]:
    service_id = compiled.air.service.id
    return {harness.id: [harness.names(service_id)["prefix"]] for harness in compiled.harnesses}


def _harness_files(compiled: Compiled, facts: dict[str, str]) -> Iterator[EmittedFile]:
    environment = harnesses.environment()
    for harness in compiled.harnesses:
        for path, data in harness.copies():
            yield EmittedFile(path, data, "copied")
        title = _title(compiled.air.service)
        values = {
            "service": compiled.air.service.model_copy(update={"title": title}),
            "bundle": facts,
            "names": harness.names(compiled.air.service.id),
            "state": names.state_name(compiled.air.service.id, str(compiled.air.service.origin)),
            "contract": harness.contract,
            "verified": harness.verified,
            "variables": credentials.variables(compiled.air),
            "asked_by_form": _asked_by_form(compiled.air),
        }
        for path, template in harness.templates():
            yield EmittedFile(path, environment.from_string(template).render(values).encode(), "rendered")


def _server_files() -> Iterator[EmittedFile]:
    runtime = _package_folder(anvil_runtime)
    yield EmittedFile("mcp/server.py", (runtime / "launcher.py").read_bytes(), "copied")
    yield EmittedFile("mcp/LICENSE", (runtime / "LICENSE").read_bytes(), "copied")
    yield EmittedFile("mcp/requirements.lock", (runtime / "requirements.lock").read_bytes(), "copied")
    yield EmittedFile("mcp/lib/hookcore.py", harnesses.core_source().read_bytes(), "copied")
    for package in (anvil_core, anvil_runtime):
        folder = _package_folder(package)
        for file in sorted(folder.rglob("*.py")):
            relative = file.relative_to(folder.parent).as_posix()
            if relative != "anvil_runtime/launcher.py":
                yield EmittedFile(f"mcp/lib/{relative}", file.read_bytes(), "copied")


def _conformance_files(compiled: Compiled) -> Iterator[EmittedFile]:
    """The bundle's own proof, and where it finds the hooks of each harness."""
    folder = _package_folder(conformance)
    for name in ("bundle_rings.py", "generated_calls.py", "test_conformance.py"):
        yield EmittedFile(f"tests/{name}", (folder / name).read_bytes(), "copied")
    service = compiled.air.service
    facts = {
        harness.id: {**harness.contract["conformance"], "prefix": harness.names(service.id)["prefix"]}
        for harness in compiled.harnesses
        if "conformance" in harness.contract
    }
    state = names.state_name(service.id, str(service.origin))
    yield EmittedFile("tests/conformance.json", _dump({"state": state, "harnesses": facts}), "dumped")


def _asked_by_form(air: Air) -> list[str]:
    """The tools for which the server itself asks a person, where the client is one that it may ask."""
    if air.service.approval_elicitation == "none":
        return []
    approved = (one for one in air.operations if one.state == "approved")
    return sorted(one.name for one in approved if one.confirmation.human_approval)


def _package_folder(package: Any) -> Path:
    return Path(package.__file__).parent


def _skill_files(air: Air) -> Iterator[EmittedFile]:
    approved = [operation for operation in air.operations if operation.state == "approved"]
    by_tag: dict[str, list[Operation]] = {}
    for operation in approved:
        by_tag.setdefault(operation.tags[0] if operation.tags else UNTAGGED, []).append(operation)
    files = _tag_files(list(by_tag))
    groups = sorted((files[tag], tag, operations) for tag, operations in by_tag.items())
    values = {
        "service": air.service,
        "preview": air.preview,
        "groups": groups,
        "sentences": tools.contract_sentences,
        "arguments": _arguments,
        "title": _title(air.service),
        "called": _called(_title(air.service)),
        "in_link": in_link,
        "one_line": one_line,
        "plain": plain,
    }
    yield EmittedFile("skill/SKILL.md", _render("skill.md.j2", values), "rendered")
    for file, tag, operations in groups:
        page = {**values, "tag": tag, "operations": operations}
        yield EmittedFile(f"skill/reference/{file}.md", _render("skill_reference.md.j2", page), "rendered")


def _tag_files(tags: list[str]) -> dict[str, str]:
    """A file name for each tag, with a hash where it would be empty, too long, or another tag's."""
    plain = {tag: re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-") for tag in tags}
    taken = Counter(plain.values())
    files = {
        tag: name
        if name and taken[name] == 1 and len(name) <= LONGEST_FILE_NAME
        else _with_hash(name, tag, 6)
        for tag, name in plain.items()
    }
    if len(set(files.values())) < len(files):  # a tag spelled like another's name with its hash
        return {tag: _with_hash(name, tag, 16) for tag, name in plain.items()}
    return files


def _with_hash(name: str, tag: str, length: int) -> str:
    stem = name[: LONGEST_FILE_NAME - length - 1].strip("-") or "tag"
    return f"{stem}-{hashlib.sha256(tag.encode()).hexdigest()[:length]}"


def _arguments(operation: Operation) -> list[tuple[str, bool, str]]:
    """(name, required, description) of the tool's arguments, in the schema's order."""
    schema = tools.input_schema(operation)
    needed = set(schema.get("required", ()))
    controls = operation.controls
    needed |= {name for name in (controls.confirm,) if name}
    if operation.idempotency.mode == "required" and controls.idempotency_key:
        needed.add(controls.idempotency_key)
    return [(name, name in needed, _argument_text(part)) for name, part in schema["properties"].items()]


def _argument_text(schema: Any) -> str:
    """The argument's own description, or the fields of an object that has none."""
    if not isinstance(schema, dict):
        return ""
    if schema.get("description"):
        return plain(str(schema["description"]))
    needed = schema.get("required", ())
    names = schema.get("properties", {})
    fields = [f"`{in_code(name)}`" + (" (required)" if name in needed else "") for name in names]
    return "an object with " + ", ".join(fields) if fields else ""


def _readme(compiled: Compiled, facts: dict[str, str]) -> Iterator[EmittedFile]:
    values = {
        "service": compiled.air.service,
        "bundle": facts,
        "harnesses": [(harness, harness.names(compiled.air.service.id)) for harness in compiled.harnesses],
        "title": _title(compiled.air.service),
        "operations": compiled.air.operations,
        "credentials": [(scheme, credentials.words(scheme)) for scheme in credentials.needed(compiled.air)],
        "in_code": in_code,
        "plain": plain,
    }
    yield EmittedFile("README.md", _render("bundle_readme.md.j2", values), "rendered")


def _bundle_facts(compiled: Compiled, facts: dict[str, str], files: list[EmittedFile]) -> dict[str, Any]:
    return {
        "anvil": 1,
        "compiler": metadata.version("anvil-generator"),
        "service": compiled.air.service.id,
        "version": facts["version"],
        "revision": compiled.revision,
        "harnesses": {
            harness.id: harness.verified.model_dump(include={"minimum", "newest"})
            for harness in compiled.harnesses
        },
        "files": {
            file.path: hashlib.sha256(file.data).hexdigest()
            for file in sorted(files, key=lambda one: one.path)
        },
    }


def _render(template: str, values: dict[str, Any]) -> bytes:
    text = (resources.files("anvil_generator") / "templates" / template).read_text(encoding="utf-8")
    return harnesses.environment().from_string(text).render(values).encode()


def _dump(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=True) + "\n").encode("ascii")
