"""Records of operators on quantized numbers: integers with scales and zero points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper

from tests.onnx.operators.record import Draw, Output, Record, Refused
from tests.onnx.operators.windows import convolution, convolved


def _each(numbers: Any, shape: Sequence[int], axis: int, block_size: int) -> Any:
    """Return the number that is for each element of an array, or refuse the shape."""
    if block_size:
        place = axis % len(shape) if -len(shape) <= axis < len(shape) else None
        if place is None or numbers.ndim != len(shape):
            raise Refused("axis y_scale x_scale")
        wanted = [-(-size // block_size) if k == place else size for k, size in enumerate(shape)]
        if [*numbers.shape] != wanted:
            raise Refused("y_scale x_scale y_zero_point x_zero_point")
        return np.take(numbers, np.arange(shape[place]) // block_size, place)
    if numbers.shape in ((), (1,)):
        return numbers.reshape(())
    if not -len(shape) <= axis < len(shape):
        raise Refused("axis")
    if numbers.shape != (shape[axis],):
        raise Refused("y_scale x_scale y_zero_point x_zero_point")
    return numbers.reshape([-1 if k == axis % len(shape) else 1 for k in range(len(shape))])


def _grain(d: Draw, shape: Sequence[int]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return a shape of scales for an array, and the attributes."""
    kinds = ["one", "one", "one with an axis"] + (["axis"] if d.since >= 13 else []) + ["blocks"] * (d.since >= 21)
    kind = d.pick("grain", kinds)
    if kind in ("one", "one with an axis") or not shape:
        return () if kind == "one" else (1,), {}
    axis = d.axis(len(shape))
    if kind == "axis":
        wrong = 1 if d.rarely("contradictory sizes") and shape[axis] else 0
        return (shape[axis] + wrong,), {"axis": axis}
    block = int(d.rng.integers(1, 5))
    sizes = [-(-size // block) if k == axis % len(shape) else size for k, size in enumerate(shape)]
    if d.rarely("contradictory blocks"):
        sizes[axis] += 1
    return tuple(sizes), {"axis": axis, "block_size": block}


def _scale(d: Draw, shape: Sequence[int], dtype: Any, factors: Sequence[float] = (1, 0.75, 1.1)) -> Any:
    return np.asarray(2.0 ** d.rng.integers(-4, 3, shape) * d.rng.choice(factors, shape)).astype(dtype)


def _zero_point(d: Draw, shape: Sequence[int], dtype: Any) -> Any:
    info = np.iinfo(dtype)
    return np.asarray(d.rng.integers(info.min, info.max + 1, shape)).astype(dtype)


def _to_quantize(d: Draw) -> Any:
    shape = d.shape()
    of_scale, given = _grain(d, shape)
    kind = d.pick("type", [one for one in d.types["T3" if d.since >= 23 else "T2"] if one.itemsize < 4])
    scales = d.types["T2"] if d.since >= 23 else [d.dtype] if d.since >= 19 and d.dtype.kind != "i" else [np.float32]
    if d.since == 19 and d.dtype.kind == "i":
        scales = [np.dtype(np.int32)]
    dtype = np.dtype(d.pick("scale", scales))
    # a kernel may round a quotient of 16 bits or not, which may be the next integer: such quotients are exact here
    scale = _scale(d, of_scale, dtype, (1,) if dtype.itemsize == 2 else (1, 0.75, 1.1))
    if scale.dtype.kind == "i":
        scale = np.maximum(scale, 1)
    zero_point = _zero_point(d, of_scale, kind) if d.maybe("zero point") else None
    if d.since >= 21 and d.maybe("output_dtype"):
        given["output_dtype"] = helper.np_dtype_to_tensor_dtype(kind)
    if d.since >= 23 and d.maybe("precision"):
        given["precision"] = helper.np_dtype_to_tensor_dtype(np.dtype(np.float32))
    return [d.array(shape), scale, zero_point], given


def _quantized(
    d: Draw, x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
    precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    given_x, given_scale, *_ = d.drawn
    kind = np.dtype(np.uint8) if zero_point is None else zero_point.dtype
    kind = helper.tensor_dtype_to_np_dtype(output_dtype) if output_dtype else kind
    if zero_point is not None and zero_point.dtype != kind:
        raise Refused("y_zero_point")
    each = _each(given_scale, x.shape, axis, block_size)
    zero = 0 if zero_point is None else _each(zero_point.astype(np.int64), x.shape, axis, block_size)
    dtype = np.dtype(np.float32 if precision else np.float64 if given_scale.dtype.kind == "i" else given_scale.dtype)
    ratio = np.asarray(given_x.astype(dtype).astype(np.float64) / each.astype(dtype).astype(np.float64))
    whole = np.rint(ratio.astype(dtype).astype(np.float64)) + zero
    info = np.iinfo(kind)
    return Output(np.nan_to_num(np.clip(whole, info.min, info.max), nan=0.0).astype(kind), kind)


def _to_dequantize(d: Draw) -> Any:
    shape = d.shape()
    of_scale, given = _grain(d, shape)
    dtype = d.pick("scale", d.types["T2"] if d.since >= 19 else [np.float32])
    scale = _scale(d, of_scale, dtype)
    zero_point = None
    if d.dtype != np.int32 and d.maybe("zero point"):
        zero_point = _zero_point(d, of_scale, d.dtype)
    if d.since >= 23 and d.maybe("output_dtype"):
        given["output_dtype"] = helper.np_dtype_to_tensor_dtype(d.pick("result", d.types["T3"]))
    return [d.array(shape), scale, zero_point], given


def _dequantized(
    d: Draw, x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    zero = 0 if zero_point is None else _each(zero_point.astype(np.int64), x.shape, axis, block_size)
    value = (x.astype(np.int64) - zero) * _each(scale, x.shape, axis, block_size)
    dtype = helper.tensor_dtype_to_np_dtype(output_dtype) if output_dtype else d.drawn[1].dtype
    return Output(value.reshape(x.shape), dtype)


def _dynamic(d: Draw) -> Any:
    x = d.array(d.shape(), wild=False)
    return [x * 0 if d.rarely("zeros") else np.abs(x) if d.maybe("of one sign") else x], {}


def _dynamically(d: Draw, x: Any) -> Any:
    given = d.drawn[0]
    least, most = (np.float32(function(given, initial=0)) for function in (np.min, np.max))
    scale = np.float32(1) if least == most else (most - least) / np.float32(255)
    zero = np.clip(np.rint(-least / scale), 0, 255)
    y = np.clip(np.rint(given / scale) + zero, 0, 255).astype(np.uint8)
    return Output(y, np.uint8), Output(scale, np.float32), Output(zero.astype(np.uint8), np.uint8)


def _factors(d: Draw, others: Any) -> tuple[Any, Any, list[Any], list[tuple[int, ...]]]:
    """Return two matrices of integers, and a shape of the zero points of each."""
    rows, inner, columns = (int(d.rng.choice((1, 2, 3, 5, 7))) for _ in range(3))
    batch = tuple(int(one) for one in d.rng.integers(1, 4, d.pick("batch", (0, 0, 1, 2))))
    a, b = (*batch, rows, inner), (*(() if d.maybe("narrow") else batch), inner, columns)
    if d.rarely("contradictory sizes"):
        a = (*a[:-1], inner + 1)
    arrays = [d.array(a), d.array(b, d.pick("other", others))]
    many = [(rows,) if len(a) == 2 else (*a[:-1], 1), (columns,) if len(b) == 2 else (*b[:-2], 1, columns)]
    shapes = [d.pick(f"points {k}", ((), (1,), one)) for k, one in enumerate(many)]
    return a, b, arrays, shapes


def _pointwise(numbers: Any, is_left: bool) -> Any:
    """Return numbers for rows or columns in a shape that broadcasts to the matrix."""
    if numbers is None or numbers.size == 1:
        return 0 if numbers is None else numbers.reshape(())
    return numbers[:, None] if is_left and numbers.ndim == 1 else numbers


def _sums(a: Any, b: Any, of_a: Any, of_b: Any) -> Any:
    if a.shape[-1] != b.shape[-2]:
        raise Refused("a b columns rows")
    wide = [one.astype(np.int64) for one in (a, b)]
    points = [0 if one is None else _pointwise(one.astype(np.int64), k == 0) for k, one in enumerate((of_a, of_b))]
    return np.matmul(wide[0] - points[0], wide[1] - points[1])


def _matmul(d: Draw) -> Any:
    *_, arrays, shapes = _factors(d, d.types["T2"])
    points = [
        _zero_point(d, shape, one.dtype) if d.maybe(f"zero point {k}") else None
        for k, (shape, one) in enumerate(zip(shapes, arrays, strict=True))
    ]
    return [*arrays, *points], {}


def _multiplied(d: Draw, a: Any, b: Any, of_a: Any = None, of_b: Any = None) -> Any:
    return Output(_sums(a, b, of_a, of_b), np.int32)


def _quantized_matmul(d: Draw) -> Any:
    *_, arrays, shapes = _factors(d, d.types["T2"])
    dtype = d.pick("scale", d.types["TS"] if d.since >= 21 else [np.float32])
    found: list[Any] = []
    for one, shape in zip(arrays, shapes, strict=True):
        found += [one, _scale(d, shape, dtype), _zero_point(d, shape, one.dtype)]
    if d.rarely("contradictory scale"):
        found[4] = _scale(d, (2,) * 5, dtype)
    kind = d.pick("result", d.types["T3"])
    return [*found, _scale(d, (), dtype) * 16, _zero_point(d, (), kind)], {}


def _requantized(sums: Any, factor: Any, scale: Any, zero_point: Any) -> Any:
    info = np.iinfo(zero_point.dtype)
    ratio = factor / scale.astype(np.float32).reshape(())
    whole = np.rint(sums.astype(np.float32) * ratio) + np.float32(zero_point.reshape(()))
    return Output(np.clip(whole, info.min, info.max).astype(zero_point.dtype), zero_point.dtype)


def _quantized_product(
    d: Draw, a: Any, a_scale: Any, of_a: Any, b: Any, b_scale: Any, of_b: Any, scale: Any, zero_point: Any
) -> Any:
    sums = _sums(a, b, of_a, of_b)
    if b_scale.ndim == 5:
        raise Refused("b_scale b_zero_point")
    scales = [_pointwise(one.astype(np.float32), k == 0) for k, one in enumerate((a_scale, b_scale))]
    return _requantized(sums, scales[0] * scales[1], scale, zero_point)


def _integer_conv(d: Draw) -> Any:
    (x, w, _), given = convolution(d)
    w = d.array(w.shape, d.pick("filters", d.types["T2"]), wild=False)
    points = _points(d, x, w)
    return [x, w, *[one if d.maybe(f"zero point {k}") else None for k, one in enumerate(points)]], given


def _points(d: Draw, x: Any, w: Any) -> list[Any]:
    shape = d.pick("of filters", ((), (1,), (w.shape[0],)))
    return [_zero_point(d, d.pick("of x", ((), (1,))), x.dtype), _zero_point(d, shape, w.dtype)]


def _convolved(d: Draw, x: Any, w: Any, of_x: Any = None, of_w: Any = None, **given: Any) -> Any:
    x = x.astype(np.float64) - (0 if of_x is None else np.float64(of_x.reshape(())))
    of_w = np.zeros(1) if of_w is None else of_w.astype(np.float64).reshape(-1)
    w = w.astype(np.float64) - of_w.reshape(-1, *[1] * (w.ndim - 1))
    return Output(convolved(d, x, w, **given).value, np.int32)


def _quantized_conv(d: Draw) -> Any:
    (x, w, _), given = convolution(d)
    w = d.array(w.shape, d.pick("filters", d.types["T2"]), wild=False)
    of_x, of_w = _points(d, x, w)
    bias = d.rng.integers(-99, 99, w.shape[0]).astype(np.int32) if d.maybe("a bias") else None
    numbers = [_scale(d, of_x.shape, np.float32), of_x, w, _scale(d, of_w.shape, np.float32), of_w]
    return [x, *numbers, _scale(d, (), np.float32) * 16, _zero_point(d, (), d.pick("y", d.types["T3"])), bias], given


def _quantized_convolved(
    d: Draw, x: Any, x_scale: Any, of_x: Any, w: Any, w_scale: Any, of_w: Any, scale: Any, zero_point: Any,
    bias: Any = None, **given: Any,
) -> Any:  # fmt: skip
    sums = _convolved(d, x, w, of_x, of_w, **given).value
    if bias is not None:
        sums = sums + bias.reshape(-1, *[1] * (sums.ndim - 2))
    factor = x_scale.astype(np.float32).reshape(()) * w_scale.astype(np.float32).reshape(-1)
    return _requantized(sums, factor.reshape(-1, *[1] * (sums.ndim - 2)), scale, zero_point)


_ALL = (
    Record("QuantizeLinear", _to_quantize, _quantized, constants=(1, 2)),
    Record("DequantizeLinear", _to_dequantize, _dequantized, constants=(1, 2)),
    Record("DynamicQuantizeLinear", _dynamic, _dynamically, finite=(0,)),
    Record("MatMulInteger", _matmul, _multiplied, constants=(2, 3)),
    Record("ConvInteger", _integer_conv, _convolved, constants=(2, 3)),
    Record("QLinearMatMul", _quantized_matmul, _quantized_product, constants=(1, 2, 4, 5, 6, 7)),
    Record("QLinearConv", _quantized_conv, _quantized_convolved, constants=(1, 2, 4, 5, 6, 7)),
)
RECORDS = {one.name: one for one in _ALL}
"""All records of operators on quantized numbers, by name."""
