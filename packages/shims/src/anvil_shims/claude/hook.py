"""Claude Code's PreToolUse event on stdin -> the contract's decision -> Claude Code's answer on stdout.

Called as ``python3 -I -S -B hook.py claude SERVICE SERVER STATE``, for example ``claude payments
plugin:anvil-payments:api payments-0123456789ab``. Prints nothing for a call that passes, so that it never
grants anything, and one JSON object for a denial. Ends with 10 when it decided: the shell around it takes
10 with nothing or one whole answer, and turns anything else, a silent success of a foreign ``python3`` or
a line that it prints included, into exit code 2, which denies in every version of Claude Code.
"""

import sys

try:
    from _signal import alarm  # the module signal would import enum
    from posix import _exit as leave  # nothing is left to flush: clearing up costs a fifth of a bare start
except ImportError:  # another system: the harness's own time limit holds
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
    spelled = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in server)
    prefix = f"mcp__{spelled}__"
    tool = event["tool_name"]
    if event["hook_event_name"] != "PreToolUse" or not tool.startswith(prefix):
        return ""
    seen = event.get("mcp_server")
    if seen is not None and (seen.get("name") != server or seen.get("source") != "plugin"):
        other = f"{seen.get('name')} ({seen.get('source')})"
        return denial(
            core, f"{tool} is served by {other}, not by {server}. Remove that server; do not retry."
        )
    surface = {"human": False, "how": core.ASK_A_PERSON}
    decision = core.evaluate(catalog, tool[len(prefix) :], event.get("tool_input", {}), surface)
    if decision.verb != core.PASS:
        return denial(core, decision.reason)
    return answer(core, additionalContext=decision.context) if decision.context else ""


def denial(core, reason):
    return answer(core, permissionDecision="deny", permissionDecisionReason=reason)


def answer(core, **said):
    return core.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}})


def write_once(data):
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        if stdout.write(data) != len(data):
            raise OSError("the answer was not taken whole")


if __name__ == "__main__":
    leave(main(sys.argv))
