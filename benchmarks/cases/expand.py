"""Cases of Expand: leading, middle and last axes, tiny inner ones, and repeated and kept axes in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.cases.common import shape
from ep.bench.builders import expand
from ep.bench.case import Case

_SMALLEST: Final = 64


def expand_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield expansions to about `size` elements."""
    about: dict[str, Any] = {"dtype": dtype, "group": "expand"}
    if size < _SMALLEST:
        yield expand("leading axis", (1,), (size,), **about)
        return
    rows, columns = shape(size, 2)
    yield expand("leading axis", (1, columns), (rows, columns), **about)
    yield expand("last axis", (rows, 1), (rows, columns), **about)
    a, b, c = shape(size, 3)
    yield expand("middle axis", (a, 1, c), (a, b, c), **about)
    third = size // 3
    yield expand("last axis of 3", (third, 1), (third, 3), **about)
    rows, columns = shape(third, 2)
    yield expand("middle axis, rows of 3", (rows, 1, 3), (rows, columns, 3), **about)
    a, b, c, d = shape(size, 4)
    yield expand("alternating axes", (a, 1, c, 1), (a, b, c, d), **about)
    yield expand("alternating axes, last kept", (1, b, 1, d), (a, b, c, d), **about)
