"""Records of convolutions and pools: loops over windows, and over the places of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused

PADS = ("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class Places(NamedTuple):
    """The windows along one axis: their number, the place of the first element of the first one, and how they go on."""

    count: int
    before: int
    after: int
    stride: int
    dilation: int
    kernel: int

    def of_window(self, k: int) -> list[int]:
        """Return the places of a window, which may be outside of the axis."""
        return [k * self.stride + one * self.dilation - self.before for one in range(self.kernel)]


def along(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], auto: str, ceil: int) -> Places:
    """Return the windows along an axis, by the formulas of the text."""
    span = (kernel - 1) * dilation + 1
    before, after = pads if auto == "NOTSET" else (0, 0)
    if auto.startswith("SAME"):
        count = -(-size // stride)
        missing = max((count - 1) * stride + span - size, 0)
        before = missing // 2 if auto == "SAME_UPPER" else missing - missing // 2
        return Places(count, before, missing - before, stride, dilation, kernel)
    room = size + before + after - span
    count = room // stride + 1
    if ceil and auto == "NOTSET":
        count = -(-room // stride) + 1
    if count < 0:
        raise Refused("kernel_shape")
    if ceil and auto == "NOTSET" and (count - 1) * stride >= size + before:  # it begins in the padding at the end
        count -= 1
    return Places(max(count, 0), before, after, stride, dilation, kernel)


def _axes(x: Any, kernel: Sequence[int], given: dict[str, Any]) -> list[Places]:
    num = len(kernel)
    strides, dilations = given.get("strides") or [1] * num, given.get("dilations") or [1] * num
    pads = given.get("pads") or [0] * 2 * num
    if x.ndim != num + 2 or len(strides) != num or len(pads) != 2 * num or len(dilations) != num:
        raise Refused("kernel strides pads dilations axes shape spatial")
    each = zip(x.shape[2:], kernel, strides, dilations, pads[:num], pads[num:], strict=True)
    auto, ceil = given.get("auto_pad", "NOTSET"), given.get("ceil_mode", 0)
    return [along(n, k, s, d, (b, a), auto, ceil) for n, k, s, d, b, a in each]


def each_window(axes: Sequence[Places]) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Yield the position of each window, and the places in it."""
    for at in itertools.product(*(range(one.count) for one in axes)):
        yield at, [*itertools.product(*(one.of_window(k) for one, k in zip(axes, at, strict=True)))]


def _is_inside(place: Sequence[int], sizes: Sequence[int]) -> bool:
    return all(0 <= k < size for k, size in zip(place, sizes, strict=True))


def _pool(reduce: Callable[[Any, int, dict[str, Any]], Any]) -> Callable[..., Any]:
    """Return the reference of a pool. reduce: takes the elements of windows, which the last axis is of, the number of
    places that are in x or its padding, and the attributes."""

    def reference(d: Draw, x: Any, kernel_shape: Sequence[int], **given: Any) -> Any:
        axes = _axes(x, kernel_shape, given)
        found = np.zeros((*x.shape[:2], *(one.count for one in axes)))
        for at, places in each_window(axes):
            inside = [place for place in places if _is_inside(place, x.shape[2:])]
            around = [
                all(-a.before <= k < n + a.after for k, n, a in zip(place, x.shape[2:], axes, strict=True))
                for place in places
            ]
            rows = [x[(slice(None), slice(None), *place)] for place in inside]
            stacked = np.stack(rows, -1) if rows else np.zeros((*x.shape[:2], 0), x.dtype)
            found[(slice(None), slice(None), *at)] = reduce(stacked, sum(around), given)
        return found

    return reference


def _attributes(d: Draw, num: int, dilated: bool, ceil: bool) -> dict[str, Any]:
    auto = d.pick("auto_pad", PADS)
    kernel = [int(one) for one in d.rng.integers(1, 4, num)]
    pads = [int(one) for one in d.rng.integers(0, [*kernel, *kernel])] if auto == "NOTSET" and d.maybe("pads") else None
    return {
        "kernel_shape": kernel,
        "auto_pad": auto,
        "strides": [int(one) for one in d.rng.integers(1, 4, num)] if d.maybe("strides") else None,
        "dilations": [int(one) for one in d.rng.integers(1, 3, num)] if dilated and d.maybe("dilations") else None,
        "pads": pads,
        "ceil_mode": d.pick("ceil_mode", (0, 1)) if ceil else None,
    }


