"""The decision core that every Anvil hook runs: one catalog entry and one call in, one decision out.

Standard library only and Python 3.9 or newer, because it is copied into the bundle and started for
each tool call as ``python3 -I -S -B``. It never imports ``json`` on its usual way: that pulls in
``re`` and doubles the start of the interpreter. The catalog's form and the order of the gates are
the design's sections 6 and 7.
"""

PASS, DENY, ASK = "pass", "deny", "ask"

REFUSALS = {
    "unknown_operation": "{tool} is not an operation of this API's contract. Call only the tools that are listed.",
    "operation_not_approved": "{tool} was not sent: a person has not approved this operation (its state is {state}). "
    "Do not retry. A person can review it and approve it in the project's approvals.yaml.",
    "invalid_arguments": "{tool} was not sent: its arguments do not fit.\n{needs}",
    "confirmation_required": "{tool} was not sent. It needs all of this in one call:\n{needs}",
    "human_approval_required": "{tool} was not sent: it needs a person's approval, which no argument can give. {how}",
    "approval_declined": "{tool} was not sent: the person asked did not approve it. Do not retry.",
    "idempotency_key_required": "{tool} was not sent. It needs all of this in one call:\n{needs}",
    "idempotency_key_malformed": "{tool} was not sent. It needs all of this in one call:\n{needs}",
    "idempotency_conflict": "{tool} was not sent: this idempotency key was used before with other arguments.",
    "outcome_unknown": "{tool}: an earlier call with this key may have been carried out. Look before you retry.",
    "arguments_not_canonical": "{tool} was not sent: {detail}",
    "origin_not_allowed": "{tool} was not sent: {detail}",
    "auth_required": "{tool} was not sent: {detail}",
    "state_unwritable": "{tool} was not sent: {detail}",
    "catalog_unusable": "{tool} was not sent: the catalog of approved operations cannot be used: {detail} "
    "Reinstall the bundle, or compile it again.",
    "upstream_error": "{tool}: the API refused or failed: {detail}",
    "upstream_timeout": "{tool}: the API did not answer in time: {detail}",
}
ASK_A_PERSON = "Ask the user to run it themselves; do not retry."
HEADER_START, HEADER_END, TAIL = b'{"anvil": 1, ', b'"operations": [\n', b"\n]}\n"
LINE_START = b'{"tool": "'
LARGEST_INTEGER = 2**53


class Unusable(Exception):
    """The catalog is missing, cut short or not of the form that the compiler writes."""


class Decision:
    """What the contract says of one call.

    ``verb`` is PASS, DENY or ASK; ``code`` a key of REFUSALS, or None when it passes; ``reason`` the
    text for the model; ``required`` a list of ``{"argument", "type", "problem", "example"}``;
    ``context`` one line for the model beside a call that passes, or None.
    """

    __slots__ = ("code", "context", "reason", "required", "verb")

    def __init__(self, verb, code=None, reason=None, required=(), context=None):
        self.verb, self.code, self.reason = verb, code, reason
        self.required, self.context = list(required), context


def refusal(code, tool, **parts):
    """The text of a refusal: the same words in the hook and in the executor."""
    return REFUSALS[code].format_map({"tool": tool, **parts})


def needs(required, see_first=None):
    """What is missing, one line each, for the texts of REFUSALS."""
    lines = [
        "- {argument} ({type}): {problem} Example: {example}".format_map({**need, "example": dumps(need["example"])})
        for need in required
    ]
    return "\n".join([*lines, see_first] if see_first else lines)


def loads(text):
    """Data from JSON text. Raises ValueError, also for NaN and infinities, which JSON does not have."""

    def no_constant(name):
        raise ValueError(name + " is not JSON")

    text = text.strip(" \t\r\n")
    try:
        import _json  # noqa: PLC0415  # the C parts alone cost a hundredth of what json costs

        context = type("Context", (), {"strict": True, "object_hook": None, "object_pairs_hook": None})
        context.parse_float, context.parse_int, context.parse_constant = float, int, staticmethod(no_constant)
        value, end = _json.make_scanner(context)(text, 0)
        if end == len(text):
            return value
    except Exception:  # noqa: BLE001, S110  # whatever went wrong in there, json decides
        pass
    import json  # noqa: PLC0415

    return json.loads(text, parse_constant=no_constant)


