"""Writes the tables of docs/performance.md from what was measured: `python -m tools.performance_table`.

It reads benchmarks/results/cpu.json, which `python -m benchmarks --json` wrote. With `--check` it only looks.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any, Final

from benchmarks import report
from ep.cli import output
from tools.generated import ROOT, update

_FILE: Final = "docs/performance.md"
_SIZES: Final = {2**16: "2^16", 2**20: "2^20", 2**24: "2^24", 2**26: "2^26"}


def parts() -> list[tuple[str, str, str]]:
    """(file, name of the part, text) of each table."""
    document = json.loads((ROOT / "benchmarks/results/cpu.json").read_text())
    results = report.combined(document["runs"])
    return [
        (_FILE, "machine", _machine(document)),
        (_FILE, "summary", _summary(results)),
        (_FILE, "ratios", _ratios(results)),
    ]


def _machine(document: dict[str, Any]) -> str:
    machine, versions = document["machine"], document["versions"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    peers = ", ".join(f"{name} {peer['version']}" for name, peer in document["peers"].items())
    copy = ", ".join(f"{speed:.1f} GB/s ({name}'s)" for name, speed in document["copy_gb_per_s"].items())
    return (
        f"{machine['processor']}, {document['threads']} of {machine['processors']} processors, {caches}; "
        f"{machine['system']}; Python {document['python']}, Numba {versions['numba']}; {peers}; "
        f"copy of 128 MiB: {copy}; {output.plural(len(document['runs']), 'run')}, {document['date'][:10]}."
    )


def _summary(results: list[dict[str, Any]]) -> str:
    """What the benchmark prints after its table."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        report.summarise(results)
    return f"```\n{printed.getvalue().strip()}\n```"


def _ratios(results: list[dict[str, Any]]) -> str:
    """A row for each case in float32: the ratio to the best peer at each size, and who that is."""
    rows: dict[tuple[str, str], dict[int, str]] = {}
    for result in results:
        if result["dtype"] == "float32" and result["size"] in _SIZES and result["ratio"]:
            cells = rows.setdefault((result["set"], result["case"]), {})
            cells[result["size"]] = f"{result['ratio']:.2f} {result['best_peer']}"
    lines = [f"| set | case | {' | '.join(_SIZES.values())} |", "|---|---|" + "--:|" * len(_SIZES)]
    for (set_, case), cells in rows.items():
        lines.append(f"| {set_} | {case} | {' | '.join(cells.get(size, '') for size in _SIZES)} |")
    return "\n".join(lines)


def main() -> int:
    """Rewrite the tables, or with `--check` say whether they are up to date; return the exit code."""
    return max(update(file, name, text, "tools.performance_table") for file, name, text in parts())


if __name__ == "__main__":
    raise SystemExit(main())
