"""Checks of the decision core that run on any interpreter from 3.9: standard library only, no pytest."""

from __future__ import annotations

import json
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
NOBODY = {"human": False, "how": None}


def table(name):
    return json.loads((CASES / name).read_text(encoding="utf-8"))


def entries():
    """The entries of the decision cases by tool name."""
    return {entry["tool"]: entry for entry in table("decide.json")["entries"]}


def catalog_bytes(found, preview=None):
    """A catalog of these entries, in the form of the design's section 6, written without the package."""
    header = {
        "anvil": 1,
        "service": {"id": "shop", "origin": "https://shop.example"},
        "contract_digest": "",
        "prefixes": {},
        "preview": preview,
    }
    lines = [json.dumps(entry) for entry in sorted(found, key=lambda entry: entry["tool"])]
    text = (
        json.dumps(header)[:-1] + ', "operations": [\n' + ",\n".join(lines) + ("\n" if lines else "") + "]}\n"
    )
    return text.encode("ascii")


def decide_case(core, case, known):
    entry = known[case["entry"]] if case["entry"] else None
    surface = case.get("surface", NOBODY)
    return core.decide(entry, case["args"], surface, preview=case.get("preview"))


def differences(decision, case):
    """What the decision has that the case does not say, in words; empty when they agree."""
    reason = decision.reason or ""
    wanted = {
        "verb": case["verb"],
        "code": case.get("code"),
        "required": case.get("required", []),
        "context": case.get("context"),
    }
    got = {
        "verb": decision.verb,
        "code": decision.code,
        "required": [one["argument"] for one in decision.required],
        "context": decision.context,
    }
    wrong = [f"{key}: {got[key]!r}, not {wanted[key]!r}" for key in wanted if got[key] != wanted[key]]
    wrong += [f"reason lacks {part!r}" for part in case.get("text", ()) if part not in reason]
    wrong += [f"reason has {part!r}" for part in case.get("without", ()) if part in reason]
    wrong += [
        f"reason does not tell of {one['argument']}"
        for one in decision.required
        if one["argument"] not in reason
    ]
    if bool(reason) != (case["verb"] != "pass"):
        wrong.append(f"reason: {reason!r}")
    return wrong
