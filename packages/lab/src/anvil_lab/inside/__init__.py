"""The part that runs in the container: standard library only."""
