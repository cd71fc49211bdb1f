"""``check_hookcore.py`` on an interpreter of another version: ``python3 check_elsewhere.py 3.14``.

Taken is the one on PATH, one that pyenv or uv installed, or, as root and with mmdebstrap, the one of a Debian
suite, in a root file system that is gone afterwards (about a minute). Standard library only. Where there is
none it says so: a failure where ``CI`` is set, else nothing that went wrong.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CHECK = "tests/unit/core/check_hookcore.py"
SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
INSTALLED = (
    (os.environ.get("PYENV_ROOT", "~/.pyenv"), "versions/{version}.*/bin/python{version}"),
    ("~/.local/share/uv/python", "cpython-{version}.*/bin/python{version}"),
)


def candidates(version: str) -> list[str]:
    on_path = shutil.which(f"python{version}")
    found = [on_path] if on_path else []
    for folder, pattern in INSTALLED:
        found += sorted(map(str, Path(folder).expanduser().glob(pattern.format(version=version))))
    return found


def is_version(python: str, version: str) -> bool:
    """A link on PATH may lead to nothing, or to another version."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def command_in_suite(version: str) -> list[str]:
    """mmdebstrap makes the root file system, runs the check in it and throws it away."""
    return [
        *("mmdebstrap", "--mode=root", "--quiet", "--variant=essential", f"--include=python{version}"),
        # A mirror may be weeks behind. What it has is signed all the same, and nothing of it is kept.
        '--aptopt=Acquire::Check-Valid-Until "false"',
        *("--format=null", '--customize-hook=mkdir "$1/check"'),
        "--customize-hook=copy-in tests packages /check",
        f'--customize-hook=chroot "$1" python{version} -I /check/{CHECK}',
        *(SUITES[version], "-"),
    ]


def main(version: str) -> int:
    for python in candidates(version):
        if is_version(python, version):
            return subprocess.run([python, "-I", str(ROOT / CHECK)], check=False).returncode
    if version in SUITES and shutil.which("mmdebstrap") and os.geteuid() == 0:
        print(f"Python {version} is not installed: taking the one of Debian {SUITES[version]}", flush=True)
        return subprocess.run(command_in_suite(version), cwd=ROOT, check=False).returncode
    way = "as root, with mmdebstrap, Debian's is taken" if version in SUITES else "no Debian suite has it"
    print(f"Python {version} is not available here: not on PATH, not from pyenv or uv; {way}.")
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
