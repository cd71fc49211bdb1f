"""The official suite runs in a nox session of its own, which installs it from npm."""

import os

collect_ignore = [] if os.environ.get("ANVIL_MCP_SUITE") else ["test_official_suite.py"]
