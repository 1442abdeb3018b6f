"""Operators that make arrays."""

from __future__ import annotations

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
    "empty.memory_format": lambda call, shape, **_: call.filled(shape, 0),
    "new_zeros": lambda call, x, shape, **_: call.filled(shape, 0),
})  # fmt: skip


@computes("arange.default", "arange.start", "arange.start_step")
def _(call: Call, *numbers: Any, **_: Any) -> Any:
    return call.constant(np.arange(*numbers).astype(call.dtype))
