"""Sums of segments of computed elements: in one kernel, and one by one. `python -m benchmarks.fuse.segments`.

Medians of samples taken in turns. There are three ways: one reduce kernel, a map kernel and a sum after it, and
operators one by one. ratio: the time of the second way over that of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import ep
from benchmarks.quiet import wait_for_threads
from ep.bench.timing import interleaved
from ep.cli import output
from ep.expressions.rules import Rules


def _scaled(number: int, ops: Any, x: Any, w: Any, ids: Any) -> Any:
    return ops.segment_sum(ops.mul(x, w), ids, number)


def _gelu(number: int, ops: Any, x: Any, w: Any, ids: Any) -> Any:
    return ops.segment_sum(ops.gelu(ops.add(x, w)), ids, number)


def _messages(number: int, ops: Any, x: Any, w: Any, ids: Any, sources: Any) -> Any:
    return ops.segment_sum(ops.mul(ops.gather(x, sources), w), ids, number)


_CASES: Final[dict[str, tuple[Callable[..., Any], int, int, int, str]]] = {  # rows, columns, segments, order of ids
    f"{name}, {rows} x {columns}, {number} segments, {order} ids": (function, rows, columns, number, order)
    for name, function, rows, columns, number, order in (
        ("scaled", _scaled, 65_536, 16, 1000, "random"),
        ("scaled", _scaled, 65_536, 32, 1000, "random"),
        ("scaled", _scaled, 65_536, 64, 1000, "random"),
        ("scaled", _scaled, 65_536, 64, 1000, "sorted"),
        ("scaled", _scaled, 65_536, 64, 65_536, "random"),
        ("scaled", _scaled, 16_384, 384, 1000, "random"),
        ("scaled", _scaled, 4096, 384, 30_522, "random"),
        ("scaled", _scaled, 16_384, 384, 2, "skewed"),
        ("gelu", _gelu, 16_384, 384, 1000, "random"),
        ("scaled", _scaled, 256, 64, 16, "random"),
        ("messages", _messages, 65_536, 64, 8192, "random"),
        ("messages", _messages, 65_536, 256, 8192, "random"),
    )
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each case")
    parser.add_argument("--compile", action="store_true", help="compile what is measured, and time nothing")
    given = parser.parse_args()
    rows = list[list[str]]()
    for name, calls in _cases():
        results = [np.asarray(call()).view(np.uint8) for call in calls.values()]
        assert all(np.array_equal(results[0], one) for one in results[1:]), f"{name}: another result"
        if given.compile:
            continue
        times = {one: timing.median for one, timing in interleaved(calls, given.seconds, wait_for_threads).items()}
        ratio = times["map kernel"] / times["reduce kernel"]
        rows.append([name, *(f"{times[one] * 1e6:.1f}" for one in calls), f"{ratio:.2f}"])
    if not given.compile:
        columns = ("sum", "reduce kernel", "map kernel", "one by one", "ratio")
        output.table(columns, rows, "microseconds", right=columns[1:])


def _cases() -> Iterator[tuple[str, dict[str, Callable[[], Any]]]]:
    """Yield the name and the three ways of each case."""
    for name, (function, rows, columns, number, order) in _CASES.items():
        rng = np.random.default_rng(20)
        ids = rng.integers(0, number, rows) if order != "skewed" else (rng.random(rows) < 0.01).astype(np.int64)
        ids = np.sort(ids) if order == "sorted" else ids
        if function is _messages:
            x, w = rng.normal(size=(number, columns)), rng.normal(size=(rows, 1))
            arrays = [x.astype(np.float32), w.astype(np.float32), ids, rng.integers(0, number, rows)]
        else:
            arrays = [rng.normal(size=size).astype(np.float32) for size in ((rows, columns), (columns,))] + [ids]
        in_one, in_two = (ep.fuse(partial(function, number, ep.ops), round_each=True) for _ in range(2))
        assert columns < 32 or "reduce kernel" in in_one.explain(*arrays)
        with patch.object(Rules, "why_no_segments", lambda self, node: "it is measured"):
            assert "reduce kernel" not in in_two.explain(*arrays)
        yield (
            name,
            {
                "reduce kernel": partial(in_one, *arrays),
                "map kernel": partial(in_two, *arrays),
                "one by one": partial(function, number, ep.ops, *arrays),
            },
        )


if __name__ == "__main__":
    main()
