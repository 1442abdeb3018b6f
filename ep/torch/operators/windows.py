"""Pools and resizes."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Call, computes


def _each(value: Any, default: list[int]) -> list[int]:
    """Return an argument of windows for each axis."""
    if value in ([], None):
        return default
    return [value] * len(default) if isinstance(value, int) else [*value] * (len(default) // len(value))


@computes("max_pool2d_with_indices")
def _(
    call: Call, x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    if call.is_read(1):
        raise NotImplementedError("a pool with indices")
    sizes = _each(kernel, [0, 0])
    x4 = x.reshape((1, *x.shape)) if len(x.shape) == 3 else x
    y = ops.max_pool(
        x4, sizes, _each(stride, sizes), _each(padding, [0, 0]) * 2, _each(dilation, [1, 1]), ceil_mode=ceil_mode
    )
    return (y.reshape(y.shape[1:]) if len(x.shape) == 3 else y), None


@computes("avg_pool2d")
def _(
    call: Call, x: Any, kernel: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    if divisor_override is not None:
        raise NotImplementedError("a divisor of one's own")
    sizes = _each(kernel, [0, 0])
    x4 = x.reshape((1, *x.shape)) if len(x.shape) == 3 else x
    y = ops.average_pool(
        x4, sizes, _each(stride, sizes), _each(padding, [0, 0]) * 2, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )  # fmt: skip
    return y.reshape(y.shape[1:]) if len(x.shape) == 3 else y
