"""The choice of measured cases that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ep.bench.plot import Point

Result = dict[str, Any]

_PREFERRED: Final = (
    *(("unary", "relu"), ("unary", "gelu"), ("binary", "add, same shape"), ("binary", "add, row")),
    *(("where", "where, one shape"), ("cast", "cast to float16"), ("add", "add 4 operands")),
    *(("expand", "alternating axes"), ("permute", "matrix"), ("pad", "pad images"), ("copy_nd", "box")),
    *(("fill", "fill"), ("one_hot", "one-hot of 10"), ("gather", "rows of 64 B"), ("gather", "rows of 3072 B")),
    *(("batch_gather", "rows of 64 B, 16 batches"), ("segment_sum", "sum of words' gradients")),
    *(("reduce", "sum, last axis"), ("reduce", "sum, first axis")),
    *(("softmax", "softmax, 1024 columns"), ("softmax", "softmax, gradient")),
)
_MOST_PANELS: Final = 21


def panels(results: Sequence[Result]) -> dict[str, list[Point]]:
    """Return the panels of a plot: well-known cases first, then others, of three sizes or more."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for result in results:
        if result["seconds"]:
            name = result["set"], result["case"], result["dtype"]
            found.setdefault(name, []).append(Point(result["bytes"], result["seconds"]))
    many = {name: sorted(points, key=lambda p: p.num_bytes) for name, points in found.items() if len(points) > 2}
    float32 = [name for pair in _PREFERRED if (name := (*pair, "float32")) in many]
    chosen = [*float32, *(name for name in many if name not in float32)]
    return {"{}: {}, {}".format(*name): many[name] for name in chosen[:_MOST_PANELS]}
