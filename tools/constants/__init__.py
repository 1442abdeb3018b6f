"""Writes the constants of the CPU's elementary functions: `python -m tools.constants`."""
