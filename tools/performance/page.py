"""The page of a machine: everything that was measured on it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from benchmarks import report
from benchmarks.instructions import HOST, ISAS
from benchmarks.options import ODD, PLACE, PRODUCTS, ROWS
from ep.cli import text
from tools.performance.records import EXTRA, Record, Result, records

_DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64")
_TITLES: Final = {HOST: "All instructions of the processor", "avx2": "No instructions beyond AVX2"}


def page(name: str) -> str:
    """Return everything that was measured on a machine."""
    mine = sorted((r for r in records() if r.name == name), key=lambda record: ISAS.index(record.isa))
    parts = [
        f"# Performance: {name}",
        f"`python -m benchmarks.record {name}` makes these measurements, and `python -m tools.performance_table` "
        "writes this page. A ratio is the time of the fastest peer (another library) divided by the time of ep: above "
        "1, ep is faster. [Performance](../performance.md) describes the method.",
    ]
    for record in mine:
        parts += [f"## {_TITLES[record.isa]}", _measured(record)]
        if record.kernels_changed:
            parts.append("**The kernels have changed since these figures were measured.**")
        for title, tables in _SECTIONS.items():
            if table := "\n\n".join(tables(record)):
                parts += [f"### {title}", table]
    return "\n\n".join(parts) + "\n"


def _measured(record: Record) -> str:
    document = record.document
    its, versions = document["machine"], document["versions"]
    caches = ", ".join(f"{name} {size}" for name, size in its["caches"].items())
    peers = ", ".join(f"{name} {peer['version']}" for name, peer in document["peers"].items())
    speeds = ", ".join(f"{speed:.1f} GB/s ({name}'s)" for name, speed in document["copy_gb_per_s"].items())
    return (
        f"*{record.processor}, {document['threads']} of {its['processors']} processors, {caches}; {its['system']}; "
        f"Python {document['python']}, Numba {versions['numba']}; {peers}; "
        + (f"copy of 128 MiB: {speeds}; " if speeds else "")
        + f"{document['date'][:10]}*"
    )


def _summary(record: Record) -> Iterator[str]:
    """Yield the means that the benchmark prints after its table, and the number of cases that are behind."""
    results = [result for result in record.results if result["set"] not in EXTRA]
    if means := report.means(results):
        lines = ["| cases | number | ratio |", "|---|--:|--:|"]
        yield "\n".join([*lines, *(f"| {what} | {number} | {ratio:.2f} |" for what, ratio, number in means)])


def _data_types(record: Record) -> Iterator[str]:
    """Yield geometric means of the ratios: a row for each set of cases, a column for each data type."""
    chosen = record.primitives()
    if not chosen:
        return
    columns = [dtype for dtype in _DTYPES if any(result["dtype"] == dtype for result in chosen)]
    rows = {name: [r for r in chosen if r["set"] == name] for name in dict.fromkeys(r["set"] for r in chosen)}
    lines = ["Geometric means of the ratios, and the number of cases.", "", _header("primitive", columns)]
    for name, of_set in (rows | {"all": chosen}).items():
        by_dtype = ([r["ratio"] for r in of_set if r["dtype"] == dtype] for dtype in columns)
        cells = (f"{statistics.geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "" for ratios in by_dtype)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    yield "\n".join(lines)


def _behind(record: Record) -> Iterator[str]:
    """Yield the cases in which another library is faster."""
    if record.primitives():
        yield "The ratio of each such case, which library is faster, and the ratio in each run if there were several."
        results = [result for result in record.results if result["set"] not in EXTRA]
        yield "\n".join(["```text", *report.behind(results)[1:], "```"])


def _cases(record: Record) -> Iterator[str]:
    """Yield a table for each set of cases: the ratios by data type and size, and the GB/s of ep in float32."""
    rated = record.primitives()
    if rated:
        yield "Ratios by data type and number of elements; for float32 also the GB/s that ep reads and writes."
    for name, of_set in groupby(_by_set(rated), key=lambda result: result["set"]):
        found: dict[str, dict[tuple[str, int], str]] = {}
        for result in of_set:
            speed = f" {result['bytes'] / result['seconds']['ep'] / 1e9:.0f}" if result["dtype"] == "float32" else ""
            found.setdefault(result["case"], {})[result["dtype"], result["size"]] = f"{result['ratio']:.2f}{speed}"
        columns = sorted({column for cells in found.values() for column in cells}, key=_order)
        titles = [f"{dtype}, {_size(size)}" for dtype, size in columns]
        lines = [_header(name, titles)]
        lines += [f"| {case} | {' | '.join(cells.get(c, '') for c in columns)} |" for case, cells in found.items()]
        yield "\n".join(lines)


def _by_set(results: list[Result]) -> list[Result]:
    """Return the results with those of each set together."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    return sorted(results, key=lambda result: sets.index(result["set"]))


