"""Terms of gradients, and of functions that are made of operators: short compositions of operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.include.arrays import Placed
from ep.include.data_type import as_data_type
from ep.include.number_kind import COMPLEXES
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.devices import arrays_of
from ep.ops.operands import as_weak


def viewed(array: Any, shape: Sequence[int]) -> Any:
    """Return the elements of an array in another shape, as a view if the arrays of the device have one."""
    return array.reshape(tuple(shape)) if hasattr(array, "reshape") else FUNCTIONS["reshape"](array, shape)


def summed_to(gradient: Any, like: Any) -> Any:
    """Return a gradient summed over the broadcast axes."""
    shape, target = tuple(gradient.shape), tuple(like.shape)
    if shape == target:
        return gradient
    before = (1,) * (len(shape) - len(target)) + target
    axes = tuple(axis for axis, size in enumerate(shape) if before[axis] != size or axis < len(shape) - len(target))
    return viewed(FUNCTIONS["sum"](gradient, axes, gradient.dtype, keepdims=True), target)


def conjugated(x: Any) -> Any:
    """Return the conjugates of complex numbers; others as they are."""
    return FUNCTIONS["conj"](x) if as_data_type(x.dtype) in COMPLEXES else x


def in_type(gradient: Any, dtype: np.dtype[Any]) -> Any:
    """Return a gradient in the type of an operand; for a real operand, the real part."""
    if as_data_type(gradient.dtype) in COMPLEXES and as_data_type(dtype) not in COMPLEXES:
        gradient = FUNCTIONS["real"](gradient)
    return gradient if gradient.dtype == dtype else FUNCTIONS["cast"](gradient, dtype)


def wide(x: Any) -> Any:
    """Return x in float64 or complex128: counts and products in a gradient may exceed its own type."""
    return in_type(x, np.dtype(np.complex128 if as_data_type(x.dtype) in COMPLEXES else np.float64))


def over_size(x: Any, size: Any) -> Any:
    """Return an array divided by a number that depends on shapes."""
    operands = x.operands if isinstance(x, Placed) else None
    if operands is not None:
        size = operands.size(as_weak(size, x.dtype, "size"))
    return FUNCTIONS["div"](x, size)


def computed(name: str, x: Any, attributes: Attributes) -> Any:
    """Return the result of an operator of one array, with resolved attributes."""
    arrays = arrays_of((x,), ("x",))
    return arrays.compute(operator_named(name), [arrays.as_buffer(x, "x")], attributes, None)[0]


def zeros_like(like: Any) -> Any:
    """Return zeros of the shape and type of an array, which may hold values that are not finite."""
    return _truth(like, "not_equal")


def ones_like(like: Any) -> Any:
    """Return ones of the shape and type of an array, likewise."""
    return _truth(like, "equal")


def unselected(dy: Any) -> Any:
    """Return the gradient, given dy, of what a result does not depend on: 0, but NaN where dy is NaN."""
    return FUNCTIONS["threshold"](dy, threshold=math.inf, value=0.0)  # NaN is not up to infinity


def _truth(like: Any, name: str) -> Any:
    same = FUNCTIONS["equal"](like, like)
    return FUNCTIONS["cast"](FUNCTIONS[name](same, same), like.dtype)
