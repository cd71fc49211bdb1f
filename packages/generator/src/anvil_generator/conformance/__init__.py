"""The proof that every bundle carries: copied into its ``tests/``, standard library only, run by anyone."""
