"""The decision core that every Anvil hook runs: one catalog entry and one call in, one decision out.

Copied into the bundle and started for each call as ``python3 -I -S -B``: standard library only, Python 3.9 or
newer, and no ``json`` on its usual way, which pulls in ``re`` and doubles the start.
"""

PASS, DENY, ASK = "pass", "deny", "ask"

NEEDS_ALL = "{tool} was not sent. It needs all of this in one call:\n{needs}"
NOT_SENT = "{tool} was not sent: {detail}"
NOT_AN_OBJECT = "The arguments are not an object."
MEND = "Reinstall the bundle, or compile it again."
REFUSALS = {  # those that only the executor gives stand in anvil_runtime.words
    "unknown_operation": "{tool} is not an operation of this API. Call only the tools that are listed.",
    "operation_not_approved": "{tool} was not sent: a person has not approved this operation (its state is "
    "{state}). Do not retry. A person can review it and approve it in the project's approvals.yaml.",
    "invalid_arguments": "{tool} was not sent: its arguments do not fit.\n{needs}",
    "confirmation_required": NEEDS_ALL,
    "human_approval_required": "{tool} was not sent: it needs a person's approval, not an argument. {how}",
    "idempotency_key_required": NEEDS_ALL,
    "idempotency_key_malformed": NEEDS_ALL,
    "arguments_not_canonical": NOT_SENT,
    "state_unwritable": NOT_SENT,
    "catalog_unusable": "{tool} was not sent: the catalog of approved operations cannot be used: "
    "{detail} " + MEND,
}
ASK_A_PERSON = "Ask the user to run it themselves; do not retry."
ALLOW = "A person can run it: `anvil allow {id}`, or `python3 {root}/mcp/server.py allow {id}`. Do not retry."
NOTE = "approval_note"  # the argument that brings the contract's sentence into a harness's own dialog
HEADER_START, HEADER_END, TAIL = b'{"anvil": 1, ', b'"operations": [\n', b"\n]}\n"
LINE_START = b'{"tool": "'
LARGEST_INTEGER, LONGEST_LINE, LARGEST_FILE, KEPT_FILES = 2**53, 2**20, 2**16, 100


class Unusable(Exception):
    """The catalog is missing, cut short or not of the form that the compiler writes."""


class Decision:
    """What the contract says of one call: ``verb`` PASS, DENY or ASK, ``code`` a key of REFUSALS.

    ``reason``: for the model, or of ASK the note for the person; ``context``: a line beside a pass.
    """

    def __init__(self, verb, code=None, reason=None, required=(), context=None):
        self.verb, self.code, self.reason = verb, code, reason
        self.required, self.context, self.about = list(required), context, {}


def refusal(code, tool, **parts):
    """The text of a refusal: the same words in the hook and in the executor."""
    return REFUSALS[code].format_map({"tool": tool, **parts})


def needs(required, look=None):
    """What is missing, one line each, for the texts of REFUSALS."""
    form = "- {argument} ({type}): {problem} Example: {shown}"
    lines = [form.format_map({**one, "shown": dumps(one["example"])}) for one in required]
    return "\n".join([*lines, look] if look else lines)


def look_first(dry_run, preview):
    """The line that offers to see a request before it is sent, by an argument or another tool, or None."""
    way = f"call it again with {dry_run}: true (boolean)" if dry_run else preview and f"call {preview}"
    return f"To see the exact request without sending it: {way}." if way else None


def deny(code, tool, required=(), look=None, **parts):
    return Decision(DENY, code, refusal(code, tool, needs=needs(required, look), **parts), required)


def loads(text):
    """Data from JSON text. Raises ValueError, also for NaN and infinities, which JSON does not have."""
    text = text.strip(" \t\r\n")
    try:
        from _json import make_scanner  # the C parts alone cost a hundredth of what json costs

        context = type("Context", (), {"strict": True, "object_hook": None, "object_pairs_hook": None})
        context.parse_float, context.parse_int, context.parse_constant = float, int, int  # no int is NaN
        value, end = make_scanner(context)(text, 0)
        if end == len(text):
            return value
    except Exception:  # whatever went wrong in there, json decides
        pass
    import json

    return json.loads(text, parse_constant=int)


def dumps(value, sort=True):
    """Canonical JSON text: ASCII, keys sorted, no spaces. Raises ValueError for NaN and infinities."""
    try:
        from _json import encode_basestring_ascii, make_encoder

        encode = make_encoder(None, None, encode_basestring_ascii, None, ":", ",", sort, False, False)
        return "".join(encode(value, 0))
    except Exception:
        import json

        return json.dumps(value, sort_keys=sort, separators=(",", ":"), allow_nan=False)