def _spatial(d: Draw, num: int, least: int = 3) -> tuple[int, ...]:
    return tuple(int(one) for one in d.rng.integers(least, 8, num))


def _pooled(since: dict[str, int], wild: bool = True, **attributes: Sequence[Any]) -> Callable[[Draw], Any]:
    def draw(d: Draw) -> Any:
        num = d.pick("spatial axes", (1, 2, 2, 3))
        batch = 0 if d.rarely("no batch") else 2
        x = d.array((batch, d.pick("channels", (1, 3)), *_spatial(d, num)), wild=wild)
        given = _attributes(d, num, d.since >= since["dilations"], d.since >= since["ceil_mode"])
        if d.rarely("another number of axes"):
            given["kernel_shape"] = [*given["kernel_shape"], 2]
        more = {name: d.pick(name, values) for name, values in attributes.items() if d.since >= since.get(name, 0)}
        return [x], {**given, **more}

    return draw


def _mean(rows: Any, around: int, given: dict[str, Any]) -> Any:
    count = around if given.get("count_include_pad") else rows.shape[-1]
    return np.sum(rows / count, -1) if count else np.full(rows.shape[:-1], np.nan)


def _largest(rows: Any, around: int, given: dict[str, Any]) -> Any:
    return np.max(rows, -1, initial=-np.inf if rows.dtype.kind == "f" else np.iinfo(rows.dtype).min)


def _norm(rows: Any, around: int, given: dict[str, Any]) -> Any:
    p = given["p"]
    return np.sum(np.abs(rows) ** p, -1) ** (1 / p)


def _averages(d: Draw, x: Any, **given: Any) -> Any:
    return Output(_pool(_mean)(d, x, **given), magnitude=_pool(_mean)(d, np.abs(x), **given))


def _max(d: Draw, x: Any, storage_order: int = 0, **given: Any) -> Any:
    """Return the largest elements, and the numbers of the first ones of equal elements, or of the last NaN."""
    largest = _pool(_largest)(d, x, **given)
    if d.since < 8:
        return largest
    sizes, found = x.shape[2:], np.full(largest.shape, -1)
    numbers = np.arange(math.prod(sizes)).reshape(sizes, order="F" if storage_order else "C")
    for at, places in each_window(_axes(x, given["kernel_shape"], given)):
        inside = [place for place in places if _is_inside(place, sizes)]
        for number, plane in enumerate(np.ndindex(*x.shape[:2])) if inside else ():
            row = [x[(*plane, *place)] for place in inside]
            last = [k for k, one in enumerate(row) if one != one]
            best = inside[last[-1] if last else row.index(max(row))]
            found[(*plane, *at)] = numbers[best] + number * numbers.size
    return largest, Output(found, np.int64)


def convolution(d: Draw) -> Any:
    num = d.pick("spatial axes", (1, 2, 2, 3))
    groups = d.pick("group", (1, 1, 2, 3))
    inner, outer = d.pick("in", (1, 2)), d.pick("out", (1, 3))
    given = _attributes(d, num, True, False)
    del given["ceil_mode"]
    x = d.array((0 if d.rarely("no batch") else 2, groups * inner, *_spatial(d, num)), wild=False)
    w = d.array(
        (groups * outer, inner + (1 if d.rarely("contradictory channels") else 0), *given["kernel_shape"]), wild=False
    )
    if d.rarely("contradictory kernel"):
        given["kernel_shape"] = [given["kernel_shape"][0] + 1, *given["kernel_shape"][1:]]
    elif d.maybe("no kernel_shape"):
        given["kernel_shape"] = None
    bias = d.array((groups * outer,), wild=False) if d.maybe("bias") else None
    return [x, w, bias], {**given, "group": groups}


