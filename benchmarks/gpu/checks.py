"""The first run on a GPU: the test suite, and twenty kernels under compute-sanitizer."""

from __future__ import annotations

from typing import Final

from benchmarks.gpu import sanitizer, suite
from benchmarks.gpu.budget import Budget
from ep.cuda.compile.kernel_cache import CACHE

_TESTS: Final = 0.75
"""The share of the time for the suite; the rest is for compute-sanitizer."""


def run(budget: Budget, *, dry_run: bool) -> bool:
    """Print the verdicts; return whether nothing failed.

    A dry run launches the twenty kernels alone, since `pytest --ep-device cuda` runs without a GPU anyway.
    """
    there = CACHE.on_disk()
    print(f"{there.files:,} kernels are in {there.folder}", flush=True)
    if dry_run:
        return sanitizer.main() == 0
    limit = budget.share(_TESTS)
    print(f"{' '.join(suite.command())}, {limit:.0f} s at most", flush=True)
    tests = suite.run(limit)
    code = tests["exit_code"]
    ended = f"stopped at its limit of {limit:.0f} s" if code is None else f"exit code {code}"
    print("\n".join([*tests["last_lines"], f"tests: {ended} after {tests['seconds']:.0f} s"]), flush=True)
    verdicts = sanitizer.run(budget.remaining())
    for tool, verdict in verdicts.items():
        print(f"compute-sanitizer, {tool}: {verdict}")
    return not tests["failed"] and not any(verdict.startswith("FAILED") for verdict in verdicts.values())
