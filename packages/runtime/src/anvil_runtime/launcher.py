"""Start the MCP server that a bundle carries. Copied into the bundle as ``mcp/server.py``.

    python3 -I -S mcp/server.py [serve]                       what an MCP client runs
    python3 -I -S mcp/server.py prepare [--wheelhouse DIR]    install what it needs, ahead of its first start
    python3 -I -S mcp/server.py doctor                        say what works and what is missing

Standard library only, and readable to Python 3.9, so that an old one gets a clear message. What the
server needs besides the sources in ``mcp/lib`` is exactly what ``mcp/requirements.lock`` names, by
hash, installed once per machine below ``~/.cache/anvil``. Nothing is written below the bundle's own
folder, and no bytecode in it is read: a planted ``__pycache__`` would run unseen by whoever reviewed
the sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MCP = Path(os.path.abspath(__file__)).parent  # noqa: PTH100  # not resolve(): the path as the client names it
BUNDLE = MCP.parent
LIB = MCP / "lib"
LOCK = MCP / "requirements.lock"
NEEDS = (3, 10)
FOREIGN = ("site-packages", "dist-packages")


class StopError(Exception):
    """The server cannot start; the text is for the person who reads its log."""


def say(text: str) -> None:
    """Standard output belongs to MCP."""
    print(f"anvil: {text}", file=sys.stderr, flush=True)


def this_command() -> str:
    return f"{sys.executable} {MCP / 'server.py'}"


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
    """``~/.cache/anvil``. A project's settings can set HOME: one inside the project is not believed."""
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  # Path.home() raises without one
    folder, here = home / ".cache" / "anvil", Path.cwd()
    if inside(folder, BUNDLE.resolve()):
        raise StopError(f"HOME is {home}, inside the bundle: nothing is ever installed there. Mend HOME.")
    project = here.parent != here  # the root of the file system is nobody's project
    if project and inside(home, here) and home not in (here, home_of_user()):
        raise StopError(
            f"HOME is {home}, inside the working folder: code from there is never run. Mend HOME."
        )
    return folder


def inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def home_of_user() -> Path | None:
    """The home that the system has for this user, whatever the environment says."""
    try:
        import pwd  # noqa: PLC0415  # not on every system

        return Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    except (ImportError, KeyError):
        return None


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


def install(final: Path, wheelhouse: Path | None) -> None:
    """Install the locked packages beside ``final`` and rename: whoever comes second finds it done."""
    pip = find_pip(wheelhouse)
    final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=f"{final.name}.", dir=final.parent)
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
        put_in_place(folder, final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(folder: str, final: Path) -> None:
    try:
        os.rename(folder, final)  # noqa: PTH104  # one step: a half-installed folder never has the name
    except OSError as error:
        if not final.is_dir():  # else another process was first, and its folder holds the same
            raise StopError(f"{final} could not be put in place: {error.strerror}.") from None


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
    kept = [path for path in sys.path if path and Path(path).name not in FOREIGN]
    sys.path[:] = [*kept, str(packages), str(LIB)]


def ready(wheelhouse: Path | None = None) -> Path:
    """The installed packages, installed now if they are not there."""
    check_python()
    packages = environment(read_lock())
    if not packages.is_dir():
        install(packages, wheelhouse)
    return packages


def serve() -> int:
    activate(ready())
    from anvil_runtime.server import main  # noqa: PLC0415

    return main(BUNDLE)


def prepare(wheelhouse: Path | None) -> int:
    """Install, then import once, so that the first start finds its bytecode."""
    if wheelhouse is not None and not wheelhouse.is_dir():
        raise StopError(f"{wheelhouse} is not a folder.")
    packages = ready(wheelhouse)
    activate(packages)
    from anvil_runtime.server import warm  # noqa: PLC0415

    warm()
    say(f"ready: {packages}")
    return 0


def doctor() -> int:
    """One line for each thing the server needs; exit code 1 when one is missing."""
    checks = {
        "Python": check_python,
        "requirements": lambda: f"{LOCK} ({len(read_lock())} bytes)",
        "cache": lambda: str(cache_folder()),
        "packages": packages_state,
        "contract": contract_state,
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


def packages_state() -> str:
    packages = environment(read_lock())
    if packages.is_dir():
        return str(packages)
    pip = " ".join(find_pip(None))
    raise StopError(f"not installed yet. The first start does it with {pip}. {by_hand()}")


def contract_state() -> str:
    check_python()
    packages = environment(read_lock())
    if not packages.is_dir():
        raise StopError("not read, since the packages are not installed.")
    activate(packages)
    from anvil_runtime.bundle import BundleError, load  # noqa: PLC0415

    try:
        bundle = load(BUNDLE)
    except BundleError as error:
        raise StopError(str(error)) from None
    return (
        f"{bundle.air.service.id}, {len(bundle.served)} of {len(bundle.air.operations)} operations approved"
    )


def run(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("serve", [])
    try:
        if command == "serve" and not rest:
            return serve()
        if command == "prepare" and rest[:1] in ([], ["--wheelhouse"]) and len(rest) in (0, 2):
            return prepare(Path(rest[1]) if rest else None)
        if command == "doctor" and not rest:
            return doctor()
    except (StopError, OSError) as problem:
        say(str(problem))
        return 1
    say(f"usage: {this_command()} [serve | prepare [--wheelhouse FOLDER] | doctor]")
    return 2


if __name__ == "__main__":
    if not (sys.flags.isolated and sys.flags.no_site):
        # Without these, the working folder's and the user's own modules could take part.
        os.execv(sys.executable, [sys.executable, "-I", "-S", str(MCP / "server.py"), *sys.argv[1:]])  # noqa: S606
    sys.exit(run(sys.argv[1:]))
