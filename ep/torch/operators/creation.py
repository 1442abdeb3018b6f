"""Operators that make arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.torch.table import Call, add_all, computes

add_all({
    "full": lambda call, shape, value, **_: call.filled(shape, value),
    "full_like": lambda call, x, value, **_: call.filled(x.shape, value),
    "fill.Scalar": lambda call, x, value: call.filled(x.shape, value),
    "scalar_tensor": lambda call, value, **_: call.cast(value),
    "zeros": lambda call, shape, **_: call.filled(shape, 0),
    "ones": lambda call, shape, **_: call.filled(shape, 1),
    "zeros_like": lambda call, x, **_: call.filled(x.shape, 0),
    "ones_like": lambda call, x, **_: call.filled(x.shape, 1),
    "empty.memory_format empty_permuted empty_strided": lambda call, shape, *_, **__: call.filled(shape, 0),
    "new_zeros new_empty_strided": lambda call, x, shape, *_, **__: call.filled(shape, 0),
})  # fmt: skip


@computes("arange.default", "arange.start", "arange.start_step")
def _(call: Call, *numbers: Any, **_: Any) -> Any:
    start, end, step = {1: (0, *numbers, 1), 2: (*numbers, 1)}.get(len(numbers), numbers)
    if call.dtype == np.int64:
        start, end, step = int(start), int(end), int(step)
    count = max(math.ceil((end - start) / step), 0)
    if call.dtype.kind in "iu":
        start, step = int(start), int(step)
    return call.constant((np.arange(count) * step + start).astype(call.dtype))
