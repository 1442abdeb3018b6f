"""Operators on windows: convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators import fitting
from ep.onnx.operators.fitting import check_each, check_places, check_rank, check_shape
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.norms import of_channels
from ep.onnx.operators.placing import placed
from ep.onnx.operators.types import in_float32

check: Final = one_of(auto_pad=("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))


def window_attributes(
    x: Any, kernel: Sequence[int], *, auto_pad: str, strides: Any = None, dilations: Any = None, pads: Any = None,
    ceil_mode: int = 0, least: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Return the strides, dilations and pads of windows of x: the numbers of places before each axis, then after each.

    least: the smallest number of windows along an axis that has elements; ONNX's formula must never give less than 0.
    """
    check_rank("X", x, least=3)
    sizes = x.shape[2:]
    strides, dilations = strides or [1] * len(sizes), dilations or [1] * len(sizes)
    for argument, given in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        check_each(argument, given, len(sizes), 1)
    spans = _spans(kernel, dilations)
    if auto_pad == "VALID":
        pads = 0
    elif auto_pad != "NOTSET":
        each = zip(sizes, strides, spans, strict=True)
        pads = _halves([(-(-size // stride) - 1) * stride + span for size, stride, span in each], sizes, auto_pad)
    if auto_pad in ("NOTSET", "VALID"):
        pads = pads or [0] * (2 * len(sizes))
        check_each("pads", pads, 2 * len(sizes), None)
        for k, (size, span, stride) in enumerate(zip(sizes, spans, strides, strict=True)):
            whole = size + pads[k] + pads[k + len(sizes)]
            count = (-((span - whole) // stride) if ceil_mode else (whole - span) // stride) + 1
            wanted = f"such that windows fit in the sizes {tuple(sizes)} with pads {[*pads]}: {span} places, of {whole}"
            fitting.check(count >= (least if whole else 0), "kernel_shape", [*kernel], wanted)
    return {"strides": strides, "dilations": dilations, "pads": pads or 0}


def _spans(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Return the numbers of places from the first to the last one of a window."""
    return [(places - 1) * dilation + 1 for places, dilation in zip(kernel, dilations, strict=True)]


def _halves(wide: Sequence[int], sizes: Sequence[int], auto_pad: str) -> list[int]:
    """Return how much wider axes are than `sizes`: half of it before each, then half of it after each."""
    missing = [max(one - size, 0) for one, size in zip(wide, sizes, strict=True)]
    less, more = [one // 2 for one in missing], [one - one // 2 for one in missing]
    return [*less, *more] if auto_pad == "SAME_UPPER" else [*more, *less]


@line("Conv", 1, check=check)
def conv(x: Any, w: Any, bias: Any = None, *, group: int, kernel_shape: Any = None, **around: Any) -> Any:
    """Return the products of windows with filters."""
    check_filters(x, w, kernel_shape)
    return ops.conv(x, w, bias, groups=group, **window_attributes(x, w.shape[2:], least=1, **around))


@line("CausalConvWithState", 27, check=one_of(activation=("none", "silu", "swish")))
def causal_conv(
    x: Any, w: Any, bias: Any = None, past: Any = None, *, activation: str = "none"
) -> tuple[Any, Any]:  # fmt: skip
    """Return the products of each channel's windows that end with each place; and the last places, which the next call
    gets as its past. Places before the past are zeros."""
    check_rank("input", x, 3)
    channels, kernel = x.shape[1], w.shape[-1]
    check_shape("weight", w, (channels, 1, kernel))
    check_shape("bias", bias, (channels,))
    check_shape("past_state", past, (x.shape[0], channels, kernel - 1))
    whole = ops.pad(x, [(0, 0), (0, 0), (kernel - 1, 0)]) if past is None else ops.concat((past, x), 2)
    y = ops.conv(whole, w, bias, groups=channels)
    state = ops.slice(whole, (None, None), (None, None), (whole.shape[2] - kernel + 1, None))
    return y if activation == "none" else ops.silu(y), state


@line("ConvTranspose", 1, check=check)
def conv_transpose(
    x: Any, w: Any, bias: Any = None, *, auto_pad: str, group: int, kernel_shape: Any = None, strides: Any = None,
    dilations: Any = None, pads: Any = None, output_padding: Any = None, output_shape: Any = None,
) -> Any:  # fmt: skip
    """Return sums of windows: the gradient of a convolution with respect to x."""
    check_filters(x, w, kernel_shape)
    num = len(w.shape) - 2
    if output_shape is not None and len(output_shape) == num + 2:  # some have all sizes of the result
        output_shape = output_shape[2:]
    fits = group > 0 and w.shape[0] == x.shape[1] and w.shape[0] % group == 0
    fitting.check(fits, "W of shape", tuple(w.shape), f"of the {x.shape[1]} channels of X, in {group} equal groups")
    for argument, given, count, least in (("strides", strides, num, 1), ("dilations", dilations, num, 1),
                                          ("pads", pads, 2 * num, None), ("output_padding", output_padding, num, 0),
                                          ("output_shape", output_shape, num, 0)):  # fmt: skip
        check_each(argument, given or [1] * count, count, least)
    strides, dilations = strides or [1] * num, dilations or [1] * num
    extra = output_padding or [0] * num
    spans = _spans(w.shape[2:], dilations)
    bare = [(n - 1) * s + span for n, s, span in zip(x.shape[2:], strides, spans, strict=True)]
    whole = [size + more for size, more in zip(bare, extra, strict=True)]
    if output_shape or auto_pad not in ("NOTSET", "VALID"):
        sizes = [*(output_shape or [n * s for n, s in zip(x.shape[2:], strides, strict=True)])]
        pads = _halves(whole, sizes, auto_pad)
    else:
        pads = pads or [0] * (2 * num)
        sizes = [size - pads[k] - pads[k + num] for k, size in enumerate(whole)]
        fitting.check(min(sizes) >= 0, "pads", pads, f"such that no more than {whole} elements are left out")
    left = [size - before for size, before in zip(bare, pads, strict=False)]  # what windows reach, from the pads on
    reached = [min(size, most + s - 1) for size, most, s in zip(sizes, left, strides, strict=True)]
    after = [max(most - size, 0) for most, size in zip(left, reached, strict=True)]
    y = ops.conv_x_grad(
        x, w, (x.shape[0], w.shape[1] * group, *reached), strides=strides, pads=[*pads[:num], *after],
        dilations=dilations, groups=group,
    )  # fmt: skip
    if reached != sizes:
        beyond = ((0, size - most) for size, most in zip(sizes, reached, strict=True))
        y = ops.pad(y, [(0, 0), (0, 0), *beyond])
    return y if bias is None else ops.add(y, of_channels(bias, y, "B"))


def check_filters(x: Any, w: Any, kernel_shape: Any) -> None:
    """Raise ValueError for filters of other windows than of x, or than the attribute tells."""
    check_rank("X", x, least=3)
    check_rank("W", w, len(x.shape))
    kernel = [*w.shape[2:]]
    fitting.check(
        kernel_shape is None or [*kernel_shape] == kernel, "kernel_shape", kernel_shape, f"{kernel}, as W has"
    )


@line("MaxPool", 1, check=check)
def max_pool(
    x: Any, *, kernel_shape: Sequence[int], ceil_mode: int = 0, storage_order: int = 0, **around: Any
) -> tuple[Any, Any]:
    """Return the largest element of each window, and its number in the whole of x; -1 if a window has no elements."""
    is_ceil = _may_reach_beyond(ceil_mode, **around)
    given = {
        "kernel": kernel_shape,
        "ceil_mode": is_ceil,
        **window_attributes(x, kernel_shape, ceil_mode=is_ceil, **around),
    }
    sizes, planes, rank = x.shape[2:], x.shape[:2], len(x.shape)
    numbers = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes, order="F" if storage_order else "C")
    begins = np.arange(math.prod(planes), dtype=np.int64).reshape(*planes, *[1] * (rank - 2)) * math.prod(sizes)
    found = ops.max_pool_labels(x, placed(numbers, x), **given)
    indices = ops.where(ops.less(found, 0), found, ops.add(found, placed(begins, x)))
    return ops.max_pool(x, **given), indices


@line("AveragePool", 7, check=check)
def average_pool(
    x: Any, *, kernel_shape: Sequence[int], ceil_mode: int = 0, count_include_pad: int = 0, **around: Any
) -> Any:
    """Return the mean of each window, with or without the padding."""
    flags: dict[str, Any] = {
        "ceil_mode": _may_reach_beyond(ceil_mode, **around),
        "count_include_pad": bool(count_include_pad),
    }
    found = window_attributes(x, kernel_shape, ceil_mode=flags["ceil_mode"], **around)
    return ops.average_pool(x, kernel_shape, **flags, **found)


def _may_reach_beyond(ceil_mode: int, *, auto_pad: str, **_: Any) -> bool:
    """Return whether windows may reach beyond the padding: only with given pads."""
    return bool(ceil_mode) and auto_pad == "NOTSET"


@line("LpPool", 2, check=check)
@in_float32
def lp_pool(x: Any, *, p: int, kernel_shape: Sequence[int], ceil_mode: int = 0, **around: Any) -> Any:
    """Return the norm of each window."""
    fitting.check(p >= 1, "p", p, "1 or more")
    is_ceil = _may_reach_beyond(ceil_mode, **around)
    found = window_attributes(x, kernel_shape, ceil_mode=is_ceil, **around)
    powers = ops.abs(x) if p == 1 else ops.mul(x, x) if p == 2 else ops.pow(ops.abs(x), float(p))
    sums = ops.average_pool(powers, kernel_shape, ceil_mode=is_ceil, divisor=1, **found)
    return sums if p == 1 else ops.sqrt(sums) if p == 2 else ops.pow(sums, 1.0 / p)


@line("LRN", 1)
@in_float32
def lrn(x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    """Return x over a power of the mean of squares of some channels around each, times alpha, plus a bias."""
    check_rank("X", x, least=2)
    fitting.check(size > 0, "size", size, "positive")
    rows = ops.mul(x, x).reshape((x.shape[0], x.shape[1], math.prod(x.shape[2:])))
    means = ops.average_pool(
        rows.reshape((x.shape[0], 1, *rows.shape[1:])), (size, 1), 1, [(size - 1) // 2, 0, size // 2, 0], 1, False, True
    )
    return ops.div(x, ops.pow(ops.add(ops.mul(means.reshape(x.shape), alpha), bias), beta))


@line("GlobalAveragePool", 1)
def global_average_pool(x: Any) -> Any:
    """Return the mean of each channel."""
    check_rank("X", x, least=2)
    return ops.mean(x, tuple(range(2, len(x.shape))), keepdims=True)


@line("GlobalMaxPool", 1)
def global_max_pool(x: Any) -> Any:
    """Return the largest element of each channel."""
    check_rank("X", x, least=2)
    axes = tuple(range(2, len(x.shape)))
    check_places("X", x, axes)
    return ops.max(x, axes, keepdims=True)
