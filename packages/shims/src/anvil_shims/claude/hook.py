"""Claude Code's PreToolUse event on stdin -> the contract's decision -> Claude Code's answer on stdout.

Called as ``python3 -I -S -B hook.py claude SERVICE SERVER STATE``, for example ``claude payments
plugin:anvil-payments:api payments-0123456789ab``. Says nothing of a call that passes, so that it grants none,
else one JSON object. Ends with 10 when it decided; the shell around it turns all else into 2, which denies.
"""

import sys

try:
    from _signal import alarm  # the module signal would import enum
    from posix import _exit as leave  # nothing is left to flush: clearing up costs a fifth of a bare start
    from posix import environ
except ImportError:  # another system: the harness's own time limit holds
    alarm, leave, environ = None, sys.exit, {}  # type: ignore[assignment]

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
            data = core.dumps({"hookSpecificOutput": said}, sort=False).encode("ascii")
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
    spelled = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in server)
    tool, prefix, said = event["tool_name"], f"mcp__{spelled}__", {"hookEventName": "PreToolUse"}
    if event["hook_event_name"] != "PreToolUse" or not tool.startswith(prefix):
        return None
    tool, args, call_id = tool[len(prefix) :], event.get("tool_input", {}), event.get("tool_use_id")
    seen, foreign = event.get("mcp_server"), None
    if seen is not None and (seen.get("name") != server or seen.get("source") != "plugin"):
        other = f"{seen.get('name')} ({seen.get('source')}), not by {server}."
        foreign = core.Decision(core.DENY, None, f"{tool} is served by {other} Remove it; do not retry.")
    attended = environ.get(b"CLAUDE_CODE_SESSION_ATTENDED") != b"0"
    decision = core.guard(root, harness, state, tool, args, call_id, attended, True, foreign)
    if decision.verb == core.DENY:
        return dict(said, permissionDecision="deny", permissionDecisionReason=decision.reason)
    if decision.verb == core.ASK:  # the dialog shows no reason, but every argument
        said.update(permissionDecision="ask", permissionDecisionReason=decision.reason)
        return dict(said, updatedInput={**args, core.NOTE: decision.reason})
    return dict(said, additionalContext=decision.context) if decision.context else None


if __name__ == "__main__":
    leave(main(sys.argv))
