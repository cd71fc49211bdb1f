"""Anvil's laboratory: real harness CLIs in containers, driven by a scripted model.

This module imports nothing: its subpackage `inside` is copied into the images and runs there on a bare
interpreter.
"""
