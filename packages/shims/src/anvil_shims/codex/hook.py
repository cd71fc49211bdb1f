"""Codex's PreToolUse event on stdin -> the contract's decision -> Codex's answer on stdout.

Called as ``python3 -I -S -B hook.py codex SERVICE SERVER STATE``, for example ``codex payments payments
payments-0123456789ab``.
Prints nothing for a call that passes, so that it never grants anything, and for a denial one JSON object
with the three keys that Codex knows and no other: it lets the call run when it sees a fourth. Codex also
lets it run after any other failure of a hook, so this ends with 10 when it decided, and the shell around
it turns anything else into exit code 2 with a reason on stderr, which denies (facts: codex.md 5 and 6).
"""

import sys

try:
    from _signal import alarm  # the module signal would import enum
    from posix import _exit as leave  # nothing is left to flush: clearing up costs a fifth of a bare start
except ImportError:  # another system: the shell's own time limit holds
    alarm, leave = None, sys.exit  # type: ignore[assignment]

DECIDED, FAILED = 10, 2
SECONDS = 8


def main(argv):
    harness, service, server, state = argv[1:]
    root = __file__.rsplit("/", 3)[0]
    try:
        if alarm:
            alarm(SECONDS)  # die by SIGALRM rather than hang
        core = load(root + "/plugin/hookcore.py")
        said = answer_to(core, core.loads(read_event()), server, root + "/catalog.json", state)
        if said:
            write_once(said.encode("ascii"))
    except BaseException as error:  # whatever happened: no decision, no call
        said = f"anvil: the {harness} guard of {service} failed: {type(error).__name__}: {error}."
        sys.stderr.write(f"{said} Reinstall the bundle in {root}.\n")
        return FAILED
    return DECIDED


def load(path):
    """Compile the core from its source text: a bytecode cache could have been planted beside it."""
    core = type(sys)("hookcore")
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), core.__dict__)
    return core


def read_event():
    with open(0, "rb", closefd=False) as stdin:
        return stdin.read().decode("utf-8")


def answer_to(core, event, server, catalog, state):  # noqa: ARG001
    """The JSON text to print, or "" for a call that is not ours or that passes without a word."""
    tool = own_tool(event["tool_name"], server)
    if event["hook_event_name"] != "PreToolUse" or tool is None:
        return ""
    surface = {"human": False, "how": core.ASK_A_PERSON}
    decision = core.evaluate(catalog, tool, event.get("tool_input", {}), surface)
    if decision.verb != core.PASS:
        return answer(core, permissionDecision="deny", permissionDecisionReason=decision.reason)
    return answer(core, additionalContext=decision.context) if decision.context else ""


def own_tool(name, server):
    """The tool's name behind our prefix, also one with the hex digits that a name collision adds, or None."""
    spelled = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in server)
    if not name.startswith(f"mcp__{spelled}_"):
        return None
    rest = name[len(f"mcp__{spelled}_") :]
    if rest[12:14] == "__" and not set(rest[:12]) - set("0123456789abcdef"):
        return rest[14:]
    return rest[1:] if rest.startswith("_") else None


def answer(core, **said):
    return core.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}})


def write_once(data):
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        if stdout.write(data) != len(data):
            raise OSError("the answer was not taken whole")


if __name__ == "__main__":
    leave(main(sys.argv))
