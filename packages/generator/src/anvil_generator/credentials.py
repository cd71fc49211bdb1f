"""Where each credential is read: the manifest's word laid over the document's security schemes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from anvil_core import names, request_headers
from anvil_core.air import SecretSource
from anvil_core.problems import Position, Problem
from anvil_core.secret_sources import default_variable, trouble
from anvil_generator.errors import Failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from anvil_core.air import Air, AuthScheme, Operation, Service
    from anvil_core.secret_sources import Part
    from anvil_generator.manifest import ManifestCredential, ManifestSource
    from anvil_generator.project import Project


def with_sources(schemes: Iterable[AuthScheme], project: Project, service_id: str) -> tuple[AuthScheme, ...]:
    """The schemes, sorted, each with where its credential is read. Raises Failed for a wrong manifest."""
    ordered, said = sorted(schemes, key=lambda scheme: scheme.id), project.manifest.credentials
    problems = _unknown(said, [scheme.id for scheme in ordered], project, "credentials")
    problems += _unknown_in_auth(ordered, project)
    taken: set[str] = set()
    made = [_with_sources(scheme, project, service_id, taken, problems) for scheme in ordered]
    if problems:
        raise Failed(problems)
    return tuple(made)


def parts(scheme: AuthScheme) -> tuple[Part, ...]:
    """What a credential of the scheme is made of; nothing for one that cannot be used."""
    if scheme.kind == "api_key":
        return ("value",) if _can_carry(scheme) else ()
    if scheme.kind == "http":
        return {"basic": ("username", "password"), "bearer": ("value",)}.get(str(scheme.scheme), ())  # type: ignore[return-value]
    if scheme.kind == "oauth2":
        return ("client_id", "client_secret") if scheme.token else ("value",)
    return ()


def _can_carry(scheme: AuthScheme) -> bool:
    """Whether a request can hold it there: not where it would be another request, or read as another's."""
    name, location = str(scheme.name), str(scheme.location)
    if location == "header" and name.lower() != "authorization":
        steers = request_headers.is_never_an_argument(name, location)
        return not steers and name.lower() not in request_headers.SET_BY_THE_EXECUTOR and _is_name(name)
    if location == "query":
        return not request_headers.is_never_an_argument(name, location)
    return _is_name(name)


def _is_name(name: str) -> bool:
    return request_headers.NAME.fullmatch(name) is not None


def _with_sources(
    scheme: AuthScheme, project: Project, service_id: str, taken: set[str], problems: list[Problem]
) -> AuthScheme:
    said = project.manifest.credentials.get(scheme.id)
    if said is None:
        words = [word for word in names.snake(scheme.id).split("_") if word]
        variables = {part: default_variable(service_id, words, part) for part in parts(scheme)}
        sources = [SecretSource(part=part, env=_free(name, taken)) for part, name in variables.items()]
        return scheme.model_copy(update={"sources": tuple(sources)})
    wrong = _wrong_shape(scheme, said)
    if wrong:
        problems.append(_problem(project, wrong, "credentials", scheme.id))
        return scheme
    given = _given(said)
    for part, source in given.items():
        wrong = trouble(source.env, source.file)
        if wrong:
            at = () if part == "value" else (part,)
            problems.append(_problem(project, wrong, "credentials", scheme.id, *at))
    if problems:
        return scheme
    sources = [SecretSource(part=part, env=one.env, file=one.file) for part, one in given.items()]
    token = scheme.token
    if token and said.client_auth:
        token = token.model_copy(update={"client": said.client_auth.removeprefix("client_secret_")})
    return scheme.model_copy(update={"sources": tuple(sources), "token": token})


def _wrong_shape(scheme: AuthScheme, said: ManifestCredential) -> str | None:
    """What of the scheme's credential is not given, or given though it has no such part."""
    wanted, given = parts(scheme), tuple(_given(said))
    if not wanted:
        return f"a scheme of the kind {scheme.scheme or scheme.kind} is not supported"
    allowed = [wanted]
    if scheme.scheme == "basic":
        allowed.append(("username",))  # some APIs take their key as a user without a password
    if scheme.kind == "oauth2":
        allowed.append(("value",))  # an access token that was got elsewhere
    if given in allowed:
        return None
    shapes = [" and ".join("env or file" if one == "value" else one for one in shape) for shape in allowed]
    return f"this scheme takes {', or '.join(dict.fromkeys(shapes))}"


