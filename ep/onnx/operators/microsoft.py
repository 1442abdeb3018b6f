"""The operators on quantized numbers that ONNX Runtime defines: its tools write them into models."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ep import ops
from ep.onnx.operators import windows
from ep.onnx.operators.fitting import check, check_broadcasts, check_rank, check_shape
from ep.onnx.operators.line import line
from ep.onnx.operators.quantized import (
    MICROSOFT,
    along_columns,
    along_rows,
    check_pair,
    check_sums,
    dynamic_quantize,
    named,
    requantized,
)
from ep.onnx.operators.recurrent import Weights, check_functions, check_shapes, directions_of, going_on, lstm_of
from ep.onnx.operators.reductions import flat
from ep.onnx.operators.shapes import concat

Function = Callable[..., Any]
microsoft = functools.partial(line, since=1, domain=MICROSOFT)
"""Adds a line for an operator of ONNX Runtime, of which there is one version."""


def _scaled_product_fits(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero_point: Any = None, b_zero_point: Any = None, bias: Any = None
) -> None:
    check_sums(a, a_zero_point, b, b_zero_point)
    for name, one, scale, zero_point in (("a", a, a_scale, a_zero_point), ("b", b, b_scale, b_zero_point)):
        check_pair(name, one, scale, zero_point)
    if b is not None:
        for argument, one in (("b_scale", b_scale), ("b_zero_point", b_zero_point)):
            if one is not None:
                along_columns(argument, one, b)
        check_shape("bias", bias, b.shape[-1:])


@microsoft("MatMulIntegerToFloat", fits=_scaled_product_fits, zeros=(4, 5))
def scaled_product(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero_point: Any = None, b_zero_point: Any = None, bias: Any = None
) -> Any:
    """Return the floating-point product of quantized matrices, plus a bias."""
    sums = ops.matmul_integer(a, b, a_zero_point, b_zero_point)
    factor = ops.mul(along_rows("a_scale", a_scale, a), along_columns("b_scale", b_scale, b))
    y = ops.mul(ops.cast(sums, factor.dtype), factor)
    if bias is not None:
        check_broadcasts("bias", bias, y.shape)
    return y if bias is None else ops.add(y, bias)


def _dynamic_product_fits(a: Any, b: Any, b_scale: Any, b_zero_point: Any = None, bias: Any = None) -> None:
    _scaled_product_fits(None, b, None, b_scale, None, b_zero_point, bias)


@microsoft("DynamicQuantizeMatMul", fits=_dynamic_product_fits, zeros=(3,))
def dynamic_product(a: Any, b: Any, b_scale: Any, b_zero_point: Any = None, bias: Any = None) -> Any:
    """Return the product of a, which is quantized first, and a quantized matrix."""
    y, scale, zero_point = dynamic_quantize(a)
    return scaled_product(y, b, scale, b_scale, zero_point, b_zero_point, bias)


def _lstm_fits(
    x: Any, w: Any, r: Any, bias: Any, lengths: Any, hidden: Any, cell: Any, peepholes: Any, w_scale: Any,
    w_zero_point: Any, r_scale: Any, r_zero_point: Any, **_: Any,
) -> None:  # fmt: skip
    for name, one, scale, zero_point in (("W", w, w_scale, w_zero_point), ("R", r, r_scale, r_zero_point)):
        check_pair(name, one, scale, zero_point)
        if one is None:
            continue
        check_rank(name, one, 3)
        check_sums(None, None, one, zero_point, ("X", name))
        directions, _, columns = one.shape
        for argument, given in ((f"{name}_scale", scale), (f"{name}_zero_point", zero_point)):
            if given is not None and tuple(given.shape) != (directions, 1):
                check_shape(argument, given, (directions, columns)[: len(given.shape) or 1])


@microsoft(
    "DynamicQuantizeLSTM", host=(4,), check=check_functions("lstm"), of_data=going_on, fits=_lstm_fits, zeros=(9, 11)
)
def dynamic_lstm(
    x: Any, w: Any, r: Any, bias: Any | None, lengths: Any | None, hidden: Any | None, cell: Any | None,
    peepholes: Any | None, w_scale: Any, w_zero_point: Any | None, r_scale: Any, r_zero_point: Any | None, *,
    clip: float | None = None, direction: str = "forward", input_forget: int = 0, hidden_size: int | None = None,
    activations: Sequence[str] | None = None, activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the results of LSTM with quantized weights, whose last axis has the gates.

    All of x is quantized at once, and h in each step.
    """
    given: dict[str, Any] = {
        "direction": direction,
        "hidden_size": hidden_size,
        "activations": activations,
        "activation_alpha": activation_alpha,
        "activation_beta": activation_beta,
    }
    _lstm_fits(x, w, r, None, None, None, None, None, w_scale, w_zero_point, r_scale, r_zero_point)
    of_w, of_r = (Turned((one.shape[0], one.shape[2], one.shape[1])) for one in (w, r))
    check_shapes(4, x, of_w, of_r, bias, 0, initial_h=hidden, initial_c=cell, **given)
    factors, recurrent = (
        [*zip(*(directions_of(one) for one in some if one is not None), strict=True)]
        for some in ((w, w_scale, w_zero_point), (r, r_scale, r_zero_point))
    )
    of_x = [functools.partial(_product_with, each) for each in factors]
    weights = Weights(of_x, recurrent, dynamic_product)
    return lstm_of(x, weights, bias, lengths, hidden, cell, peepholes, r.shape[1], clip, input_forget, 0, given)


