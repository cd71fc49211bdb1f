"""The commands of ``anvil``, one module each."""
