"""Writes what was measured into the documents: `python -m tools.performance_table`.

It reads benchmarks/results/cpu.json, those of single subjects beside it, and those in benchmarks/results/memory, which
`python -m benchmarks --json` wrote.
With `--check` it only looks.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks import report
from ep.cli import text
from tools.generated import ROOT, update

Result = dict[str, Any]

_FILE: Final = "docs/performance.md"
_CASES_FILE: Final = "benchmarks/results/cpu.md"
_DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64")
_MEMORY_CASES: Final = (
    ("unary", ("relu",)),
    ("binary", ("add, same shape",)),
    ("expand", None),
    ("gather", tuple(f"rows of {size} B" for size in (64, 256, 1024, 3072, 16384))),
    ("gather", ("rows of 64 B, table of 256 KiB", "rows of 3072 B, table of 256 KiB")),
)
_MEMORY_FROM: Final = 2**24
_MEMORY_FOLDER: Final = "benchmarks/results/memory"
"""What waits for memory alone, and what maps or moves: a file for each processor."""
_RESULTS_FOLDER: Final = "benchmarks/results"


def parts() -> list[tuple[str, str, str]]:
    """(file, name of the part, text) of each table."""
    document = json.loads((ROOT / "benchmarks/results/cpu.json").read_text())
    results = report.combined(document["runs"])
    return [
        ("README.md", "speed", _speed(document, results)),
        (_FILE, "machine", _machine(document, max(result["runs"] for result in results))),
        (_FILE, "summary", _summary(results)),
        (_FILE, "data types", _data_types(results)),
        (_FILE, "memory", _memory(results)),
        (_FILE, "by processor", "\n\n".join(map(_of_processor, sorted((ROOT / _MEMORY_FOLDER).glob("*.json"))))),
        (_FILE, "sums", _of_subject("sums", _speeds)),
        (_FILE, "products", _of_subject("products", _rates)),
        (_FILE, "rows", _of_subject("rows", _times_by_columns)),
        (_FILE, "expressions", _expressions()),
        (_FILE, "start-up", _startup(document)),
        (_CASES_FILE, "behind", "\n".join(["```", *report.behind(results)[1:], "```"])),
        (_CASES_FILE, "ratios", "\n\n".join(_ratios(results, dtype) for dtype in _DTYPES)),
    ]


def _machine(document: dict[str, Any], most_runs: int) -> str:
    machine, versions = document["machine"], document["versions"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    peers = ", ".join(f"{name} {peer['version']}" for name, peer in document["peers"].items())
    speeds = ", ".join(f"{speed:.1f} GB/s ({name}'s)" for name, speed in document["copy_gb_per_s"].items())
    copy = f"copy of 128 MiB: {speeds}; " if speeds else ""
    return (
        f"{machine['processor']}, {document['threads']} of {machine['processors']} processors, {caches}; "
        f"{machine['system']}; Python {document['python']}, Numba {versions['numba']}; {peers}; "
        f"{copy}a case in up to {text.plural(most_runs, 'run')}, {document['date'][:10]}."
    )


def _speed(document: dict[str, Any], results: list[Result]) -> str:
    """Return the one figure of it all."""
    ratios = [r["ratio"] for r in results if r["ratio"] and r["dtype"] == "float32" and r["size"] >= report.FROM]
    mean = statistics.geometric_mean(ratios)
    return (
        f"From {report.FROM:,} elements on, in float32, the time of the best of {len(document['peers'])} libraries is "
        f"{mean:.2f} times ours: the geometric\nmean of {text.plural(len(ratios), 'case')} on a machine with "
        f"{document['threads']} threads."
    )


def _summary(results: list[Result]) -> str:
    """Return the means that the benchmark prints after its table, and how many cases are behind."""
    lines = ["| cases | number | ratio |", "|---|--:|--:|"]
    lines += [f"| {what} | {number} | {ratio:.2f} |" for what, ratio, number in report.means(results)]
    said = report.behind(results)[1]
    return "\n".join([*lines, "", f"{said[0].upper()}{said[1:]}."])


def _data_types(results: list[Result]) -> str:
    """Geometric means of the ratios: a row for each set of cases, a column for each data type."""
    chosen = [result for result in results if result["ratio"] and result["size"] >= report.FROM]
    columns = [dtype for dtype in _DTYPES if any(result["dtype"] == dtype for result in chosen)]
    rows = {name: [r for r in chosen if r["set"] == name] for name in dict.fromkeys(r["set"] for r in chosen)}
    lines = [_header("cases", columns)]
    for name, of_set in (rows | {"all": chosen}).items():
        by_dtype = ([r["ratio"] for r in of_set if r["dtype"] == dtype] for dtype in columns)
        cells = (f"{statistics.geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "" for ratios in by_dtype)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _memory(results: list[Result]) -> str:
    """Return the share of the best peer's copy bandwidth that cases beyond the caches reach, by number of elements."""
    found: dict[str, dict[int, str]] = {}
    for name, cases in _MEMORY_CASES:
        for result in results:
            wanted = result["set"] == name and (cases is None or result["case"] in cases)
            if wanted and result["dtype"] == "float32" and result["size"] >= _MEMORY_FROM and result["share_of_copy"]:
                cells = found.setdefault(f"{name}: {result['case']}", {})
                cells[result["size"]] = f"{result['share_of_copy']:.2f}"
    return _by_size("case, float32", found)


