"""``anvil compile``: document and manifest in, bundle out."""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, get_args

import typer

from anvil_generator import manifest, manifest_edit
from anvil_generator.bundle import plan
from anvil_generator.commands import flags
from anvil_generator.compiler import Compiled, compile_project
from anvil_generator.errors import failure
from anvil_generator.files import write_tree
from anvil_generator.manifest import HumanApprovalPolicy
from anvil_generator.occupied import foreign
from anvil_generator.project import Project, open_project
from anvil_generator.report import left_out, report, summary
from anvil_generator.sources import yaml_text
from anvil_generator.yamlfiles import YamlFile


def compile_command(
    target: Annotated[
        Path, typer.Argument(help="A project folder, or an API document.", metavar="PROJECT|SPEC")
    ],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder; replaced when it holds a bundle.")],
    manifest_path: Annotated[Path | None, typer.Option("--manifest", help="A manifest elsewhere.")] = None,
    approvals_path: Annotated[Path | None, typer.Option("--approvals", help="Approvals elsewhere.")] = None,
    service: Annotated[
        str | None, typer.Option("--service", help="The service id, at most 16 characters.")
    ] = None,
    human_approval: Annotated[
        str | None, typer.Option("--human-approval", help="none, unsafe or all; written into anvil.yaml.")
    ] = None,
    tags: flags.Tags = None,
    paths: flags.Paths = None,
    operations: flags.Operations = None,
    refs_within: flags.RefsWithin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Compile a project or a document into a bundle."""
    gc.disable()  # all that is made stays until the end: looking for garbage costs a third and finds none
    policy = _policy(human_approval)
    if policy and not (manifest_path or target.is_dir()):
        message = "a bare document has no anvil.yaml to write this into; give one with --manifest"
        raise failure("usage", message, "--human-approval", usage=True)
    project = open_project(target, manifest_path, approvals_path, refs_within)
    if policy:
        project = _with_policy(project, manifest_path or target / manifest.FILE_NAME, policy)
    _refuse_foreign(out)
    compiled = compile_project(project, service, flags=flags.selection(tags, paths, operations))
    files = plan(compiled, project.manifest.author)
    write_tree(out, {file.path: file.data for file in files})
    if policy:
        manifest_edit.set_human_approval(manifest_path or target / manifest.FILE_NAME, policy)
    if as_json:
        print(json.dumps({"ok": True, "bundle": str(out), **report(compiled)}, indent=2))
    else:
        _tell(compiled, out, len(files))


def _with_policy(project: Project, path: Path, policy: HumanApprovalPolicy) -> Project:
    """As it will be when the policy is written down, so that a compile without the flag gives the same."""
    edited = manifest_edit.with_human_approval(path.read_text(encoding="utf-8"), policy)
    file = YamlFile(project.manifest_file.name, yaml_text.parse(edited, tags=False))
    said = project.manifest.model_copy(update={"human_approval": policy})
    return replace(project, manifest=said, manifest_file=file)


def _policy(value: str | None) -> HumanApprovalPolicy | None:
    for policy in get_args(HumanApprovalPolicy):
        if value == policy:
            return policy  # type: ignore[no-any-return]
    if value is None:
        return None
    raise failure("usage", "takes none, unsafe or all", "--human-approval", usage=True)


def _refuse_foreign(out: Path) -> None:
    """Replace only what a compile wrote: anything else in the folder is the user's."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise failure(
            "out_taken", "is there and is not a folder; give --out another name", str(out), usage=True
        )
    if not out.is_dir():
        return
    found = foreign(out)
    if found:
        message = f"holds {found}; move it away, or choose an empty or a new folder"
        raise failure("out_taken", message, str(out), usage=True)


def _tell(compiled: Compiled, out: Path, files: int) -> None:
    for line in (*compiled.problems, *left_out(compiled)):
        print(line, file=sys.stderr)
    print(summary(compiled))
    for one in compiled.contracted:
        if one.loosened:
            print(f"loosened: {one.operation.id}: {'; '.join(one.loosened)} (because: {one.because})")
    if not compiled.revision_recorded:
        print(f"revision {compiled.revision}: this contract is not the one recorded in approvals.yaml")
    print(f"wrote {files} files to {out}")
