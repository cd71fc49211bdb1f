"""OpenAI Codex: its PreToolUse hook, its plugin files, and what we rely on (contract.toml)."""
