"""Operators on windows: convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ep import ops


def _pads(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
    pads: Any,
) -> list[int]:
    """Return the numbers of padded elements before each axis, then after each, by the rules of `auto_pad`."""
    if auto_pad in ("NOTSET", "VALID"):
        return list(pads) if pads is not None and auto_pad == "NOTSET" else [0] * (2 * len(sizes))
    before, behind = [], []
    for size, places, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        span = (places - 1) * dilation + 1
        missing = max((-(-size // stride) - 1) * stride + span - size, 0)
        less, more = missing // 2, missing - missing // 2
        before.append(less if auto_pad == "SAME_UPPER" else more)
        behind.append(more if auto_pad == "SAME_UPPER" else less)
    return [*before, *behind]


def _each(given: Sequence[int] | None, number: int) -> list[int]:
    return [1] * number if given is None else list(given)


def conv(
    x: Any, w: Any, bias: Any = None, *, auto_pad: str, group: int, kernel_shape: Any = None,
    strides: Any = None, dilations: Any = None, pads: Any = None,
) -> Any:  # fmt: skip
    """Return the products of windows with filters."""
    num = len(w.shape) - 2
    strides, dilations = _each(strides, num), _each(dilations, num)
    pads = _pads(x.shape[2:], w.shape[2:], strides, dilations, auto_pad, pads)
    return ops.conv(x, w, bias, strides=strides, pads=pads, dilations=dilations, groups=group)


def conv_transpose(
    x: Any, w: Any, bias: Any = None, *, auto_pad: str, group: int, kernel_shape: Any = None, strides: Any = None,
    dilations: Any = None, pads: Any = None, output_padding: Any = None, output_shape: Any = None,
) -> Any:  # fmt: skip
    """Return sums of windows: the gradient of a convolution with respect to x."""
    num = len(w.shape) - 2
    strides, dilations = _each(strides, num), _each(dilations, num)
    extra = [0] * num if output_padding is None else list(output_padding)
    spans = [(places - 1) * dilation + 1 for places, dilation in zip(w.shape[2:], dilations, strict=True)]
    whole = [(n - 1) * s + more + span for n, s, more, span in zip(x.shape[2:], strides, extra, spans, strict=True)]
    if output_shape is not None or auto_pad not in ("NOTSET", "VALID"):
        sizes = output_shape or [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        missing = [max(all_ - size, 0) for all_, size in zip(whole, sizes[-num:], strict=True)]
        less, more = [one // 2 for one in missing], [one - one // 2 for one in missing]
        pads = [*less, *more] if auto_pad == "SAME_UPPER" else [*more, *less]
        whole = [max(all_, size) for all_, size in zip(whole, sizes[-num:], strict=True)]
    pads = [0] * (2 * num) if pads is None else list(pads)
    sizes = [all_ - pads[k] - pads[k + num] for k, all_ in enumerate(whole)]
    shape = (x.shape[0], w.shape[1] * group, *sizes)
    y = ops.conv_x_grad(x, w, shape, strides=strides, pads=pads, dilations=dilations, groups=group)
    return y if bias is None else ops.add(y, bias.reshape((*bias.shape, *[1] * num)))


def max_pool(
    x: Any, *, auto_pad: str, kernel_shape: Sequence[int], ceil_mode: int = 0, strides: Any = None,
    dilations: Any = None, pads: Any = None, storage_order: int = 0,
) -> Any:  # fmt: skip
    """Return the largest element of each window."""
    num = len(kernel_shape)
    strides, dilations = _each(strides, num), _each(dilations, num)
    pads = _pads(x.shape[2:], kernel_shape, strides, dilations, auto_pad, pads)
    return ops.max_pool(x, kernel_shape, strides, pads, dilations, bool(ceil_mode))


def average_pool(
    x: Any, *, auto_pad: str, kernel_shape: Sequence[int], ceil_mode: int = 0, strides: Any = None,
    dilations: Any = None, pads: Any = None, count_include_pad: int = 0,
) -> Any:  # fmt: skip
    """Return the mean of each window, with or without the padding."""
    num = len(kernel_shape)
    strides, dilations = _each(strides, num), _each(dilations, num)
    pads = _pads(x.shape[2:], kernel_shape, strides, dilations, auto_pad, pads)
    return ops.average_pool(x, kernel_shape, strides, pads, dilations, bool(ceil_mode), bool(count_include_pad))


def lp_pool(x: Any, *, p: int, kernel_shape: Sequence[int], **attributes: Any) -> Any:
    """Return the norm of each window."""
    powers = ops.pow(ops.abs(x), float(p))
    means = average_pool(powers, kernel_shape=kernel_shape, **{**attributes, "count_include_pad": 1})
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
