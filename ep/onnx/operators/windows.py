"""Operators on windows: convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep import ops
from ep.onnx.operators.attributes import one_of
from ep.onnx.operators.norms import of_channels

check: Final = one_of(auto_pad=("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))


def _around(
    sizes: Sequence[int], kernel: Sequence[int], *, auto_pad: str, strides: Any = None, dilations: Any = None,
    pads: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the strides, dilations and pads of windows of axes: the numbers of places before each axis, then after
    each."""
    strides, dilations = strides or [1] * len(sizes), dilations or [1] * len(sizes)
    if auto_pad == "VALID":
        pads = 0
    elif auto_pad != "NOTSET":
        each = zip(sizes, strides, _spans(kernel, dilations), strict=True)
        pads = _halves([(-(-size // stride) - 1) * stride + span for size, stride, span in each], sizes, auto_pad)
    return {"strides": strides, "dilations": dilations, "pads": pads or 0}


def _spans(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Return the numbers of places from the first to the last one of a window."""
    return [(places - 1) * dilation + 1 for places, dilation in zip(kernel, dilations, strict=True)]


def _halves(wide: Sequence[int], sizes: Sequence[int], auto_pad: str) -> list[int]:
    """Return how much wider axes are than `sizes`: half of it before each, then half of it after each."""
    missing = [max(one - size, 0) for one, size in zip(wide, sizes, strict=True)]
    less, more = [one // 2 for one in missing], [one - one // 2 for one in missing]
    return [*less, *more] if auto_pad == "SAME_UPPER" else [*more, *less]


def conv(x: Any, w: Any, bias: Any = None, *, group: int, kernel_shape: Any = None, **around: Any) -> Any:
    """Return the products of windows with filters."""
    return ops.conv(x, w, bias, groups=group, **_around(x.shape[2:], w.shape[2:], **around))


def conv_transpose(
    x: Any, w: Any, bias: Any = None, *, auto_pad: str, group: int, kernel_shape: Any = None, strides: Any = None,
    dilations: Any = None, pads: Any = None, output_padding: Any = None, output_shape: Any = None,
) -> Any:  # fmt: skip
    """Return sums of windows: the gradient of a convolution with respect to x."""
    num = len(w.shape) - 2
    strides, dilations = strides or [1] * num, dilations or [1] * num
    extra = output_padding or [0] * num
    spans = _spans(w.shape[2:], dilations)
    whole = [(n - 1) * s + more + span for n, s, more, span in zip(x.shape[2:], strides, extra, spans, strict=True)]
    if output_shape or auto_pad not in ("NOTSET", "VALID"):
        sizes = [*(output_shape or [n * s for n, s in zip(x.shape[2:], strides, strict=True)])][-num:]
        pads = _halves(whole, sizes, auto_pad)
    else:
        pads = pads or [0] * (2 * num)
        sizes = [size - pads[k] - pads[k + num] for k, size in enumerate(whole)]
    shape = (x.shape[0], w.shape[1] * group, *sizes)
    y = ops.conv_x_grad(x, w, shape, strides=strides, pads=pads, dilations=dilations, groups=group)
    return y if bias is None else ops.add(y, of_channels(bias, y, "B"))


def max_pool(x: Any, *, kernel_shape: Sequence[int], ceil_mode: int = 0, storage_order: int = 0, **around: Any) -> Any:
    """Return the largest element of each window."""
    return ops.max_pool(x, kernel_shape, ceil_mode=bool(ceil_mode), **_around(x.shape[2:], kernel_shape, **around))


def average_pool(
    x: Any, *, kernel_shape: Sequence[int], ceil_mode: int = 0, count_include_pad: int = 0, **around: Any
) -> Any:
    """Return the mean of each window, with or without the padding."""
    flags = {"ceil_mode": bool(ceil_mode), "count_include_pad": bool(count_include_pad)}
    return ops.average_pool(x, kernel_shape, **flags, **_around(x.shape[2:], kernel_shape, **around))


def lp_pool(x: Any, *, p: int, kernel_shape: Sequence[int], **attributes: Any) -> Any:
    """Return the norm of each window."""
    powers = ops.pow(ops.abs(x), float(p))
    means = average_pool(powers, kernel_shape=kernel_shape, count_include_pad=1, **attributes)
    return ops.pow(ops.mul(means, float(math.prod(kernel_shape))), 1.0 / p)


def lrn(x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    """Return x over a power of the mean of squares of some channels around each, times alpha, plus a bias."""
    rows = ops.mul(x, x).reshape((x.shape[0], x.shape[1], math.prod(x.shape[2:])))
    means = ops.average_pool(
        rows.reshape((x.shape[0], 1, *rows.shape[1:])), (size, 1), 1, [(size - 1) // 2, 0, size // 2, 0], 1, False, True
    )
    return ops.div(x, ops.pow(ops.add(ops.mul(means.reshape(x.shape), alpha), bias), beta))


def global_average_pool(x: Any) -> Any:
    """Return the mean of each channel."""
    return ops.mean(x, tuple(range(2, len(x.shape))), keepdims=True)


def global_max_pool(x: Any) -> Any:
    """Return the largest element of each channel."""
    return ops.max(x, tuple(range(2, len(x.shape))), keepdims=True)
