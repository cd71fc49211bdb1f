"""The executor and the MCP server of a bundle: the gates that hold with no hook installed."""
