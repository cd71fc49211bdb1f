"""API documents in, found operations out: every one compiled, withheld with a reason, or failed."""

from anvil_generator.sources.assemble import assemble, reachable
from anvil_generator.sources.document import read, read_bytes
from anvil_generator.sources.model import (
    Document,
    FailedOperation,
    FoundOperation,
    Home,
    Reason,
    Server,
    WithheldOperation,
)
from anvil_generator.sources.servers import origin

__all__ = [
    "Document",
    "FailedOperation",
    "FoundOperation",
    "Home",
    "Reason",
    "Server",
    "WithheldOperation",
    "assemble",
    "origin",
    "reachable",
    "read",
    "read_bytes",
]
