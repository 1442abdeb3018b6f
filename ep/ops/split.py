"""split: an array in several parts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ep.common.checks import as_integer
from ep.common.primitive.box_copy import BoxCopy
from ep.include.arrays import Array, ArrayLike
from ep.ops.boxes import copy_box
from ep.ops.devices import arrays_of
from ep.ops.shapes import from_front


def split(x: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the parts of `x` along an axis, as `numpy.split`; they are arrays of their own, and no views.

    indices_or_sections: how many equal parts; or where they end, but for the last: `[2, 5]` gives `[:2]`, `[2:5]` and
        `[5:]`, which NumPy's rules for slices read.
    axis: negative: counted from the last.

    Raises ValueError where the parts cannot be equal.
    """
    on = arrays_of((x,), ("x",))
    src = on.as_buffer(x, "x")
    along = from_front(axis, "axis", len(src.shape), len(src.shape))
    inner, size = math.prod(src.shape[along + 1 :]), src.shape[along]
    outer = math.prod(src.shape[:along])
    parts = []
    for begin, end in _sections(indices_or_sections, size):
        part = on.destination((*src.shape[:along], end - begin, *src.shape[along + 1 :]), src.dtype, None)
        dims = outer, (end - begin) * inner
        copy_box(on, BoxCopy(dims, (0, 0), (outer, size * inner), (0, begin * inner), dims), src, part)
        parts.append(on.delivered(part, None))
    return parts


def _sections(indices_or_sections: Any, size: int) -> list[tuple[int, int]]:
    """Return where each part begins and ends."""
    if isinstance(indices_or_sections, Iterable) and getattr(indices_or_sections, "ndim", None) != 0:
        name = "indices_or_sections"
        ends = [as_integer(end, f"{name}[{place}]") for place, end in enumerate(indices_or_sections)]
        pairs = zip([0, *ends], [*ends, size], strict=True)
        ranges = [slice(begin, end).indices(size) for begin, end in pairs]
        return [(begin, max(begin, end)) for begin, end, _ in ranges]
    count = as_integer(indices_or_sections, "indices_or_sections")
    if count < 1 or size % count:
        raise ValueError(f"indices_or_sections is {count}, and the axis has {size} elements: no equal parts")
    part = size // count
    return [(place * part, (place + 1) * part) for place in range(count)]
