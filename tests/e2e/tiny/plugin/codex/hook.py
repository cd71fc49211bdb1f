import json
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
try:
    core: dict = {}
    exec((root / "plugin" / "hookcore.py").read_text(encoding="utf-8"), core)
    event = json.load(sys.stdin)
    catalog = json.loads((root / "catalog.json").read_text(encoding="utf-8"))
    entry = catalog.get(event["tool_name"].rsplit("__", 1)[1])
    missing = ["approval"] if entry is None else core["missing"](entry, event["tool_input"])
except Exception as error:  # noqa: BLE001 - whatever it was, the call is denied
    print(f"{root / 'catalog.json'}: {error}", file=sys.stderr)
    sys.exit(2)
if missing:
    reason = f"missing: {', '.join(missing)}"
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    print(json.dumps({"hookSpecificOutput": answer}))