def canonical(value):
    """The value with integral floats folded; ValueError for what two JSON readers could read differently."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("text with a lone surrogate is not canonical")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        if not abs(value) <= LARGEST_INTEGER:  # nor is NaN
            raise ValueError("NaN, infinities and numbers beyond 2^53 are not canonical")
        return int(value) if value == int(value) else value
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {canonical(key): canonical(item) for key, item in value.items()}
    raise ValueError(f"{type(value).__name__} is not JSON")


def sha256(text):
    """In hex, of ASCII text. The C part alone: hashlib loads OpenSSL, and costs a fifth of a start."""
    try:
        from _sha2 import sha256 as hashed  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from _sha256 import sha256 as hashed  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            from hashlib import sha256 as hashed
    return hashed(text.encode("ascii")).hexdigest()


def digest(tool, args):
    """What binds an approval to one call: over the name and the canonical arguments. Raises ValueError."""
    return sha256(tool + "\n" + dumps(canonical(args)))


def state_folder(name):
    """A service's folder, below the real home (a project can set HOME), or a whole path. Raises OSError."""
    import posix  # os costs a fifteenth of a start

    try:
        from pwd import getpwuid

        home = getpwuid(posix.getuid()).pw_dir
    except (ImportError, KeyError):
        home = posix.environ.get(b"HOME", b"").decode()
    folder = name if name.startswith("/") else f"{home}/.local/state/anvil/{name}"
    for end in [at for at, character in enumerate(folder + "/") if character == "/" and at]:
        try:
            posix.mkdir(folder[:end], 0o700)
        except OSError:  # it is there, or the next line says what is wrong
            pass
    status, here, root, up = posix.lstat(folder), posix.stat("."), posix.stat("/"), folder
    if status.st_mode & 0o170077 != 0o040000 or status.st_uid != posix.getuid():
        raise OSError(f"{folder} must be a folder of yours that nobody else can open (chmod 700).")
    while posix.stat(up)[1:3] != root[1:3]:  # inode and device, on the real way up, whatever is a link
        if posix.stat(up)[1:3] == here[1:3]:
            raise OSError(f"{folder} is inside the working folder, where a project could change it.")
        up += "/.."
    return folder


def put(path, text, append=False):
    """Write ASCII text in one call, following no link: a new file, or more of a trail. Raises OSError."""
    import posix

    how = (posix.O_APPEND if append else posix.O_EXCL) | posix.O_NONBLOCK  # nobody reads a pipe in its place
    how |= posix.O_WRONLY | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    with open(posix.open(path, how, 0o600), "wb", buffering=0) as file:
        if file.write(text.encode("ascii")) != len(text):
            raise OSError(path + " was not written whole.")


def leave(folder, kind, name, data):
    """Put data, and the time, into ``folder/kind/name.json``, whole; the oldest files go. Raises OSError."""
    import posix
    from time import time

    text, place = dumps({**data, "time": time()}) + "\n", state_folder(f"{folder}/{kind}") + "/"
    if len(text) > LARGEST_FILE:
        raise OSError(f"it would take {len(text)} bytes, of at most {LARGEST_FILE}.")
    unfinished = f"{place}.{name}.{posix.urandom(4).hex()}"
    put(unfinished, text)
    posix.rename(unfinished, f"{place}{name}.json")
    try:
        kept = sorted(posix.listdir(place), key=lambda one: posix.lstat(place + one).st_mtime)
        for old in kept[:-KEPT_FILES]:
            posix.unlink(place + old)
    except OSError:  # another process was first
        pass


def hold(state, about, args, root):
    """Leave a call for a person to run, and say how. ``about``: a decision's. One form for both rings."""
    from posix import urandom

    name = urandom(4).hex()
    try:
        call = {**about, "id": name, "bundle": root, "arguments": canonical(args)}
        leave(state_folder(state), "pending", name, call)
    except (OSError, ValueError):
        return ASK_A_PERSON
    return ALLOW.format(id=name, root=root)


