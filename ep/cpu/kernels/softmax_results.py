"""The results of the softmaxes and their gradients, of vectors of elements and the numbers of their row."""

from __future__ import annotations

from typing import Any

from ep.cpu.compile.conversion import arithmetic
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import fma
from ep.cpu.compile.vector_class import Vector
from ep.cpu.vector_math.sets.packed_exponential import exp, power
from ep.include.data_type import DataType


@inlined
def share(e: Vector, _: Vector, numbers: Vector) -> Vector:
    """Return e times a factor that is a sum of two numbers."""
    return fma(e, numbers[0], e * numbers[1])


@inlined
def narrow_share(e: Vector, _: Vector, numbers: Vector) -> Vector:
    """Return e times a factor, for 16-bit types."""
    return e * numbers[0]


def narrow_share_of_power() -> Any:
    """Return the same function of elements whose powers were not kept; the factor is followed by numbers of the row."""
    power_of = power(DataType.kFloat, narrow=True)

    @inlined
    def result(x: Vector, _: Vector, numbers: Vector) -> Vector:
        return power_of(x, numbers[1], numbers[2], numbers[3]) * numbers[0]

    return result


@inlined
def difference(x: Vector, _: Vector, numbers: Vector) -> Vector:
    """Return x minus a sum of two numbers."""
    return x - numbers[0] - numbers[1]


def softmax_gradient(data_type: DataType) -> Any:
    """Return a function of y, dy and the total, as two numbers."""
    double = data_type is DataType.kDouble

    @inlined
    def result(y: Vector, dy: Vector, numbers: Vector) -> Vector:
        rest = dy - numbers[0]
        if double:
            rest = rest - numbers[1]
        return rest * y

    return result


def log_softmax_gradient(data_type: DataType) -> Any:
    """Return a function of y, dy and the total."""
    exp_of = exp(arithmetic(data_type))

    @inlined
    def result(y: Vector, dy: Vector, numbers: Vector) -> Vector:
        return fma(-exp_of(y), numbers[0], dy)

    return result
