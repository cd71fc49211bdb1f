"""Contract records: what a harness was observed to do, version by version, and what differs between two.

A probe is one row of `probes/<harness>.yaml`. The recorder acts the rows out on the real program in a
container and writes `contracts/<harness>/<version>.json`; the comparison says what differs, and which of it a
harness's `contract.toml` relies on.
"""