def _of_processor(path: Path) -> str:
    """Return the processor, and for each case and size the lowest of the ratios of all data types, with that type."""
    document = json.loads(path.read_text())
    results = [result for result in report.combined(document["runs"]) if result["ratio"]]
    found: dict[str, dict[int, str]] = {}
    for name, case, size in dict.fromkeys((result["set"], result["case"], result["size"]) for result in results):
        chosen = [r for r in results if (r["set"], r["case"], r["size"]) == (name, case, size)]
        least = min(chosen, key=lambda result: result["ratio"])
        found.setdefault(f"{name}: {case}", {})[size] = f"{least['ratio']:.2f} {least['dtype']}"
    rows = dict(sorted(found.items(), key=lambda row: not row[0].startswith("memory:")))
    behind = [result for result in results if result["ratio"] < report.WANTED]
    mean = statistics.geometric_mean(result["ratio"] for result in results)
    return "\n\n".join(
        (
            f"*{_machine(document, max(result['runs'] for result in results))}*",
            _by_size("case, lowest ratio", rows),
            f"The geometric mean of {text.plural(len(results), 'case')} is {mean:.2f}; {len(behind)} of them are below "
            f"{report.WANTED}.",
        )
    )


def _of_subject(name: str, tables: Callable[[list[Result]], list[str]]) -> str:
    """Return the processor, and the tables of what a file of the subject's own holds."""
    path = ROOT / _RESULTS_FOLDER / f"{name}.json"
    if not path.exists():
        return "Not measured."
    document = json.loads(path.read_text())
    results = [result for result in report.combined(document["runs"]) if result["ratio"]]
    return "\n\n".join((f"*{_machine(document, max(result['runs'] for result in results))}*", *tables(results)))


def _expressions() -> str:
    """The processor, and for each data type how expressions compare with the best peer, and with single operators."""
    document = json.loads((ROOT / _RESULTS_FOLDER / "fuse.json").read_text())
    tables = [f"*{_machine(document, 1)}*"]
    cases = document["fuse"]["cases"]
    for dtype in dict.fromkeys(case["dtype"] for case in cases):
        found: dict[str, dict[int, str]] = {}
        by_size: dict[int, list[tuple[float, float]]] = {}
        for case in cases:
            if case["dtype"] == dtype:
                pair = case["ratio"], case["seconds"]["ep.ops"] / case["seconds"]["ep"]
                found.setdefault(case["expression"], {})[case["size"]] = f"{pair[0]:.2f} ({pair[1]:.2f})"
                by_size.setdefault(case["size"], []).append(pair)
        means = {size: map(statistics.geometric_mean, zip(*pairs, strict=True)) for size, pairs in by_size.items()}
        found["geometric mean"] = {size: "{:.2f} ({:.2f})".format(*pair) for size, pair in means.items()}
        tables.append(_by_size(f"expression, {dtype}", found))
    return "\n\n".join(tables)