class Turned(NamedTuple):
    """Weights with the axes that those of LSTM have: of which the shape is read."""

    shape: tuple[int, ...]


def _product_with(factors: Sequence[Any], rows: Any) -> Any:
    return dynamic_product(rows, *factors)


def _result(y: Any, scale: Any, zero_point: Any, like: Any) -> Any:
    """Return numbers as quantized ones, in the type of another array."""
    with named("y"):
        return ops.quantize(y, scale, zero_point, like.dtype)


def _meaning(name: str, x: Any, scale: Any, zero_point: Any) -> Any:
    """Return the numbers that quantized ones mean."""
    with named(name):
        return ops.dequantize(x, scale, zero_point)


def _one_fits(x: Any, x_scale: Any, x_zero_point: Any | None, y_scale: Any, y_zero_point: Any = None, **_: Any) -> None:
    check_pair("X", x, x_scale, x_zero_point)
    check_pair("Y", x, y_scale, y_zero_point)


def _of_one(function: Function) -> Function:
    """Return the function of a quantized array, and of the scales and zero points of it and of the result, that
    computes a function of the numbers that they mean."""

    def call(
        x: Any, x_scale: Any, x_zero_point: Any | None, y_scale: Any, y_zero_point: Any = None, **attributes: Any
    ) -> Any:
        y = function(_meaning("X", x, x_scale, x_zero_point), **attributes)
        return _result(y, y_scale, y_zero_point, x)

    signature = inspect.signature(call)
    given = [one for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    _, *attributes = inspect.signature(function).parameters.values()
    call.__signature__ = signature.replace(parameters=[*given, *attributes])  # type: ignore[attr-defined]
    return call


@microsoft("QLinearSigmoid", fits=_one_fits)
@_of_one
def quantized_sigmoid(x: Any) -> Any:
    """Return the sigmoid of quantized numbers."""
    return ops.sigmoid(x)


@microsoft("QLinearLeakyRelu", fits=_one_fits)
@_of_one
def quantized_leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    """Return quantized numbers, negative ones times alpha."""
    return ops.leaky_relu(x, alpha)


@microsoft("QLinearSoftmax", fits=_one_fits)
@_of_one
def quantized_softmax(x: Any, *, axis: int = -1, opset: int) -> Any:
    """Return the softmax along an axis; of an opset before 13, along all axes from this one on."""
    return ops.softmax(x, axis) if opset >= 13 else flat(ops.softmax)(x, axis=axis)


@microsoft("QLinearGlobalAveragePool", fits=_one_fits)
@_of_one
def quantized_global_average_pool(x: Any, *, channels_last: int = 0) -> Any:
    """Return the mean of each channel."""
    check_rank("X", x, least=3)
    return ops.mean(x, tuple(range(1, len(x.shape) - 1) if channels_last else range(2, len(x.shape))), keepdims=True)


@microsoft("QLinearAveragePool", fits=_one_fits, check=windows.check)
@_of_one
def quantized_average_pool(
    x: Any, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,
    count_include_pad: int = 0, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Return the mean of each window."""
    flags = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    rank = len(x.shape)
    if channels_last:
        x = ops.permute(x, (0, rank - 1, *range(1, rank - 1)))
    y = windows.average_pool(x, kernel_shape=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides, **flags)
    return ops.permute(y, (0, *range(2, rank), 1)) if channels_last else y


def _two_fit(
    a: Any, a_scale: Any, a_zero_point: Any | None, b: Any, b_scale: Any, b_zero_point: Any | None, y_scale: Any,
    y_zero_point: Any = None,
) -> None:  # fmt: skip
    for name, one, scale, zero_point in (
        ("A", a, a_scale, a_zero_point), ("B", b, b_scale, b_zero_point), ("C", a, y_scale, y_zero_point),
    ):  # fmt: skip
        check_pair(name, one, scale, zero_point)


def _of_two(function: Function) -> Function:
    """Return the function of two quantized arrays that computes a function of the numbers that they mean."""

    def call(
        a: Any, a_scale: Any, a_zero_point: Any | None, b: Any, b_scale: Any, b_zero_point: Any | None, y_scale: Any,
        y_zero_point: Any = None,
    ) -> Any:  # fmt: skip
        y = function(_meaning("A", a, a_scale, a_zero_point), _meaning("B", b, b_scale, b_zero_point))
        return _result(y, y_scale, y_zero_point, a)

    return call


microsoft("QLinearAdd", fits=_two_fit)(_of_two(ops.add))
microsoft("QLinearMul", fits=_two_fit)(_of_two(ops.mul))


@microsoft("QLinearConcat")
def quantized_concat(y_scale: Any, y_zero_point: Any, *parts: Any, axis: int) -> Any:
    """Return quantized arrays joined along an axis. parts: each array, its scale and its zero point."""
    check(bool(parts) and len(parts) % 3 == 0, "inputs", f"{len(parts)} after Y_zero_point", "arrays, each with a pair")
    each = [parts[k : k + 3] for k in range(0, len(parts), 3)]
    numbers = [_meaning(f"inputs[{k}]", *some) for k, some in enumerate(each)]
    return _result(concat(*numbers, axis=axis), y_scale, y_zero_point, y_zero_point)


def _gemm_fits(
    a: Any, a_scale: Any, a_zero_point: Any | None, b: Any, b_scale: Any, b_zero_point: Any | None, bias: Any = None,
    y_scale: Any = None, y_zero_point: Any = None, *, transB: int = 0, **_: Any,
) -> None:  # fmt: skip
    for name, one, scale, zero_point in (("a", a, a_scale, a_zero_point), ("b", b, b_scale, b_zero_point)):
        check_pair(name, one, scale, zero_point)
    if b is not None:
        check_rank("B", b, 2)
    check_sums(a, a_zero_point, b, b_zero_point, axes=(1 if transB else 0,))
    check_pair("y", None, y_scale, y_zero_point)


@microsoft("QGemm", fits=_gemm_fits, zeros=(2, 5))
def quantized_gemm(
    a: Any, a_scale: Any, a_zero_point: Any | None, b: Any, b_scale: Any, b_zero_point: Any | None, bias: Any = None,
    y_scale: Any = None, y_zero_point: Any = None, *, alpha: float = 1.0, transA: int = 0, transB: int = 0,
) -> Any:  # fmt: skip
    """Return the product of quantized matrices, plus int32 numbers, times alpha: quantized, or without y_scale as
    floating-point numbers."""
    check_rank("A", a, 2)
    check_rank("B", b, 2)
    a, b = (ops.permute(one, (1, 0)) if turned else one for one, turned in ((a, transA), (b, transB)))
    sums = ops.matmul_integer(a, b, a_zero_point, b_zero_point)
    if bias is not None:
        check_broadcasts("C", bias, sums.shape)
        sums = ops.add(sums, bias)
    factor = ops.mul(along_rows("a_scale", a_scale, a), along_columns("b_scale", b_scale, b))
    factor = factor if alpha == 1 else ops.mul(factor, alpha)
    if y_scale is None:
        return ops.mul(ops.cast(sums, factor.dtype), factor)
    return requantized(sums, factor, y_scale, y_zero_point)
