"""The softmaxes of rows and their gradients, as functions of rows.

Sums are computed in float64, with their rounding errors for float64 data. The largest exponential of a row is exactly
1, so the logarithm of a sum is accurate even if all other terms are lost in the type of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.math_library import cuda_math_library
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.engine.reduce.row_passes import RowFunction
from ep.include.data_type import DataType


def softmax(data_type: DataType) -> RowFunction:
    """exp(x - top) / sum."""
    T, exp, total = storage_arithmetic(data_type), _exponential(data_type), _total(data_type)

    def scale(state: Any) -> Scalar:
        return T(np.float64(1) / total(state))

    return RowFunction(
        "softmax",
        num_operands=1,
        from_maximum=True,
        keep=lambda e, top: (exp(e[0], top),),
        term=lambda e, top: np.float64(e[0]),
        scale=scale,
        result=lambda e, top, share: e[0] * share,
    )


def log_softmax(data_type: DataType) -> RowFunction:
    """(x - top) - log(sum)."""
    T, exp, one = storage_arithmetic(data_type), _exponential(data_type), np.float64(1)
    log1p = cuda_math_library(T).log1p

    def scale(state: Any) -> Scalar:
        return log1p(T(state[0] - one))

    def scale_with_error(state: Any) -> Scalar:
        return log1p((state[0] - one) + state[1])

    return RowFunction(
        "log_softmax",
        num_operands=1,
        from_maximum=True,
        keep=None,
        term=lambda e, top: np.float64(exp(e[0], top)),
        scale=scale_with_error if data_type is DataType.kDouble else scale,
        result=lambda e, top, logarithm: (e[0] - top) - logarithm,
        largest_is_one=True,
    )


def softmax_backward(data_type: DataType) -> RowFunction:
    """(dy - sum(y dy)) y."""
    T, total = storage_arithmetic(data_type), _total(data_type)

    return RowFunction(
        "softmax_backward",
        num_operands=2,
        from_maximum=False,
        keep=None,
        term=lambda e, top: np.float64(e[0]) * np.float64(e[1]),
        scale=lambda state: T(total(state)),
        result=lambda e, top, product: (e[1] - product) * e[0],
    )


def log_softmax_backward(data_type: DataType) -> RowFunction:
    """dy - exp(y) sum(dy)."""
    T, total = storage_arithmetic(data_type), _total(data_type)
    exp = cuda_math_library(T).exp

    return RowFunction(
        "log_softmax_backward",
        num_operands=2,
        from_maximum=False,
        keep=None,
        term=lambda e, top: np.float64(e[1]),
        scale=lambda state: T(total(state)),
        result=lambda e, top, total: e[1] - exp(e[0]) * total,
    )


def _exponential(data_type: DataType) -> Function:
    """exp(x, top): the exponential of x - top."""
    m = cuda_math_library(storage_arithmetic(data_type))
    return m.use(_exponential_of_rounded if data_type.itemsize == 2 else _exponential_of_difference)


def _exponential_of_rounded(m: MathLibrary) -> Function:
    """Return it with an error that vanishes in 16 bits."""
    exp = m.exp

    def f(x: Scalar, top: Scalar) -> Scalar:
        return exp(x - top)

    return f


def _exponential_of_difference(m: MathLibrary) -> Function:
    """Return it with the rounding error of the difference included: for large differences this would be many ulps."""
    exp, zero = m.exp, m.T(0)

    def f(x: Scalar, top: Scalar) -> Scalar:
        difference = x - top
        negative = difference - x  # -top, except for rounding
        error = (x - (difference - negative)) - (top + negative)
        power = exp(difference)
        return power + power * error if power > zero else power  # the error of an infinite difference is NaN

    return f


def _total(data_type: DataType) -> Any:
    """Return the sum that a state stands for."""
    if data_type is not DataType.kDouble:
        return device_function(lambda state: state[0])
    return device_function(lambda state: state[0] if state[1] != state[1] else state[0] + state[1])