def _given(said: ManifestCredential) -> dict[Part, ManifestSource]:
    """The parts that the manifest gives, in the order of ``parts``."""
    found: dict[Part, ManifestSource | None] = {
        "value": said if said.env is not None or said.file is not None else None,
        "username": said.username,
        "password": said.password,
        "client_id": said.client_id,
        "client_secret": said.client_secret,
    }
    return {part: source for part, source in found.items() if source is not None}


def _free(name: str, taken: set[str]) -> str:
    """Two schemes whose names are spelled alike have a variable each."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def _unknown(said: Iterable[str], known: list[str], project: Project, *keys: str | int) -> list[Problem]:
    found = []
    for name in said:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            guess = f'; did you mean "{near[0]}"?' if near else "."
            message = (
                f'the document has no security scheme "{name}"{guess} It has: {", ".join(known) or "none"}'
            )
            place = (*keys, name) if keys == ("credentials",) else keys
            found.append(_problem(project, message, *place))
    return found


def _unknown_in_auth(schemes: list[AuthScheme], project: Project) -> list[Problem]:
    known = [scheme.id for scheme in schemes]
    found = [one for together in project.manifest.auth for one in _unknown(together, known, project, "auth")]
    for name, entry in project.manifest.operations.items():
        for together in entry.auth or ():
            found += _unknown(together, known, project, "operations", name, "auth")
    return found


def _problem(project: Project, message: str, *keys: str | int) -> Problem:
    position = project.manifest_file.position(*keys)
    return Problem(severity="error", code="credentials_invalid", message=message, position=position)


def needed(air: Air) -> list[AuthScheme]:
    """The schemes that operations of the bundle name, sorted by id."""
    named = {name for operation in air.operations for together in operation.auth for name in together}
    return [scheme for scheme in air.service.auth if scheme.id in named]


def variables(air: Air) -> list[str]:
    """The variables that the server reads, for harnesses that pass on only what is named."""
    return sorted({one.env for scheme in needed(air) for one in scheme.sources if one.env})


def words(scheme: AuthScheme) -> str:
    """``PAYMENTS_API_KEY``, or what a reader should know instead."""
    if not scheme.sources:
        return f"not supported ({scheme.scheme or scheme.kind})"
    return " and ".join(str(source) for source in scheme.sources)


def warnings(service: Service, approved: list[Operation], file: str) -> Iterator[Problem]:
    """What of the approved operations' credentials cannot be used, or is sent without protection."""
    usable = {scheme.id: scheme for scheme in service.auth if scheme.sources}
    stuck = [
        operation.name
        for operation in approved
        if operation.auth and not any(_can_be_sent(together, usable) for together in operation.auth)
    ]
    if stuck:
        named = ", ".join(stuck[:3]) + (", ..." if len(stuck) > 3 else "")
        ids = {name for one in approved if one.name in stuck for each in one.auth for name in each}
        kinds = {scheme.scheme or scheme.kind for scheme in service.auth if scheme.id in ids - set(usable)}
        why = ", ".join(sorted(kinds)) or "two of them in one header"
        text = (
            f"{len(stuck)} approved operations ({named}) need credentials that Anvil cannot use "
            f"({why}): they answer auth_required"
        )
        yield _warning("credentials_unsupported", text, file)
    if service.origin.scheme == "http" and any(operation.auth for operation in approved):
        text = f"credentials are sent to {service.origin} without encryption: anyone on the way can read them"
        yield _warning("credentials_in_clear", text, file)


def _can_be_sent(together: Collection[str], usable: Mapping[str, AuthScheme]) -> bool:
    """Whether each scheme can be used, and each has a place of its own in the request."""
    schemes = [usable[name] for name in together if name in usable]
    places = [(one.location or "header", (one.name or "Authorization").lower()) for one in schemes]
    return len(schemes) == len(together) and len(places) == len(set(places))


def _warning(code: str, text: str, file: str) -> Problem:
    return Problem(severity="warning", code=code, message=text, position=Position(file=file))
