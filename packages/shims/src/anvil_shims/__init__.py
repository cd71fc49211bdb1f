"""One folder per agent harness, holding all that is particular to it."""
