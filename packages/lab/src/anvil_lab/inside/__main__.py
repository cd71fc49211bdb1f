"""What the container starts.

python3 -m anvil_lab.inside run RUN_AS_JSON
python3 -m anvil_lab.inside batch WORKERS RUNS_AS_JSON      each in a home and a project of its own
python3 -m anvil_lab.inside prepare BUNDLE WHEELHOUSE TARGET
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from anvil_lab.inside import batch, stage
from anvil_lab.inside.place import SEARCH_PATH
from anvil_lab.inside.records import read_run


def main(arguments: list[str]) -> int:
    home, project = Path.home(), Path.cwd()
    match arguments:
        case ["run", text]:
            result = stage.perform(read_run(json.loads(text)), home=home, project=project)
            print(json.dumps(asdict(result)))
        case ["batch", workers, text]:
            runs = [read_run(value) for value in json.loads(text)]
            for done in batch.perform(runs, home=home, project=project, workers=int(workers)):
                print(json.dumps(done))
        case ["prepare", bundle, wheelhouse, target]:
            environment = {"HOME": str(home), "PATH": SEARCH_PATH, "LANG": "C.UTF-8"}
            stage.prepare(Path(bundle), Path(wheelhouse), environment)
            shutil.copytree(home / stage.CACHE, target, symlinks=True, dirs_exist_ok=True)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