def _order(column: tuple[str, int]) -> tuple[int, int]:
    return _DTYPES.index(column[0]), column[1]


def _products(record: Record) -> Iterator[str]:
    """Yield the rate of each product and its ratio to the best peer: a row for each shape, a column for each type."""
    by_dtype: dict[str, dict[str, Result]] = {}
    for result in record.results:
        if result["set"] == PRODUCTS and result["ratio"]:
            by_dtype.setdefault(result["dtype"], {})[result["case"]] = result
    if not by_dtype:
        return
    yield (
        "GFLOP/s, and in parentheses the ratio and the fastest peer. In products named by rows, b is constant: ONNX "
        "Runtime packs it when the model is loaded. The contract of Matmul has no such step."
    )
    lines = [_header("product", list(by_dtype))]
    for case in dict.fromkeys(case for cases in by_dtype.values() for case in cases):
        cells = []
        for cases in by_dtype.values():
            if result := cases.get(case):
                rate = result["operations"] / result["seconds"]["ep"] / 1e9
                cells.append(f"{rate:.0f} ({result['ratio']:.2f} {result['best_peer']})")
            else:
                cells.append("")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    means = (statistics.geometric_mean(one["ratio"] for one in cases.values()) for cases in by_dtype.values())
    yield "\n".join([*lines, f"| geometric mean | {' | '.join(f'({mean:.2f})' for mean in means)} |"])


def _rows(record: Record) -> Iterator[str]:
    """Yield nanoseconds per element and ratios: a row for each softmax and data type, a column for each length."""
    found: dict[str, dict[int, str]] = {}
    for result in record.results:
        if result["set"] == ROWS and result["ratio"]:
            name, _, columns = result["case"].removesuffix(" columns").rpartition(" of ")
            taken = result["seconds"]["ep"] / result["elements"] * 1e9
            cells = found.setdefault(f"{name}, {result['dtype']}", {})
            cells[int(columns.replace(",", ""))] = f"{taken:.2f} {result['ratio']:.2f}"
    if found:
        columns_ = sorted({columns for cells in found.values() for columns in cells})
        lines = [_header("columns", [f"{columns:,}" for columns in columns_])]
        lines += [f"| {name} | {' | '.join(found[name].get(c, '') for c in columns_)} |" for name in sorted(found)]
        yield "Rows of 31 to 50,257 columns, 2^20 elements in total: nanoseconds of ep per element, and the ratio."
        yield "\n".join(lines)


def _odd(record: Record) -> Iterator[str]:
    """Yield a row for each case, a column for each data type."""
    found: dict[str, dict[str, str]] = {}
    for result in record.results:
        if result["set"] in (ODD, PLACE) and result["ratio"]:
            cell = f"{result['ratio']:.2f} {result['best_peer']}"
            found.setdefault(result["case"], {})[result["dtype"]] = cell
    if found:
        dtypes = sorted({dtype for cells in found.values() for dtype in cells}, key=_DTYPES.index)
        lines = [_header("case", dtypes)]
        lines += [f"| {case} | {' | '.join(cells.get(one, '') for one in dtypes)} |" for case, cells in found.items()]
        yield "\n".join(lines)