def dumps(value):
    """Canonical JSON text: ASCII, keys sorted, no spaces. Raises ValueError for NaN and infinities."""
    try:
        import _json  # noqa: PLC0415

        encode = _json.make_encoder(None, None, _json.encode_basestring_ascii, None, ":", ",", True, False, False)
        return "".join(encode(value, 0))
    except Exception:  # noqa: BLE001
        import json  # noqa: PLC0415

        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value):
    """The value with integral floats folded; ValueError for what two JSON readers could read differently."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("text with a lone surrogate is not canonical") from None
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("NaN and infinities are not canonical")
        if not value.is_integer():
            return value
        value = int(value)
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise ValueError("integers beyond 2^53 are not canonical")
        return value
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {canonical(key): canonical(item) for key, item in value.items()}
    raise ValueError("%s is not JSON" % type(value).__name__)


def digest(args):
    """SHA-256, in hex, of the canonical arguments: what binds an approval to one call. Raises ValueError."""
    import hashlib  # noqa: PLC0415  # costs milliseconds, and few calls need it

    return hashlib.sha256(dumps(canonical(args)).encode("ascii")).hexdigest()


def read_header(file):
    """(header, first byte of the lines, first byte after them) of an open catalog. Raises Unusable."""
    line = file.readline()
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
        file.seek(middle - 1 if middle > start else start)
        if middle > start:
            file.readline()
        at = file.tell()
        if at >= end:
            end = middle
            continue
        line = file.readline()
        name = line[len(LINE_START) : line.find(b'"', len(LINE_START))]
        if not line.startswith(LINE_START):
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
        raise Unusable("the line of %s is not JSON." % tool) from None
    if entry.get("tool") != tool or not {"state", "effect", "idempotency", "confirmation"} <= entry.keys():
        raise Unusable("the line of %s is not an operation." % tool)
    return entry


def evaluate(catalog_path, tool, args, surface):
    """The decision for one call of our tools, read from the catalog file. ``args`` is any JSON value."""
    try:
        with open(catalog_path, "rb") as file:
            header, start, end = read_header(file)
            if tool == header.get("preview"):
                wanted = args.get("operation") if isinstance(args, dict) else None
                entry = find(file, start, end, wanted) if isinstance(wanted, str) else None
                refused = check_state(entry, wanted if isinstance(wanted, str) else tool)
                return refused or Decision(PASS)
            return decide(find(file, start, end, tool), args, surface, tool, header.get("preview"))
    except OSError as error:
        problem = "%s: %s." % (catalog_path, error.strerror)
    except Unusable as error:
        problem = "%s: %s" % (catalog_path, error)
    return Decision(DENY, "catalog_unusable", refusal("catalog_unusable", tool, detail=problem))


def check_state(entry, tool):
    """A denial when the operation is unknown or not approved, else None."""
    if entry is None:
        return Decision(DENY, "unknown_operation", refusal("unknown_operation", tool))
    if entry["state"] != "approved":
        text = refusal("operation_not_approved", tool, state=entry["state"])
        return Decision(DENY, "operation_not_approved", text)
    return None


def decide(entry, args, surface, tool="this tool", preview=None):
    """The contract's word on one call: a Decision.

    ``entry`` is the operation's line of the catalog, or None; ``args`` the call's arguments, any JSON
    value; ``surface`` is ``{"human": bool, "how": str}``: whether a person can be asked here, and how
    else one can approve. The order of the gates is the design's section 7.
    """
    tool = entry["tool"] if entry else tool
    refused = check_state(entry, tool)
    if refused:
        return refused
    if not isinstance(args, dict):
        need = {"argument": "(all)", "type": "object", "problem": "The arguments are not an object.", "example": {}}
        return Decision(DENY, "invalid_arguments", refusal("invalid_arguments", tool, needs=needs([need])), [need])
    human, dry_run = entry["confirmation"]["human_approval"], entry["dry_run_argument"]
    if dry_run and not human and args.get(dry_run) is True:
        return Decision(PASS)
    required = missing(entry, args)
    if required:
        code = required[0]["code"]
        see = "To see the exact request without sending it: "
        if dry_run and not human:
            see += "call it again with %s: true (boolean)." % dry_run
        else:
            see = see + "call %s." % preview if preview else None
        needed = [{key: need[key] for key in need if key != "code"} for need in required]
        return Decision(DENY, code, refusal(code, tool, needs=needs(needed, see)), needed)
    if human:
        text = refusal("human_approval_required", tool, how=surface.get("how") or ASK_A_PERSON)
        return Decision(DENY, "human_approval_required", text)
    return Decision(PASS, context=context_line(entry))


def missing(entry, args):
    """Everything that the contract misses in the call, each with the code it is refused with."""
    found = []
    confirmation, idempotency, dry_run = entry["confirmation"], entry["idempotency"], entry["dry_run_argument"]
    if dry_run and not confirmation["human_approval"] and type(args.get(dry_run, False)) is not bool:
        problem = "must be a boolean, not %s." % kind(args[dry_run])
        found.append(need("invalid_arguments", dry_run, "boolean", problem, True))
    name = confirmation["argument"]
    if confirmation["required"] and not confirmation["human_approval"] and args.get(name) is not True:
        problem = "missing." if name not in args else "must be the boolean true, not %s." % kind(args[name])
        problem += " Set it only if the user asked for exactly this. Why it is asked: " + confirmation["reason"]
        found.append(need("confirmation_required", name, "boolean", problem, True))
    name, form = idempotency["argument"], idempotency["form"]
    if name and (idempotency["mode"] == "required" or args.get(name) is not None):
        problem = key_problem(args.get(name), form)
        if problem:
            code = "idempotency_key_required" if args.get(name) is None else "idempotency_key_malformed"
            problem += " A new one for each intended change; the same one only to repeat the same call."
            example = "3f0e7c52-9b1d-4c53-8a44-5d1b6a0f2e11" if form["format"] == "uuid" else "order-4711-attempt-1"
            found.append(need(code, name, describe_form(form), problem, example[: form["max_length"]]))
    return found


def need(code, argument, type_, problem, example):
    return {"code": code, "argument": argument, "type": type_, "problem": problem, "example": example}


def key_problem(value, form):
    """What is wrong with an idempotency key, or None. A key goes into a header, so visible ASCII only."""
    if value is None:
        return "missing."
    if not isinstance(value, str):
        return "must be a string, not %s." % kind(value)
    if not form["min_length"] <= len(value) <= form["max_length"]:
        return "has %d characters." % len(value)
    if any(not "!" <= character <= "~" for character in value):
        return "has a space or a character that is not visible ASCII."
    if form["format"] == "uuid":
        groups = [len(group) for group in value.split("-")]
        if groups != [8, 4, 4, 4, 12] or set(value.lower()) - set("0123456789abcdef-"):
            return "is not a UUID."
    return None


def describe_form(form):
    if form["format"] == "uuid":
        return "string, a UUID"
    return "string of %d to %d visible ASCII characters" % (form["min_length"], form["max_length"])


def kind(value):
    """The JSON name of a value's type."""
    names = {bool: "boolean", str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return "null" if value is None else "the %s %s" % (names[type(value)], dumps(value)[:40])


def context_line(entry):
    """One line for the model beside a clean call that is risky, irreversible or deprecated, else None."""
    said = []
    if entry["effect"] == "mutation" and entry["risk"] in ("high", "financial", "destructive"):
        said.append("its risk is %s" % entry["risk"])
    if entry["effect"] == "mutation" and entry["reversible"] is False:
        said.append("it cannot be undone")
    if entry.get("deprecated"):
        said.append("the API has marked it as deprecated")
    return "%s: %s." % (entry["tool"], ", ".join(said)) if said else None