def guard(root, harness, state, tool, args, call_id, human, record=False, decision=None):
    """A hook's decision; a held call, the record that one is asked and the trail's line are left in state."""
    from time import gmtime, strftime, time

    decision, mark = decision or evaluate(root + "/catalog.json", tool, args, {"human": human}), None
    try:
        mark = digest(tool, args)
    except (ValueError, RecursionError):
        pass
    if decision.code == "human_approval_required" and decision.verb == DENY:
        decision.reason = refusal(decision.code, tool, how=hold(state, decision.about, args, root))
    if decision.verb == ASK and record:
        seen = {**decision.about, "call_id": call_id, "digest": mark, "note": decision.reason}
        try:
            leave(state_folder(state), "approvals", sha256(call_id), seen)
        except (OSError, ValueError, AttributeError) as error:  # the last: a call without an id
            detail = f"that a person is asked cannot be recorded: {error} Tell the user; do not retry."
            decision = deny("state_unwritable", tool, detail=detail)
    now, code = time(), decision.code if decision.verb == DENY else None
    line = {"time": strftime("%Y-%m-%dT%H:%M:%S", gmtime(now)) + f".{int(now % 1 * 1000):03}Z",
            "source": "hook " + harness, "call_id": call_id[:128] if isinstance(call_id, str) else None,
            "tool": tool[:128], "verb": decision.verb, "code": code, "digest": mark,
            "trace_id": None, "status": None, "ms": None}  # fmt: skip
    try:
        put(state_folder(state) + "/trail.jsonl", dumps(line) + "\n", append=True)
    except Exception:  # the line is for later: what was decided stands
        pass
    return decision


def read_header(file):
    """(header, first byte of the lines, first byte after them) of an open catalog. Raises Unusable."""
    line = file.readline(LONGEST_LINE)
    if not (line.startswith(HEADER_START) and line.endswith(HEADER_END)):
        raise Unusable("its first line is not a catalog's header.")
    end = file.seek(0, 2)
    file.seek(max(0, end - len(TAIL)))
    if end < len(line) + len(TAIL) - 1 or file.read() != TAIL:
        raise Unusable("it is cut short, or does not end as a catalog does.")
    try:
        header = loads((line + TAIL[1:]).decode("utf-8"))
    except ValueError:
        raise Unusable("its header is not JSON.") from None
    return header, len(line), end - len(TAIL) + 1


def find(file, start, end, tool):
    """The entry of one tool by bisection over the sorted lines, or None. Raises Unusable."""
    wanted = tool.encode("utf-8", "surrogatepass")
    while start < end:
        middle = (start + end) // 2
        file.seek(middle - 1)  # the header stands before the lines, so there is always a byte before
        file.readline(LONGEST_LINE)
        if (at := file.tell()) >= end:
            end = middle
            continue
        line = file.readline(LONGEST_LINE)
        name = line[len(LINE_START) : line.find(b'"', len(LINE_START))]
        if not (line.startswith(LINE_START) and line.endswith(b"\n")):
            raise Unusable("a line in it is not an operation.")
        if name == wanted:
            return parse_line(line, tool)
        start, end = (at + len(line), end) if name < wanted else (start, middle)
    return None


def parse_line(line, tool):
    """The entry that one line holds. Raises Unusable when it is not the entry of that tool."""
    try:
        entry = loads(line.decode("utf-8").rstrip(",\n"))
    except ValueError:
        raise Unusable(f"the line of {tool} is not JSON.") from None
    if entry.get("tool") != tool or not {"id", "state", "idempotency", "confirmation"} <= entry.keys():
        raise Unusable(f"the line of {tool} is not an operation.")
    return entry


def evaluate(catalog_path, tool, args, surface):
    """The decision for one call of our tools, read from the catalog file. ``args`` is any JSON value."""
    try:
        with open(catalog_path, "rb") as file:
            header, start, end = read_header(file)
            preview, service = header.get("preview"), header["service"]
            name = args.get("operation") if tool == preview and isinstance(args, dict) else tool
            name = name if isinstance(name, str) else tool
            entry = find(file, start, end, name)
            if tool == preview:
                decision = check_state(entry, name) or Decision(PASS)
            else:
                decision = decide(entry, args, surface, tool, preview)
            decision.about = {"service": service["id"], "origin": service["origin"], "tool": tool,
                              "contract_digest": header["contract_digest"],
                              "operation": entry and entry["id"]}  # fmt: skip
            return decision
    except (OSError, Unusable) as error:
        detail = f"{error.strerror}." if isinstance(error, OSError) else str(error)
        return deny("catalog_unusable", tool, detail=f"{catalog_path}: {detail}")


def check_state(entry, tool):
    """A denial when the operation is unknown or not approved, else None."""
    if entry is None:
        return deny("unknown_operation", tool)
    if entry["state"] != "approved":
        return deny("operation_not_approved", tool, state=entry["state"])
    return None