def _expressions(record: Record) -> Iterator[str]:
    """Yield comparisons of expressions with the best peer and with single operators, for each data type."""
    cases = record.document.get("fuse", {}).get("cases", [])
    if cases:
        yield (
            "The ratio, and in parentheses the time of separate calls of `ep.ops` divided by the time of the kernels "
            "that `ep.fuse` makes."
        )
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
        sizes = sorted(by_size)
        lines = [_header(f"expression, {dtype}", [_size(size) for size in sizes])]
        lines += [f"| {name} | {' | '.join(cells.get(s, '') for s in sizes)} |" for name, cells in found.items()]
        yield "\n".join(lines)


def _encoder(record: Record) -> Iterator[str]:
    """Yield the times of each shape by library, the distances of results, and the first vector of a process."""
    found = record.document.get("encoder")
    if not found:
        return
    libraries = [*found["start"]]
    yield (
        "`examples/encoder` (MiniLM-L6), PyTorch in eager mode, and ONNX Runtime with the graph that PyTorch exports: "
        "milliseconds, and in parentheses the milliseconds outside of matrix products."
    )
    lines = [_header("sentences x tokens", libraries)]
    for case in found["times"]:
        cells = []
        for library in libraries:
            rest = f" ({case['rest'][library] * 1e3:.1f})" if library in case["rest"] else ""
            cells.append(f"{case['seconds'][library] * 1e3:.1f}{rest}")
        lines.append(f"| {case['shape']} | {' | '.join(cells)} |")
    yield "\n".join(lines)
    hows = "; ".join(
        f"{how}: " + ", ".join(f"{between} {distance:.1e}" for between, distance in distances.items())
        for how, distances in found["distances"].items()
    )
    yield f"The largest distance between two vectors of a sentence of 4 to 256 tokens. {hows[0].upper()}{hows[1:]}."
    lines = [_header("start of a process to the first vector", ["seconds", "peak, MB", "installed, MB"])]
    for library, one in found["start"].items():
        cells = [f"{one['seconds']:.2f}", f"{one['peak'] / 1e6:.0f}", f"{one['installed'] / 1e6:.0f}"]
        lines.append(f"| {library} | {' | '.join(cells)} |")
    yield "\n".join(lines)


def _startup(record: Record) -> Iterator[str]:
    """Yield the seconds of new processes, the smallest launches, and the memory beyond the buffers."""
    startup = record.document.get("startup")
    if not startup:
        return
    lines = ["| | |", "|---|--:|"]
    lines += [f"| {name} | {taken * 1e3:.1f} ms |" for name, taken in startup["seconds"].items()]
    for name, times in startup["one_element"].items():
        shown = ", ".join(f"{library} {taken * 1e6:.2f} us" for library, taken in times.items())
        lines.append(f"| {name}, one element | {shown} |")
    for name, size in startup["peak_bytes_beyond_buffers"].items():
        lines.append(f"| memory beyond the buffers, {name} | {text.megabytes(size)} |")
    yield "\n".join(lines)


_SECTIONS: Final[dict[str, Callable[[Record], Iterator[str]]]] = {
    "Summary": _summary,
    "By data type": _data_types,
    "Where another library is faster": _behind,
    "Case by case": _cases,
    "Products of matrices": _products,
    "Softmaxes": _rows,
    "Sizes that are not powers of two": _odd,
    "Expressions": _expressions,
    "A model": _encoder,
    "Start-up, and small launches": _startup,
}


def _size(size: int) -> str:
    return f"2^{size.bit_length() - 1}" if size & size - 1 == 0 else f"{size:,}"


def _header(title: str, columns: list[str]) -> str:
    return f"| {title} | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}"
