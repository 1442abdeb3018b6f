"""Windows by their definition: a loop over all places, which shares no code with the kernels."""

import itertools
import math

import numpy as np


def counts_of(sizes, kernel, strides, pads, dilations, ceil_mode=False):
    """Return the number of windows along each axis, counted one by one."""
    num_axes, found = len(sizes), []
    for axis, size in enumerate(sizes):
        end, spanned, count = size + pads[axis + num_axes], dilations[axis] * (kernel[axis] - 1) + 1, 0
        while True:
            begin = count * strides[axis] - pads[axis]
            if begin + spanned > end and not (ceil_mode and begin < size and begin + spanned < end + strides[axis]):
                break
            if ceil_mode and begin >= size:
                break
            count += 1
        found.append(count)
    return tuple(found)


def each_window(sizes, counts, kernel, strides, pads, dilations):
    """Yield each window's place, and for each element its place in the window, its place in x, and whether x has it."""
    for window in itertools.product(*map(range, counts)):
        each = zip(window, strides, pads, strict=False)
        begins = [at * stride - before for at, stride, before in each]
        places = []
        for place in itertools.product(*map(range, kernel)):
            at = tuple(begin + far * one for begin, far, one in zip(begins, dilations, place, strict=True))
            places.append((place, at, all(0 <= one < size for one, size in zip(at, sizes, strict=True))))
        yield window, places


def unfold(x, kernel, strides, pads, dilations):
    counts = counts_of(x.shape[2:], kernel, strides, pads, dilations)
    result = np.zeros((*x.shape[:2], *kernel, *counts), x.dtype)
    for window, places in each_window(x.shape[2:], counts, kernel, strides, pads, dilations):
        for place, at, is_there in places:
            if is_there:
                result[(..., *place, *window)] = x[(..., *at)]
    return result


def fold(windows, sizes, strides, pads, dilations):
    kernel, counts = windows.shape[2 : 2 + len(sizes)], windows.shape[2 + len(sizes) :]
    result = np.zeros((*windows.shape[:2], *sizes), np.float64)
    for window, places in each_window(sizes, counts, kernel, strides, pads, dilations):
        for place, at, is_there in places:
            if is_there:
                result[(..., *at)] += windows[(..., *place, *window)]
    return result


def max_pool(x, kernel, strides, pads, dilations, ceil_mode=False):
    counts = counts_of(x.shape[2:], kernel, strides, pads, dilations, ceil_mode)
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else x.dtype.kind != "b" and -np.inf
    result = np.full((*x.shape[:2], *counts), least, x.dtype)
    for window, places in each_window(x.shape[2:], counts, kernel, strides, pads, dilations):
        for _, at, is_there in places:
            if is_there:
                result[(..., *window)] = np.maximum(result[(..., *window)], x[(..., *at)])
    return result


def average_pool(x, kernel, strides, pads, dilations, ceil_mode=False, count_include_pad=False):
    """Return the averages in float64; NaN for a window without elements."""
    sizes, num_axes = x.shape[2:], x.ndim - 2
    counts = counts_of(sizes, kernel, strides, pads, dilations, ceil_mode)
    result = np.zeros((*x.shape[:2], *counts))
    for window, places in each_window(sizes, counts, kernel, strides, pads, dilations):
        number = 0
        for _, at, is_there in places:
            if is_there:
                result[(..., *window)] += x[(..., *at)].astype(np.float64)
            padded = (-pads[axis] <= one < sizes[axis] + pads[axis + num_axes] for axis, one in enumerate(at))
            number += is_there or (count_include_pad and all(padded))
        result[(..., *window)] *= 1 / number if number else math.nan
    return result
