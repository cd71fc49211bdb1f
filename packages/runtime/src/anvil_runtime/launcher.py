"""Start the MCP server that a bundle carries. Copied into the bundle as ``mcp/server.py``.

    python3 -I -S mcp/server.py [serve]                       what an MCP client runs
    python3 -I -S mcp/server.py prepare [--wheelhouse DIR]    install what it needs, ahead of its first start
    python3 -I -S mcp/server.py doctor                        say what works and what is missing
    python3 -I -S mcp/server.py call OPERATION --arg N=V      call an operation, under the same contract
    python3 -I -S mcp/server.py log                           show what was decided and called
    python3 -I -S mcp/server.py pending                       list the calls that wait for a person
    python3 -I -S mcp/server.py allow ID                      show one of them, and send it after a code

Standard library only, and readable to Python 3.9, so that an old one gets a clear message. What the
server needs besides the sources in ``mcp/lib`` is exactly what ``mcp/requirements.lock`` names, by
hash, installed once per user below ``.cache/anvil`` in the user's home, or below the folder that
``--cache DIR`` names, given before the subcommand. Nothing is written below the bundle's own folder,
and no bytecode in it is read: a planted ``__pycache__`` would run unseen by whoever reviewed the sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TYPE_CHECKING = False  # typing itself is not loaded for it
if TYPE_CHECKING:
    from anvil_runtime.bundle import Bundle

MCP = Path(os.path.abspath(__file__)).parent  # noqa: PTH100  # not resolve(): the path as the client names it
BUNDLE = MCP.parent
LIB = MCP / "lib"
LOCK = MCP / "requirements.lock"
NEEDS = (3, 10)
IN_LIB = ("call", "log", "allow", "pending")
"""The commands that ``anvil_runtime.commands`` reads."""
OURS = ("anvil_core", "anvil_runtime", "hookcore")
FOREIGN = ("site-packages", "dist-packages")
COMPLETE = ".anvil-complete"
"""The file that an installation writes last."""
OLD_SECONDS = 3600


class StopError(Exception):
    """The server cannot start; the text is for the person who reads its log."""


def say(text: str) -> None:
    """Standard output belongs to MCP."""
    print(f"anvil: {text}", file=sys.stderr, flush=True)


class Options:
    """What the command line said before the subcommand.

    ``cache``: where packages are installed instead; ``state``: where the service's state is kept instead.
    """

    cache: Path | None = None
    state: Path | None = None


def this_command() -> str:
    chosen = f" --cache {Options.cache}" if Options.cache else ""
    return f"{sys.executable} {MCP / 'server.py'}{chosen}"


def by_hand() -> str:
    return f"To install them by hand: {this_command()} prepare [--wheelhouse FOLDER-WITH-THE-WHEELS]"


def check_python() -> str:
    have = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < NEEDS:
        wanted = ".".join(str(part) for part in NEEDS)
        raise StopError(f"the server needs Python {wanted}+, and {sys.executable} is {have}.")
    return have


def read_lock() -> bytes:
    try:
        return LOCK.read_bytes()
    except OSError as error:
        raise StopError(f"{LOCK}: {error.strerror}. Reinstall the bundle.") from None


def cache_folder() -> Path:
    """Where the packages are: below the home that the system has for this user.

    Code is run from there, and a repository's settings can set HOME for the server, so HOME is asked only
    where the system knows no home.
    """
    if Options.cache is not None:
        folder = Options.cache
    else:
        folder = (home_of_user() or home_of_environment()) / ".cache" / "anvil"
    if inside(Path(os.path.realpath(folder)), BUNDLE.resolve()):
        raise StopError(f"{folder} is inside the bundle: nothing is ever installed there. {OTHER_FOLDER}")
    return folder


OTHER_FOLDER = "Name another folder with --cache DIR before the subcommand"


def inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def home_of_user() -> Path | None:
    """The home that the system has for this user, whatever the environment says."""
    try:
        import pwd  # noqa: PLC0415  # not on every system

        home = Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    except (ImportError, KeyError):
        return None
    return home if home.is_dir() else None


def home_of_environment() -> Path:
    """HOME, where nobody else could have set it: not from a project, and the user's own."""
    name = "USERPROFILE" if os.name == "nt" else "HOME"
    said = os.environ.get(name, "")
    home, here = Path(os.path.realpath(said)), Path(os.path.realpath(Path.cwd()))
    if not os.path.isabs(said):  # noqa: PTH117  # "" is no path of pathlib's
        wrong = "not an absolute path"
    elif not home.is_dir():
        wrong = "not a folder"
    elif any(home.samefile(one) for one in (here, *here.parents)) or inside(home, here):
        wrong = "the working folder, inside it or above it, so that a project could have put code there"
    elif hasattr(os, "getuid") and home.stat().st_uid != os.getuid():
        wrong = "another user's"
    else:
        return home
    raise StopError(
        f"{name} is {said!r}, which is {wrong}, and the system knows no other home for this user. "
        f"{OTHER_FOLDER}, set {name} to your home, or start it from another folder."
    )


