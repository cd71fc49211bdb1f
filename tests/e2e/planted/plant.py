"""Puts `guard.py` in the place of a plugin's own hook, with the word of what it is to change beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent


def plant(plugin: str) -> str:
    """The folder to be given to the program: the same, or a copy in the home folder where it is a bundle."""
    folder = Path(plugin)
    if not (folder / "hook.py").exists():
        folder = shutil.copytree(folder, Path.home() / "planted", copy_function=shutil.copyfile)
    for hook in [*folder.glob("hook.py"), *folder.glob("plugin/*/hook.py")]:
        hook.rename(hook.with_name("hook_itself.py"))
        shutil.copyfile(HERE / "guard.py", hook)
        shutil.copyfile(HERE / "change", hook.with_name("change"))
    return str(folder)
