"""Benchmarks of the package, run from the root of its sources: `python -m benchmarks.accuracy`."""
