"""Quantized numbers: integers of 8 or 16 bits with scales and zero points, and products of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ep import ops
from ep.include.data_type import as_data_type
from ep.include.number_kind import FLOATS, INTEGERS
from ep.onnx.operators.fitting import check_shape
from ep.onnx.operators.line import line
from ep.onnx.operators.norms import of_channels
from ep.onnx.operators.placing import placed
from ep.onnx.operators.windows import check, check_filters, window_attributes
from ep.onnx.types import dtype_of
from ep.ops.integer_products import check_depth

MICROSOFT: Final = "com.microsoft"
"""The domain of the operators that ONNX Runtime defines, of which models have those for quantized numbers."""


@contextmanager
def named(prefix: str) -> Iterator[None]:
    """Give the scale and the zero point of `ep.ops` ONNX's names in errors, which begin with a letter."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r"^(scale|zero_point)\b", rf"{prefix}_\1", str(error))) from None


def _check_types(output_dtype: int = 0, precision: int = 0, **_: Any) -> None:
    """Raise NotImplementedError for a type that there is not."""
    for number in filter(None, (output_dtype, precision)):
        dtype_of(number)


def _is_single(array: Any) -> bool:
    """Return whether an array has one number, for all of another array."""
    return tuple(array.shape) in ((), (1,))


def _single(argument: str, array: Any) -> Any:
    """Return an array of one number without axes; ValueError for several numbers."""
    if not _is_single(array):
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; it must have one number")
    return array.reshape(())


def check_pair(name: str, x: Any, scale: Any, zero_point: Any, of_zero: Any = None) -> None:
    """Raise an error for a scale and a zero point that do not fit each other, or x. All may be None, if not known.

    name: what their names begin with. of_zero: the dtype of the zero point; by default that of x.
    """
    of_zero = x.dtype if x is not None else of_zero
    if scale is not None and as_data_type(scale.dtype) not in FLOATS:
        raise TypeError(f"{name}_scale has dtype {scale.dtype}; it must have a floating type")
    if zero_point is None:
        return
    if zero_point.dtype != of_zero if of_zero is not None else as_data_type(zero_point.dtype) not in INTEGERS:
        raise TypeError(f"{name}_zero_point has dtype {zero_point.dtype}; it must have {of_zero or 'an integer type'}")
    if scale is not None and not (_is_single(scale) and _is_single(zero_point)):
        check_shape(f"{name}_zero_point", zero_point, scale.shape)


def _quantized_fits(x: Any, scale: Any = None, zero_point: Any = None, *, output_dtype: int = 0, **_: Any) -> None:
    of_zero = dtype_of(output_dtype) if output_dtype else None
    check_pair("y", None, None if scale is None or scale.dtype == np.int32 else scale, zero_point, of_zero)


def _dequantized_fits(x: Any, scale: Any = None, zero_point: Any = None, **_: Any) -> None:
    check_pair("x", x, scale, zero_point)


@line("QuantizeLinear", 13, check=_check_types, fits=_quantized_fits)
@line("QuantizeLinear", 1, check=_check_types, fits=_quantized_fits, domain=MICROSOFT)
def quantize(
    x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1, saturate: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0,
) -> Any:  # fmt: skip
    """Return `rint(x / scale) + zero_point`, limited to the range of the type of the zero point, or of another one."""
    if scale.dtype == np.int32 and not precision:
        scale = ops.cast(scale, np.float64)
    if precision:
        x, scale = (ops.cast(one, dtype_of(precision)) for one in (x, scale))
    elif scale.dtype.itemsize == 2 and x.dtype != scale.dtype:  # ONNX divides in the type of the scale
        x = ops.cast(x, scale.dtype)
    with named("y"):
        return ops.quantize(x, scale, zero_point, dtype_of(output_dtype) if output_dtype else None, axis, block_size)