def _speeds(results: list[Result]) -> list[str]:
    """For each data type, case and size the ratio to the best peer and our GB/s."""
    tables = []
    for dtype in dict.fromkeys(result["dtype"] for result in results):
        found: dict[str, dict[int, str]] = {}
        for result in results:
            if result["dtype"] == dtype:
                speed = result["bytes"] / result["seconds"]["ep"] / 1e9
                cell = f"{result['ratio']:.2f} {speed:.0f}"
                found.setdefault(result["case"], {})[result["size"]] = cell
        tables.append(_by_size(f"case, {dtype}", found))
    return tables


def _rates(results: list[Result]) -> list[str]:
    """The rate of each product, and the ratio to the best peer: a row for each shape, a column for each data type."""
    by_dtype = {
        dtype: {result["case"]: result for result in results if result["dtype"] == dtype}
        for dtype in dict.fromkeys(result["dtype"] for result in results)
    }
    lines = [_header("product", list(by_dtype))]
    for case in dict.fromkeys(result["case"] for result in results):
        cells = []
        for cases in by_dtype.values():
            if result := cases.get(case):
                rate = result["operations"] / result["seconds"]["ep"] / 1e9
                cells.append(f"{rate:.0f} ({result['ratio']:.2f} {result['best_peer']})")
            else:
                cells.append("")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    means = (statistics.geometric_mean(one["ratio"] for one in cases.values()) for cases in by_dtype.values())
    lines.append(f"| geometric mean | {' | '.join(f'({mean:.2f})' for mean in means)} |")
    return ["\n".join(lines)]


def _times_by_columns(results: list[Result]) -> list[str]:
    """Our nanoseconds for an element and the ratio to the best peer: a row for each primitive and data type."""
    columns = {result["case"].partition(" of ")[2].removesuffix(" columns"): "" for result in results}
    found: dict[str, dict[str, str]] = {}
    for result in sorted(results, key=lambda result: str(result["case"]).partition(" of ")[0]):
        name, _, rest = result["case"].partition(" of ")
        cell = f"{result['seconds']['ep'] / result['size'] * 1e9:.2f} {result['ratio']:.2f}"
        found.setdefault(f"{name}, {result['dtype']}", {})[rest.removesuffix(" columns")] = cell
    lines = [_header("columns", list(columns))]
    lines += [f"| {name} | {' | '.join((columns | cells).values())} |" for name, cells in found.items()]
    return ["\n".join(lines)]


def _startup(document: dict[str, Any]) -> str:
    """Return what a new process pays, and one element."""
    found = document["startup"]
    if not found:
        return "Not measured."
    lines = ["| | |", "|---|--:|"]
    lines += [f"| {what} | {taken * 1e3:.1f} ms |" for what, taken in found["seconds"].items()]
    for what, times in found["one_element"].items():
        lines.append(f"| {what} | {', '.join(f'{who} {taken * 1e6:.2f} us' for who, taken in times.items())} |")
    for what, size in found["peak_bytes_beyond_buffers"].items():
        lines.append(f"| memory beyond the buffers, {what} | {text.megabytes(size)} |")
    return "\n".join(lines)


def _ratios(results: list[Result], dtype: str) -> str:
    """Return a row for each case of a data type: the ratio to the best peer at each size, and who that is."""
    found: dict[str, dict[int, str]] = {}
    for result in results:
        if result["dtype"] == dtype and report.FROM <= result["size"] <= _MEMORY_FROM and result["ratio"]:
            cells = found.setdefault(f"{result['set']}: {result['case']}", {})
            cells[result["size"]] = f"{result['ratio']:.2f} {result['best_peer']}"
    return f"### {dtype}\n\n{_by_size('case', found)}" if found else f"### {dtype}\n\nNot measured."


def _by_size(title: str, found: dict[str, dict[int, str]]) -> str:
    sizes = sorted({size for cells in found.values() for size in cells})
    lines = [_header(title, [f"2^{size.bit_length() - 1}" if size & size - 1 == 0 else f"{size:,}" for size in sizes])]
    lines += [f"| {name} | {' | '.join(cells.get(size, '') for size in sizes)} |" for name, cells in found.items()]
    return "\n".join(lines)


def _header(title: str, columns: list[str]) -> str:
    return f"| {title} | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}"


def main() -> int:
    """Rewrite the tables, or with `--check` say whether they are up to date; return the exit code."""
    return max(update(file, name, text, "tools.performance_table") for file, name, text in parts())


if __name__ == "__main__":
    raise SystemExit(main())