def convolved(d: Draw, x: Any, w: Any, bias: Any = None, *, group: int, kernel_shape: Any = None, **given: Any) -> Any:
    kernel = w.shape[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise Refused("kernel_shape")
    if w.shape[1] * group != x.shape[1]:
        raise Refused("channels group filter")
    axes = _axes(x, kernel, given)
    if any(
        0 < n + one.before + one.after < (one.kernel - 1) * one.dilation + 1
        for n, one in zip(x.shape[2:], axes, strict=True)
    ):
        raise Refused("kernel_shape")
    found = np.zeros((x.shape[0], w.shape[0], *(one.count for one in axes)))
    size = np.zeros_like(found)
    for at, places in each_window(axes):
        for k, place in enumerate(places):
            column = np.zeros((x.shape[0], group, w.shape[1]))  # padding, which w is multiplied by
            if _is_inside(place, x.shape[2:]):
                column = x[(slice(None), slice(None), *place)].reshape(column.shape)
            factors = w.reshape(group, w.shape[0] // group, w.shape[1], -1)[..., k]
            where = (slice(None), slice(None), *at)
            found[where] += np.einsum("ngc,goc->ngo", column, factors).reshape(x.shape[0], found.shape[1])
            size[where] += np.einsum("ngc,goc->ngo", np.abs(column), np.abs(factors)).reshape(
                x.shape[0], found.shape[1]
            )
    if bias is not None:
        found += bias.reshape(-1, *[1] * len(kernel))
        size += np.abs(bias).reshape(-1, *[1] * len(kernel))
    return Output(found, magnitude=size)


def _transposed(d: Draw) -> Any:
    num = d.pick("spatial axes", (1, 2, 2, 3))
    groups = d.pick("group", (1, 1, 2))
    inner, outer = d.pick("in", (1, 2)), d.pick("out", (1, 3))
    given = _attributes(d, num, True, False)
    del given["ceil_mode"]
    x = d.array((0 if d.rarely("no batch") else 2, groups * inner, *_spatial(d, num, 2)), wild=False)
    channels = groups * inner + (1 if d.rarely("contradictory channels") else 0)
    w = d.array((channels, outer, *given["kernel_shape"]), wild=False)
    bias = d.array((groups * outer,), wild=False) if d.maybe("bias") else None
    steps = [max(s, t) for s, t in zip(given["strides"] or [1] * num, given["dilations"] or [1] * num, strict=True)]
    extra = [int(one) for one in d.rng.integers(0, steps)] if d.maybe("output_padding") else None
    shape = None
    if d.maybe("output_shape"):
        whole = _whole(x, w, {**given, "output_padding": extra})
        shape = [max(1, int(size - one)) for size, one in zip(whole, d.rng.integers(0, 3, num), strict=True)]
        given["pads"] = None
    if given["pads"]:
        given["pads"] = [min(one, 1) for one in given["pads"]]
    if d.maybe("no kernel_shape"):
        given["kernel_shape"] = None
    return [x, w, bias], {**given, "group": groups, "output_padding": extra, "output_shape": shape}


def _whole(x: Any, w: Any, given: dict[str, Any]) -> list[int]:
    num = w.ndim - 2
    strides, dilations, extra = (given.get(name) or [fill] * num for name, fill in _STEPS)
    each = zip(x.shape[2:], w.shape[2:], strides, dilations, extra, strict=True)
    return [s * (n - 1) + more + (k - 1) * t + 1 for n, k, s, t, more in each]


_STEPS = (("strides", 1), ("dilations", 1), ("output_padding", 0))


def _transposed_of(
    d: Draw, x: Any, w: Any, bias: Any = None, *, group: int, auto_pad: str, kernel_shape: Any = None, **given: Any
) -> Any:  # fmt: skip
    if x.shape[1] != w.shape[0]:
        raise Refused("channels group filter w")
    num = w.ndim - 2
    strides, dilations, _ = (given.get(name) or [fill] * num for name, fill in _STEPS)
    whole = _whole(x, w, given)
    pads = given.get("pads") or [0] * 2 * num
    sizes = given.get("output_shape")
    if sizes is None and auto_pad.startswith("SAME"):
        sizes = [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
    if sizes is None:
        before, sizes = pads[:num], [size - pads[k] - pads[k + num] for k, size in enumerate(whole)]
    else:
        total = [max(a - b, 0) for a, b in zip(whole, sizes, strict=True)]
        before = [one // 2 if auto_pad == "SAME_UPPER" else one - one // 2 for one in total]
    if any(size < 1 for size in sizes):
        raise Refused("shape output pads size")
    found = np.zeros((x.shape[0], w.shape[1] * group, *sizes))
    size = np.zeros_like(found)
    rows = x.reshape(x.shape[0], group, x.shape[1] // group, *x.shape[2:])
    factors = w.reshape(group, -1, *w.shape[1:])
    for at in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*w.shape[2:]):
            place = [k * s + j * t - b for k, s, j, t, b in zip(at, strides, tap, dilations, before, strict=True)]
            if not _is_inside(place, sizes):
                continue
            column, factor = rows[(..., *at)], factors[(..., *tap)]
            where = (slice(None), slice(None), *place)
            found[where] += np.einsum("ngc,gco->ngo", column, factor).reshape(x.shape[0], found.shape[1])
            size[where] += np.einsum("ngc,gco->ngo", np.abs(column), np.abs(factor)).reshape(x.shape[0], found.shape[1])
    if bias is not None:
        found += bias.reshape(-1, *[1] * num)
        size += np.abs(bias).reshape(-1, *[1] * num)
    return Output(found, magnitude=size)


def _lrn(d: Draw) -> Any:
    x = d.array(d.shape(least=2), wild=d.dtype == np.float16)
    numbers = {"alpha": (1e-4, 0.5, 1.0), "beta": (0.75, 0.5, 1.0), "bias": (1.0, 2.0), "size": (1, 2, 3, 4, 5)}
    return [x], {name: d.pick(name, values) for name, values in numbers.items()}


def _lrn_of(d: Draw, x: Any, size: int, alpha: float, beta: float, bias: float) -> Any:
    alpha, beta, bias = (float(np.float32(one)) for one in (alpha, beta, bias))
    sums = np.zeros(x.shape)
    for c in range(x.shape[1]):
        first, last = max(0, c - (size - 1) // 2), min(x.shape[1] - 1, c + math.ceil((size - 1) / 2))
        sums[:, c] = np.sum(x[:, first : last + 1] ** 2, 1)
    return x / (bias + alpha / size * sums) ** beta


def _global(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reference(d: Draw, x: Any, p: int = 2) -> Any:
        return reduce(x, tuple(range(2, x.ndim)), p)

    return reference


def _global_of(d: Draw) -> Any:
    return [d.array((*d.shape(least=2, most=2), *_spatial(d, d.pick("spatial axes", (1, 2, 3)))), wild=False)], {}


def _global_mean(x: Any, axes: tuple[int, ...], p: int) -> Any:
    return Output(np.mean(x, axes, keepdims=True), magnitude=np.mean(np.abs(x), axes, keepdims=True))


_SINCE = {"AveragePool": {"dilations": 19, "ceil_mode": 10}, "MaxPool": {"dilations": 10, "ceil_mode": 10}}
_ALL = (
    Record("AveragePool", _pooled(_SINCE["AveragePool"], count_include_pad=(0, 1)), _averages, 8),
    Record("MaxPool", _pooled({**_SINCE["MaxPool"], "storage_order": 8}, storage_order=(0, 1)), _max, 0),
    Record("LpPool", _pooled({"dilations": 18, "ceil_mode": 18}, wild=False, p=(1, 2, 3)), _pool(_norm), 32),
    Record("Conv", convolution, convolved, 8),
    Record("ConvTranspose", _transposed, _transposed_of, 8, finite=(1,)),
    Record("LRN", _lrn, _lrn_of, 16),
    Record("GlobalAveragePool", _global_of, _global(_global_mean)),
    Record("GlobalMaxPool", _global_of, _global(lambda x, axes, p: np.max(x, axes, keepdims=True))),
)
RECORDS = {one.name: one for one in _ALL}