def decide(entry, args, surface, tool="this tool", preview=None):
    """The Decision on one call. ``entry``: the catalog's line or None; ``surface``: ``human``, ``how``."""
    tool = entry["tool"] if entry else tool
    if refused := check_state(entry, tool):
        return refused
    if not isinstance(args, dict):
        lacking = [need("invalid_arguments", "(all)", "object", {}, NOT_AN_OBJECT)]
        return deny("invalid_arguments", tool, lacking)
    human = entry["confirmation"]["human_approval"]
    dry_run = None if human else entry["dry_run_argument"]
    if dry_run and args.get(dry_run) is True:
        return Decision(PASS)
    if lacking := missing(entry, args):
        return deny(lacking[0]["code"], tool, lacking, look_first(dry_run, preview))
    if human:
        try:
            canonical(args)
        except ValueError as error:
            return deny("arguments_not_canonical", tool, detail=f"{error}. Send other arguments.")
        if surface.get("human"):
            return Decision(ASK, "human_approval_required", approval_note(entry))
        return deny("human_approval_required", tool, how=surface.get("how") or ASK_A_PERSON)
    return Decision(PASS, context=context_line(entry))


def missing(entry, args):
    """Everything that the contract misses in the call, in the order of its gates."""
    found = []
    confirmation, idempotency = entry["confirmation"], entry["idempotency"]
    human, name = confirmation["human_approval"], entry["dry_run_argument"]
    if name and not human and not isinstance(args.get(name, False), bool):
        problem = f"must be a boolean, not {kind(args[name])}."
        found.append(need("invalid_arguments", name, "boolean", True, problem))
    if human and NOTE in args:
        found.append(need("invalid_arguments", NOTE, "none", None, "is not an argument. Leave it out."))
    name = confirmation["argument"]
    if confirmation["required"] and not human and args.get(name) is not True:
        problem = f"must be the boolean true, not {kind(args[name])}." if name in args else "missing."
        problem += " Set it only if the user asked for exactly this. Why it is asked: "
        found.append(need("confirmation_required", name, "boolean", True, problem + confirmation["reason"]))
    name, form = idempotency["argument"], idempotency["form"]
    value = args.get(name)
    problem = key_problem(value, form) if idempotency["mode"] == "required" or value is not None else None
    if problem:
        code = "idempotency_key_required" if value is None else "idempotency_key_malformed"
        problem += " A new one for each intended change; the same one only to repeat the same call."
        type_, example = describe_key(form)
        found.append(need(code, name, type_, example, problem))
    return found


def need(code, argument, type_, example, problem):
    """One thing that is missing or wrong, with the code that it alone is refused with."""
    return {"code": code, "argument": argument, "type": type_, "problem": problem, "example": example}


def key_problem(value, form):
    """What is wrong with an idempotency key, or None. A key goes into a header, so visible ASCII only."""
    if value is None:
        return "missing."
    if not isinstance(value, str):
        return f"must be a string, not {kind(value)}."
    if not form["min_length"] <= len(value) <= form["max_length"]:
        return f"has {len(value)} characters."
    if any(not "!" <= character <= "~" for character in value):
        return "has a space or a character that is not visible ASCII."
    if form["format"] == "uuid":
        groups = [len(group) for group in value.split("-")]
        if groups != [8, 4, 4, 4, 12] or set(value.lower()) - set("0123456789abcdef-"):
            return "is not a UUID."
    return None


def describe_key(form):
    """What a key of this form is, and an example of one."""
    if form["format"] == "uuid":
        return "string, a UUID", "3f0e7c52-9b1d-4c53-8a44-5d1b6a0f2e11"
    example = "order-4711-attempt-1".ljust(form["min_length"], "0")[: form["max_length"]]
    return f"string of {form['min_length']} to {form['max_length']} visible ASCII characters", example


def kind(value):
    """A value as a refusal names it: ``the number 5``, ``null``."""
    names = {bool: "boolean", str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return "null" if value is None else f"the {names[type(value)]} {dumps(value)[:40]}"


def approval_note(entry):
    """What a person must know of the operation before a yes: from the contract alone, never the model's."""
    undone = {True: "it can be undone", False: "it cannot be undone"}
    undo = undone.get(entry["reversible"], "it may not be possible to undo it")
    return f"{entry['title']}. Risk: {entry['risk']}; {undo}. {entry['confirmation']['reason']}".strip()


def context_line(entry):
    """One line for the model beside a clean call that is risky, irreversible or deprecated, else None."""
    said = []
    if entry["effect"] == "mutation" and entry["risk"] in ("high", "financial", "destructive"):
        said.append(f"its risk is {entry['risk']}")
    if entry["effect"] == "mutation" and entry["reversible"] is False:
        said.append("it cannot be undone")
    if entry.get("deprecated"):
        said.append("the API has marked it as deprecated")
    return f"{entry['tool']}: {', '.join(said)}." if said else None