def environment(lock: bytes) -> Path:
    """The folder of the installed packages for this lock, Python and platform, there or not."""
    libc = getattr(sys.implementation, "_multiarch", "")
    machine = os.uname().machine if hasattr(os, "uname") else ""
    build = "\0".join([str(sys.implementation.cache_tag), sys.platform, libc, machine])
    return cache_folder() / hashlib.sha256(lock + b"\0" + build.encode()).hexdigest()[:12]


def check_own(folder: Path) -> None:
    """Code is run from there, so only this user, or the system's administrator, may have written it."""
    status = folder.lstat()
    if hasattr(os, "getuid") and (status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o022):
        raise StopError(
            f"{folder} belongs to another user, or one can write to it. Remove it and start again."
        )


def find_pip(wheelhouse: Path | None) -> list[str]:
    """The command that starts pip: this Python's own, or the wheel that ensurepip or the wheelhouse holds."""
    own, quiet = [sys.executable, "-I", "-m", "pip"], subprocess.DEVNULL
    if subprocess.call([*own, "--version"], stdin=quiet, stdout=quiet, stderr=quiet) == 0:
        return own
    folders = [*bundled_wheels(), *([wheelhouse] if wheelhouse else [])]
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    if wheels:
        return [sys.executable, "-I", str(wheels[0] / "pip")]
    also = f" or in {wheelhouse}" if wheelhouse else ""
    raise StopError(
        f"pip was not found: not as a module of {sys.executable}, in ensurepip{also}. "
        f"Install it (Debian and Ubuntu: python3-pip), or put its wheel into a wheelhouse. {by_hand()}"
    )


def bundled_wheels() -> list[Path]:
    """Where ensurepip keeps pip; distributions move it."""
    try:
        import ensurepip  # noqa: PLC0415  # some distributions take it out
    except ImportError:
        return []
    moved = getattr(ensurepip, "_WHEEL_PKG_DIR", None)
    return [Path(ensurepip.__file__).parent / "_bundled", *([Path(moved)] if moved else [])]


def is_complete(packages: Path) -> bool:
    """Whether an installation came to its end there; a folder alone says nothing."""
    return (packages / COMPLETE).is_file()


