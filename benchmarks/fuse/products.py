"""Products with the operators after them: in one kernel, and one by one. `python -m benchmarks.fuse.products`.

Medians of samples taken in turns, of layers of an encoder and of others. There are three ways: one product kernel, a
product with map kernels before and after it, and operators one by one. ratio: the time of the second way over that of
the first.
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

_FLOAT32, _BFLOAT16 = ep.DataType.kFloat.dtype, ep.DataType.kBFloat16.dtype
_TYPES: Final = {
    "float32": (_FLOAT32, _FLOAT32),
    "bfloat16": (_BFLOAT16, _BFLOAT16),
    "float32, w: bfloat16": (_FLOAT32, _BFLOAT16),
}
"""The types of the arrays, and of w, which is cast to the other type first if they differ."""


def _bias_gelu(ops: Any, x: Any, w: Any, b: Any) -> Any:
    return ops.gelu(ops.add(ops.matmul(x, w), b))


def _bias_residual(ops: Any, x: Any, w: Any, b: Any, r: Any) -> Any:
    return ops.add(ops.add(ops.matmul(x, w), b), r)


def _bias_relu(ops: Any, x: Any, w: Any, b: Any) -> Any:
    return ops.relu(ops.add(ops.matmul(x, w), b))


def _scale(ops: Any, x: Any, w: Any) -> Any:
    return ops.mul(ops.matmul(x, w), 0.125)


def _after_cast(function: Callable[..., Any], x: Any, w: Any, *others: Any) -> Any:
    return function(ep.ops, x, ep.ops.cast(w, x.dtype), *others)


_CASES: Final[dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]] = {
    **{
        f"{name}, {rows} x {k} x {n}": (function, ((rows, k), (k, n), (n,), *[(rows, n)] * residual))
        for rows in (16, 128, 4096)
        for name, function, k, n, residual in (
            ("bias, gelu", _bias_gelu, 384, 1536, 0),
            ("bias, residual", _bias_residual, 1536, 384, 1),
            ("bias, residual", _bias_residual, 384, 384, 1),
        )
    },
    "scale, 12 of 16 x 32 x 16": (_scale, ((12, 16, 32), (12, 32, 16))),
    "scale, 384 of 128 x 32 x 128": (_scale, ((384, 128, 32), (384, 32, 128))),
    "bias, relu, 1 x 1024 x 1024": (_bias_relu, ((1, 1024), (1024, 1024), (1024,))),
    "bias, gelu, 2000 x 8 x 2000": (_bias_gelu, ((2000, 8), (8, 2000), (2000,))),
    "bias, relu, 4 x 3 x 5": (_bias_relu, ((4, 3), (3, 5), (5,))),
    "bias, relu, 8 x 4096 x 6": (_bias_relu, ((8, 4096), (4096, 6), (6,))),
    "bias, relu, 50000 x 32 x 1": (_bias_relu, ((50_000, 32), (32, 1), (1,))),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each case")
    parser.add_argument("--compile", action="store_true", help="compile what is measured, and time nothing")
    given = parser.parse_args()
    rows = list[list[str]]()
    for name, dtype, calls in _cases():
        results = [np.asarray(call()).view(np.uint8) for call in calls.values()]
        assert all(np.array_equal(results[0], one) for one in results[1:]), f"{name}: another result"
        if given.compile:
            continue
        times = {one: timing.median for one, timing in interleaved(calls, given.seconds, wait_for_threads).items()}
        ratio = times["map kernel"] / times["product kernel"]
        rows.append([name, dtype, *(f"{times.get(one, np.nan) * 1e6:.1f}" for one in calls), f"{ratio:.2f}"])
    if not given.compile:
        columns = ("product", "dtype", "product kernel", "map kernel", "one by one", "ratio")
        output.table(columns, rows, "microseconds", right=columns[2:])


def _cases() -> Iterator[tuple[str, str, dict[str, Callable[[], Any]]]]:
    """Yield the name, the type and the three ways of each case."""
    for name, (function, shapes) in _CASES.items():
        for of_type, (dtype, of_w) in _TYPES.items():
            rng = np.random.default_rng(20)
            arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
            arrays[1] = arrays[1].astype(of_w)
            computed = partial(function, ep.ops) if dtype == of_w else partial(_after_cast, function)
            in_one, in_two = (ep.fuse(computed, round_each=True) for _ in range(2))
            with patch.object(Rules, "why_no_product", lambda self, node: "it is measured"):
                assert "product kernel" not in in_two.explain(*arrays)
            yield (
                name,
                of_type,
                {
                    "product kernel": partial(in_one, *arrays),
                    "map kernel": partial(in_two, *arrays),
                    "one by one": partial(computed, *arrays),
                },
            )


if __name__ == "__main__":
    main()
