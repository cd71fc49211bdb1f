"""Codex's PreToolUse event on stdin -> the contract's decision -> Codex's answer on stdout.

Called as ``python3 -I -S -B hook.py codex SERVICE SERVER STATE``, SERVER as ``payments``. Says nothing of
what passes, so that it grants nothing; a denial has the three keys that Codex knows: with a fourth it runs.
Ends with 10 when it decided; the shell around it turns all else into 2, which denies.
"""

import sys

try:
    from _signal import alarm  # the module signal would import enum
    from posix import _exit as leave  # nothing is left to flush: clearing up costs a fifth of a bare start
except ImportError:  # another system: the shell's own time limit holds
    alarm, leave = None, sys.exit  # type: ignore[assignment]

DECIDED, FAILED, SECONDS = 10, 2, 8


def main(argv):
    harness, service, server, state = argv[1:]
    root = __file__.rsplit("/", 3)[0]
    try:
        if alarm:
            alarm(SECONDS)  # die by SIGALRM rather than hang
        core = type(sys)("hookcore")  # compiled from its text: a bytecode cache could have been planted
        with open(root + "/plugin/hookcore.py", "rb") as file:
            exec(compile(file.read(), file.name, "exec"), core.__dict__)
        with open(0, "rb", closefd=False) as stdin:
            event = core.loads(stdin.read().decode("utf-8"))
        said = answer_to(core, event, harness, server, root, state)
        if said:
            data = core.dumps({"hookSpecificOutput": said}).encode("ascii")
            with open(1, "wb", buffering=0, closefd=False) as stdout:
                if stdout.write(data) != len(data):
                    raise OSError("the answer was not taken whole")  # noqa: TRY301
    except BaseException as error:  # whatever happened: no decision, no call
        said = f"anvil: the {harness} guard of {service} failed: {type(error).__name__}: {error}."
        sys.stderr.write(f"{said} Reinstall the bundle in {root}.\n")
        return FAILED
    return DECIDED


def answer_to(core, event, harness, server, root, state):
    """The answer, or None for a call that is not ours or that passes without a word."""
    tool = own_tool(event["tool_name"], server)
    if event["hook_event_name"] != "PreToolUse" or tool is None:
        return None
    attended = event.get("permission_mode") == "default"  # else the form, which the server asks, is declined
    args, said = event.get("tool_input", {}), {"hookEventName": "PreToolUse"}
    decision = core.guard(root, harness, state, tool, args, event.get("tool_use_id"), attended)
    if decision.verb == core.DENY:
        return dict(said, permissionDecision="deny", permissionDecisionReason=decision.reason)
    return dict(said, additionalContext=decision.context) if decision.context else None


def own_tool(name, server):
    """The tool's name behind our prefix, also one with the hex digits that a name collision adds, or None."""
    spelled = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in server)
    if not name.startswith(f"mcp__{spelled}_"):
        return None
    rest = name[len(f"mcp__{spelled}_") :]
    if rest[12:14] == "__" and not set(rest[:12]) - set("0123456789abcdef"):
        return rest[14:]
    return rest[1:] if rest.startswith("_") else None


if __name__ == "__main__":
    leave(main(sys.argv))