def install(final: Path, wheelhouse: Path | None) -> None:
    """Install the locked packages beside ``final`` and rename: whoever comes second finds it done."""
    pip = find_pip(wheelhouse)
    try:
        final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=f"{final.name}.", dir=final.parent)
    except OSError as error:
        raise StopError(f"{final.parent}: {error.strerror}. {OTHER_FOLDER}.") from None
    clear_leftovers(final.parent)
    command = [*pip, "--isolated", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--no-cache-dir"]
    command += ["--no-index", "--find-links", str(wheelhouse.resolve())] if wheelhouse else []
    command += ["--target", folder, "-r", str(LOCK)]
    say(f"installing the server's packages into {final}, once for this machine")
    try:
        # pip speaks to the log, and must not eat the client's first message.
        if subprocess.call(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), cwd=folder) != 0:
            raise StopError(
                f"pip could not install the packages that {LOCK} names: its own words are above. "
                f"It needs a network, or a wheelhouse. {by_hand()}"
            )
        Path(folder, COMPLETE).touch()
        put_in_place(folder, final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(folder: str, final: Path) -> None:
    """In one step, so that a half-installed folder never has the name. A damaged one makes room."""
    if renamed(folder, final) or is_complete(final):  # another process was first: its folder holds the same
        return
    aside = tempfile.mkdtemp(prefix=f"{final.name}.", dir=final.parent)
    renamed(final, aside)
    shutil.rmtree(aside, ignore_errors=True)
    if not (renamed(folder, final) or is_complete(final)):
        raise StopError(f"{final} could not be put in place. Remove it and start again.")


def renamed(old: str | Path, new: str | Path) -> bool:
    try:
        os.rename(old, new)  # noqa: PTH104
    except OSError:
        return False
    return True


def clear_leftovers(cache: Path) -> None:
    """Remove what an installation that was killed left behind; a young one may still be at work."""
    young = time.time() - OLD_SECONDS
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{12}\.[a-z0-9_]{8}", folder.name) and folder.stat().st_mtime < young:
                shutil.rmtree(folder, ignore_errors=True)


def sources_digest() -> str:
    """Over the sources in mcp/lib, so that bytecode of another version is never taken for theirs."""
    digest = hashlib.sha256()
    for path in sorted(LIB.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(LIB)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def activate(packages: Path) -> None:
    """Import from the standard library, the locked packages and mcp/lib from now on, and nothing else."""
    bytecode = packages.parent / f"{packages.name}.pyc-{sources_digest()}"
    with contextlib.suppress(OSError):  # a home that cannot be written to costs time, and nothing else
        bytecode.mkdir(mode=0o700, exist_ok=True)
    for folder in (packages, bytecode):
        if folder.exists():
            check_own(folder)
    sys.pycache_prefix = str(bytecode)
    own = [str(packages), str(LIB)]
    kept = [path for path in sys.path if path and Path(path).name not in FOREIGN and path not in own]
    sys.path[:] = [*kept, *own]


def ready(wheelhouse: Path | None = None) -> Path:
    """The installed packages, installed now if they are not there."""
    check_python()
    packages = environment(read_lock())
    if not is_complete(packages):
        if packages.is_dir():
            say(f"{packages} is not a complete installation: making it anew")
        install(packages, wheelhouse)
    return packages


def serve() -> int:
    packages = ready()
    activate(packages)
    try:
        from anvil_runtime.server import main  # noqa: PLC0415
    except ImportError as error:
        raise damaged(packages, error) from None
    return main(BUNDLE, Options.state)


def damaged(packages: Path, error: ImportError) -> StopError:
    if (error.name or "").partition(".")[0] in OURS:
        return StopError(f"{error}: mcp/lib of {BUNDLE} is damaged. Install the bundle again.")
    return StopError(f"{error}: the packages in {packages} are damaged. Remove that folder and start again.")


def prepare(wheelhouse: Path | None) -> int:
    """Install, then import once, so that the first start finds its bytecode."""
    if wheelhouse is not None and not wheelhouse.is_dir():
        raise StopError(f"{wheelhouse} is not a folder.")
    packages = ready(wheelhouse)
    clear_leftovers(packages.parent)
    activate(packages)
    try:
        from anvil_runtime.server import warm  # noqa: PLC0415

        warm()
    except ImportError as error:
        raise damaged(packages, error) from None
    say(f"ready: {packages}")
    return 0


def doctor() -> int:
    """One line for each thing the server needs; exit code 1 when one is missing."""
    checks = {
        "Python": check_python,
        "bundle": bundle_state,
        "requirements": lambda: f"{LOCK} ({len(read_lock())} bytes)",
        "cache": lambda: f"{cache_folder()} ({'as --cache says' if Options.cache else 'or --cache DIR'})",
        "packages": packages_state,
        "contract": contract_state,
        "state": state_state,
        "credentials": credentials_state,
    }
    good = [reported(name, check) for name, check in checks.items()]
    return 0 if all(good) else 1


def reported(name: str, check) -> bool:  # type: ignore[no-untyped-def]  # noqa: ANN001
    try:
        print(f"ok       {name}: {check()}")
    except StopError as problem:
        print(f"missing  {name}: {problem}")
        return False
    return True


def bundle_state() -> str:
    """Compare the files with what the compiler wrote: a change since then was reviewed by nobody."""
    facts = BUNDLE / "bundle.json"
    try:
        wanted = json.loads(facts.read_bytes())["files"]
        changed = [name for name, digest in sorted(wanted.items()) if digest_of(BUNDLE / name) != digest]
    except OSError as error:
        raise StopError(f"{facts}: {error.strerror}. Reinstall the bundle.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StopError(f"{facts} cannot be read. Reinstall the bundle.") from None
    if changed:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise StopError(f"changed or missing: {', '.join(changed[:5])}{more}. Reinstall the bundle.")
    return f"{len(wanted)} files, as the compiler wrote them"


def digest_of(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def packages_state() -> str:
    packages = environment(read_lock())
    if is_complete(packages):
        return str(packages)
    state = f"{packages} is not a complete installation" if packages.is_dir() else "not installed yet"
    raise StopError(f"{state}. The next start makes it with {' '.join(find_pip(None))}. {by_hand()}")


def contract_state() -> str:
    bundle = loaded()
    return (
        f"{bundle.air.service.id}, {len(bundle.served)} of {len(bundle.air.operations)} operations approved"
    )


def loaded() -> Bundle:
    """The bundle's contract, as the server reads it."""
    check_python()
    packages = environment(read_lock())
    if not is_complete(packages):
        raise StopError("not read, since the packages are not installed.")
    activate(packages)
    try:
        from anvil_runtime.bundle import BundleError, load  # noqa: PLC0415
    except ImportError as error:
        raise damaged(packages, error) from None
    try:
        return load(BUNDLE)
    except BundleError as error:
        raise StopError(str(error)) from None


def state_state() -> str:
    bundle = loaded()
    from anvil_runtime import health  # noqa: PLC0415

    try:
        return health.state_folder(bundle, Options.state)
    except health.TroubleError as error:
        raise StopError(str(error)) from None


def credentials_state() -> str:
    bundle = loaded()
    from anvil_runtime import health  # noqa: PLC0415

    try:
        return health.credentials(bundle)
    except health.TroubleError as error:
        raise StopError(str(error)) from None


def in_lib(words: list[str]) -> int:
    """A command of the runtime, which reads its own words."""
    packages = ready()
    activate(packages)
    try:
        from anvil_runtime.commands import main  # noqa: PLC0415
    except ImportError as error:
        raise damaged(packages, error) from None
    return main(BUNDLE, Options.state, words, f"{Path(sys.executable).name} {MCP / 'server.py'}")


def run(arguments: list[str]) -> int:
    while arguments[:1] in (["--cache"], ["--state"]) and len(arguments) > 1 and arguments[1]:
        setattr(Options, arguments[0][2:], Path(os.path.abspath(arguments[1])))  # noqa: PTH100
        arguments = arguments[2:]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("serve", [])
    try:
        if command == "serve" and not rest:
            return serve()
        if command == "prepare" and rest[:1] in ([], ["--wheelhouse"]) and len(rest) in (0, 2):
            return prepare(Path(rest[1]) if rest else None)
        if command == "doctor" and not rest:
            return doctor()
        if command in IN_LIB:
            return in_lib([command, *rest])
    except (StopError, OSError) as problem:
        say(str(problem))
        return 1
    usage = f"{sys.executable} {MCP / 'server.py'} [--cache DIR] [--state DIR]"
    say(f"usage: {usage} [serve | prepare [--wheelhouse FOLDER] | doctor | {' | '.join(IN_LIB)}]")
    return 2


if __name__ == "__main__":
    if not (sys.flags.isolated and sys.flags.no_site):
        # Without these, the working folder's and the user's own modules could take part.
        os.execv(sys.executable, [sys.executable, "-I", "-S", str(MCP / "server.py"), *sys.argv[1:]])  # noqa: S606
    sys.exit(run(sys.argv[1:]))
