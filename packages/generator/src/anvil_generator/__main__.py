"""``python -m anvil_generator``: the same as ``anvil``."""

from anvil_generator.main import main

main()