@line("DequantizeLinear", 13, check=_check_types, fits=_dequantized_fits, zeros=(2,))
@line("DequantizeLinear", 1, check=_check_types, fits=_dequantized_fits, zeros=(2,), domain=MICROSOFT)
def dequantize(
    x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    """Return `(x - zero_point) * scale`, in the type of the scale, or in another one."""
    with named("x"):
        return ops.dequantize(x, scale, zero_point, dtype_of(output_dtype) if output_dtype else None, axis, block_size)


@line("QuantizeLinear", 10, fits=_quantized_fits)
def quantize_by_number(x: Any, scale: Any, zero_point: Any = None) -> Any:
    """Return quantized numbers, by one scale for all of x."""
    _single("y_scale", scale)
    return quantize(x, scale, zero_point)


@line("DequantizeLinear", 10, fits=_dequantized_fits, zeros=(2,))
def dequantize_by_number(x: Any, scale: Any, zero_point: Any = None) -> Any:
    """Return the numbers that quantized ones mean, by one scale for all of x."""
    _single("x_scale", scale)
    return dequantize(x, scale, zero_point)


@line("DynamicQuantizeLinear", 11)
def dynamic_quantize(x: Any) -> tuple[Any, Any, Any]:
    """Return x as uint8, its scale and its zero point: 0 to 255 are the smallest to the largest number, or 0."""
    if 0 in x.shape:
        least = most = placed(np.zeros((), np.float32), x)
    else:
        least, most = ops.minimum(ops.min(x), 0), ops.maximum(ops.max(x), 0)
    scale = ops.where(ops.equal(least, most), 1.0, ops.div(ops.sub(most, least), 255))
    zero_point = ops.cast(ops.rint(ops.negative(ops.div(least, scale))), np.uint8)
    return ops.quantize(x, scale, zero_point), scale, zero_point


def check_sums(
    a: Any, a_zero_point: Any, b: Any, b_zero_point: Any, names: Sequence[str] = "ab", axes: tuple[int, ...] = (-2,)
) -> None:
    """Raise an error for factors of a product that contradict their zero points, or whose sums might be no int32.

    All may be None, if they are not known. names: of the factors. axes: those of b along which products are added up.
    """
    for name, one, zero_point in ((names[0], a, a_zero_point), (names[1], b, b_zero_point)):
        check_pair(name, one, None, zero_point)
    if b is not None and (len(b.shape) > 1 or axes == (-2,)):
        k = math.prod(b.shape[axis] for axis in axes) if len(b.shape) > 1 else b.shape[0]
        left = next((one for one in (a, a_zero_point) if one is not None), np.int8())  # the smallest sums, if unknown
        factors = ((names[0], left, a_zero_point is not None), (names[1], b, b_zero_point is not None))
        check_depth(k, factors)


def _product_fits(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> None:
    check_sums(a, a_zero_point, b, b_zero_point)
    if b is not None and b_zero_point is not None:
        along_columns("b_zero_point", b_zero_point, b)


def _convolution_fits(x: Any, w: Any, x_zero_point: Any = None, w_zero_point: Any = None, **_: Any) -> None:
    check_sums(x, x_zero_point, w, w_zero_point, "xw", () if w is None else tuple(range(1, len(w.shape))))
    if x_zero_point is not None:
        _single("x_zero_point", x_zero_point)
    if w is not None and w_zero_point is not None:
        _of_filters("w_zero_point", w_zero_point, w)


def _of_filters(argument: str, array: Any, w: Any) -> Any:
    """Return a number without axes, or one for each filter."""
    if _is_single(array):
        return array.reshape(())
    check_shape(argument, array, w.shape[:1])
    return array


@line("MatMulInteger", 10, fits=_product_fits, zeros=(2, 3))
def matmul_integer(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    """Return the int32 product of matrices of 8-bit integers, less their zero points."""
    return ops.matmul_integer(a, b, a_zero_point, b_zero_point)


@line("ConvInteger", 10, check=check, fits=_convolution_fits, zeros=(2, 3))
def conv_integer(
    x: Any, w: Any, x_zero_point: Any = None, w_zero_point: Any = None, *, group: int, kernel_shape: Any = None,
    **around: Any,
) -> Any:  # fmt: skip
    """Return the int32 products of windows with filters, all of 8-bit integers, less their zero points."""
    check_filters(x, w, kernel_shape)
    given = window_attributes(x, w.shape[2:], least=1, **around)
    return ops.conv_integer(x, w, x_zero_point, w_zero_point, groups=group, **given)


def along_rows(argument: str, array: Any, a: Any) -> Any:
    """Return a scale of a left factor, a number or one for each row, in a shape that broadcasts to the product."""
    if _is_single(array):
        return array.reshape(())
    rows = tuple(a.shape[:-1])
    if len(rows) == 1 and tuple(array.shape) == rows:
        return array.reshape((*rows, 1))
    check_shape(argument, array, (*rows, 1))
    return array


def along_columns(argument: str, array: Any, b: Any) -> Any:
    """Return a scale of a right factor, a number or one for each column, as `along_rows`."""
    if _is_single(array):
        return array.reshape(())
    if tuple(array.shape) != tuple(b.shape[-1:]):
        check_shape(argument, array, (*b.shape[:-2], 1, b.shape[-1]))
    return array


def in_float32(array: Any) -> Any:
    """Return an array in float32."""
    return array if array.dtype == np.float32 else ops.cast(array, np.float32)


def requantized(sums: Any, factor: Any, scale: Any, zero_point: Any) -> Any:
    """Return int32 sums as quantized numbers. factor: the number that a sum of 1 means."""
    ratio = ops.div(factor, in_float32(_single("y_scale", scale)))
    whole = ops.rint(ops.mul(ops.cast(sums, np.float32), ratio))
    zero = ops.cast(_single("y_zero_point", zero_point), np.float32)
    return ops.cast(ops.add(whole, zero), zero_point.dtype)


def _quantized_product_fits(
    a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, y_scale: Any, y_zero_point: Any
) -> None:
    _product_fits(a, b, a_zero_point, b_zero_point)
    check_pair("a", a, a_scale, a_zero_point)
    check_pair("b", b, b_scale, b_zero_point)
    _result_fits(y_scale, y_zero_point)


def _result_fits(y_scale: Any, y_zero_point: Any) -> None:
    check_pair("y", None, y_scale, y_zero_point)
    for argument, one in (("y_scale", y_scale), ("y_zero_point", y_zero_point)):
        if one is not None:
            _single(argument, one)


@line("QLinearMatMul", 10, fits=_quantized_product_fits, zeros=(2, 5))
def quantized_matmul(
    a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, y_scale: Any, y_zero_point: Any
) -> Any:
    """Return the quantized product of quantized matrices."""
    sums = ops.matmul_integer(a, b, a_zero_point, b_zero_point)
    scales = along_rows("a_scale", a_scale, a), along_columns("b_scale", b_scale, b)
    return requantized(sums, ops.mul(*map(in_float32, scales)), y_scale, y_zero_point)


def _quantized_convolution_fits(
    x: Any, x_scale: Any, x_zero_point: Any, w: Any, w_scale: Any, w_zero_point: Any, y_scale: Any, y_zero_point: Any,
    bias: Any = None, **_: Any,
) -> None:  # fmt: skip
    _convolution_fits(x, w, x_zero_point, w_zero_point)
    check_pair("x", x, x_scale, x_zero_point)
    check_pair("w", w, w_scale, w_zero_point)
    _result_fits(y_scale, y_zero_point)
    if bias is not None and bias.dtype != np.int32:
        raise TypeError(f"B has dtype {bias.dtype}; it must have int32")
    if w is not None:
        check_shape("B", bias, w.shape[:1])


@line("QLinearConv", 10, check=check, fits=_quantized_convolution_fits, zeros=(2, 5))
def quantized_conv(
    x: Any, x_scale: Any, x_zero_point: Any, w: Any, w_scale: Any, w_zero_point: Any, y_scale: Any, y_zero_point: Any,
    bias: Any = None, **attributes: Any,
) -> Any:  # fmt: skip
    """Return the quantized products of quantized windows with quantized filters; the bias is added to int32 sums."""
    sums = conv_integer(x, w, x_zero_point, w_zero_point, **attributes)
    if bias is not None:
        sums = ops.add(sums, of_channels(bias, sums, "B"))
    factor = ops.mul(_single("x_scale", x_scale), _of_filters("w_scale", w_scale, w))
    return requantized(sums, of_channels(factor, sums, "w_scale") if factor.shape else factor, y_scale, y_zero_point)
