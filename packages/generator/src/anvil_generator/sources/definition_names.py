"""Names under ``$defs``: the same for the same place, whatever else the document holds."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from anvil_generator.sources import pointers
from anvil_generator.sources.pointers import File

if TYPE_CHECKING:
    from anvil_generator.sources.model import Kind
    from anvil_generator.sources.pointers import Pointer

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,79}")
_LOOKS_HASHED = re.compile(r".*_[0-9a-f]{12}")


@lru_cache(maxsize=65_536)
def name(pointer: Pointer, kind: Kind = "openapi-3.1") -> str:
    """A component's own name where it is plain; else the last part of the pointer and a hash of it all.

    A plain name that looks like one of the second kind is hashed too: two places never share a name.
    """
    last = pointer[-1] if pointer else "root"
    if isinstance(last, File):  # the whole of a file, as schemas are often kept
        last = PurePosixPath(last).stem
    is_component = pointer[:-1] == (("definitions",) if kind == "swagger-2.0" else ("components", "schemas"))
    if is_component and _PLAIN.fullmatch(last) and not _LOOKS_HASHED.fullmatch(last):
        return last
    digest = hashlib.sha256(pointers.write(pointer).encode("utf-8", "replace")).hexdigest()[:12]
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", last)[:60].strip("_") or "schema"
    return f"{stem}_{digest}"
