"""The combination of runs: the median of each case over the runs, the table, the summary."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ep.cli import output, text

Result = dict[str, Any]

WANTED: Final = 0.95
FROM: Final = 2**16
"""The elements from which a case measures more than the launch."""
_COMPUTES_FROM: Final = 2**20
_COLUMNS: Final = (
    *("set", "case", "dtype", "size", "ep ms", "spread", "best peer", "peer ms", "ratio"),
    *("GB/s", "of copy"),
)


def key(result: Result) -> tuple[str, str, str, int]:
    """Return the key of a case, which is the same in every run."""
    return result["set"], result["case"], result["dtype"], result["size"]


def combined(runs: Sequence[Sequence[Result]]) -> list[Result]:
    """Return one result per case: medians over the runs that include it."""
    found: dict[tuple[Any, ...], list[Result]] = {}
    for run in runs:
        for result in run:
            found.setdefault(key(result), []).append(result)
    return [_combined(results) for results in found.values()]


def _combined(results: list[Result]) -> Result:
    names = [name for name in results[0]["seconds"] if all(name in result["seconds"] for result in results)]
    seconds = {name: statistics.median(result["seconds"][name] for result in results) for name in names}
    ratios = [result["ratio"] for result in results if result["ratio"] is not None]
    shares = [result["share_of_copy"] for result in results if result["share_of_copy"] is not None]
    rivals = {name: taken for name, taken in seconds.items() if name != "ep"}
    return results[0] | {
        "seconds": seconds,
        "quartiles": {name: _middle(result["quartiles"][name] for result in results) for name in names},
        "best_peer": min(rivals, key=rivals.__getitem__, default=None),
        "ratio": statistics.median(ratios) if ratios else None,
        "ratios": ratios,
        "share_of_copy": statistics.median(shares) if shares else None,
        "wrong": {name: text for result in results for name, text in result["wrong"].items()},
        "runs": len(results),
    }


def _middle(quartiles: Iterable[list[float]]) -> list[float]:
    return [statistics.median(values) for values in zip(*quartiles, strict=True)]


def show(results: Sequence[Result]) -> None:
    """Print the table."""
    output.table(_COLUMNS, [_row(result) for result in results], right=(*_COLUMNS[3:6], *_COLUMNS[7:]))


def _row(result: Result) -> list[str]:
    start = [result["set"], result["case"], result["dtype"], f"{result['elements']:,}"]
    ours, best = result["seconds"].get("ep"), result["best_peer"]
    if ours is None:
        return [*start, "wrong", *[""] * 6]
    lower, upper = result["quartiles"]["ep"]
    peer = [best, _milliseconds(result["seconds"][best]), f"{result['ratio']:.2f}"] if best else ["", "", ""]
    return [
        *start,
        _milliseconds(ours),
        f"{(upper - lower) / ours:.0%}",
        *peer,
        f"{result['bytes'] / ours / 1e9:.1f}",
        "" if result["share_of_copy"] is None else f"{result['share_of_copy']:.2f}",
    ]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.5f}" if seconds < 1e-4 else f"{seconds * 1e3:.3f}"


def summarise(results: Sequence[Result]) -> None:
    """Print geometric means, the cases that are slower than a peer, and the results that differ."""
    print("\ngeometric means of the ratios (time of the best peer / time of ep):")
    for what, ratio, number in means(results):
        print(f"  {ratio:5.2f}  {what} ({text.plural(number, 'case')})")
    print("\n".join(behind(results)))
    for result in results:
        for name, why in result["wrong"].items():
            print(f"not timed: {name}, {_name(result)}: {why}")


def means(results: Sequence[Result]) -> list[tuple[str, float, int]]:
    """Return for each group of cases its description, the geometric mean of its ratios, and its size."""
    rated = [result for result in results if result["ratio"]]
    launched = [result for result in rated if result["size"] >= FROM]
    groups: dict[str, list[Result]] = {"all cases": rated, f"all cases of at least {FROM:,} elements": launched}
    for group in dict.fromkeys(result["group"] for result in rated):
        if group != "transcendental":
            groups[f"{group}, at least {FROM:,} elements"] = [r for r in launched if r["group"] == group]
    for dtype in dict.fromkeys(result["dtype"] for result in rated):
        chosen = [r for r in rated if r["group"] == "transcendental" and r["dtype"] == dtype]
        large = [r for r in chosen if r["size"] >= _COMPUTES_FROM]
        groups[f"transcendental {dtype}, at least {_COMPUTES_FROM:,} elements"] = large
    groups["fewer than 1,001 elements"] = [r for r in rated if r["size"] <= 1000]
    ratios = {what: [result["ratio"] for result in chosen] for what, chosen in groups.items()}
    ratios |= _halves(results)
    return [(what, statistics.geometric_mean(values), len(values)) for what, values in ratios.items() if values]


def _halves(results: Sequence[Result]) -> dict[str, list[float]]:
    """Return the time of the 16-bit types per element divided by that of float32, if both were measured."""
    times = {key(result): result["seconds"]["ep"] for result in results if "ep" in result["seconds"]}
    return {
        f"{dtype}'s time / float32's, {group}": [
            times[key(result)] / times[beside]
            for result in results
            if result["dtype"] == dtype
            and result["group"] == group
            and result["size"] >= _COMPUTES_FROM
            and (beside := key(result | {"dtype": "float32"})) in times
            and key(result) in times
        ]
        for dtype in ("float16", "bfloat16")
        for group in ("transcendental", "memory-bound")
    }


def behind(results: Sequence[Result]) -> list[str]:
    """Return the number of cases that are slower than the best peer, and a line for each, the slowest first."""
    rated = [result for result in results if result["ratio"] and result["size"] >= FROM]
    slow = sorted((r for r in rated if r["ratio"] < WANTED), key=lambda r: r["ratio"])
    lines = ["", f"ratio below {WANTED} at {FROM:,} elements or more: {len(slow)} of {len(rated)}"]
    for result in slow:
        ratios = ", ".join(f"{ratio:.2f}" for ratio in result["ratios"])
        each_run = f" ({ratios})" if result["runs"] > 1 else ""
        lines.append(f"  {result['ratio']:5.2f}  {_name(result)}: {result['best_peer']}{each_run}")
    return lines


def _name(result: Result) -> str:
    return f"{result['set']} {result['case']}, {result['dtype']}, {result['elements']:,} elements"
