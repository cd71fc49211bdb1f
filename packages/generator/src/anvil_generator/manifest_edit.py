"""Changes ``anvil.yaml`` and keeps its comments and layout."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from anvil_generator.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_generator.manifest import HumanApprovalPolicy


def set_human_approval(path: Path, policy: HumanApprovalPolicy) -> None:
    """Write the policy down, so that a compile without the flag keeps it. Raises OSError."""
    text = path.read_text(encoding="utf-8")
    edited = with_human_approval(text, policy)
    if edited != text:
        write_file(path, edited.encode())


def with_human_approval(text: str, policy: HumanApprovalPolicy) -> str:
    """The manifest's text with the policy in it; the same text where it says so already."""
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    data = editor.load(text)
    if data.get("human_approval", "none") == policy:
        return text
    data["human_approval"] = policy
    out = io.StringIO()
    editor.dump(data, out)
    return out.getvalue()
