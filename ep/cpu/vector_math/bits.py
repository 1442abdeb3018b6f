"""The operations of the vector functions below the level of arithmetic: instructions that LLVM also has for vectors.

Each supports float64 and int64, and float32 and int32. If one argument is float32, the others become float32, constants
as well. A constant in plain arithmetic must then be an np.float32, and a sum of int32 be converted back to int32.

Every product and every sum is rounded, unless they are written as one `fma`.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast, overload

import numpy as np

from ep.common.native.emitted import emitted, intrinsic
from ep.common.native.on_demand import types
from ep.cpu.compile.vectors import DOUBLE, FLOAT, INT, WORD, call, mangled

Real = TypeVar("Real", float, np.float32)
"""A number of a function for float64 and float32."""

# compiled functions of one, two or three numbers
Unary = Callable[[Real], Real]
Binary = Callable[[Real, Real], Real]
Ternary = Callable[[Real, Real, Real], Real]

Value = TypeVar("Value")
Bits = int | np.int32
"""The bits of a number, as an integer."""


class _FromBits(Protocol):
    @overload
    def __call__(self, bits: np.int32) -> np.float32: ...
    @overload
    def __call__(self, bits: int) -> float: ...


def _float_type(*arguments: Any) -> Any:
    return types.float32 if types.float32 in arguments else types.float64


def _integer_type(argument: Any) -> Any:
    return types.int32 if argument == types.int32 else types.int64


def _code(write: Callable[..., Any]) -> Callable[..., Any]:
    """Return what writes a call for Numba, by `write(builder, *arguments)`."""
    return lambda context, builder, signature, args: write(builder, *args)


def _to_bits(typing_context: Any, x: Any) -> Any:
    real = _float_type(x)
    integer, of_bits = (types.int32, INT) if real == types.float32 else (types.int64, WORD)
    return integer(real), _code(lambda builder, x: builder.bitcast(x, of_bits))


def _from_bits(typing_context: Any, bits: Any) -> Any:
    integer = _integer_type(bits)
    real, of_real = (types.float32, FLOAT) if integer == types.int32 else (types.float64, DOUBLE)
    return real(integer), _code(lambda builder, bits: builder.bitcast(bits, of_real))


def _shift_right(typing_context: Any, bits: Any, count: Any) -> Any:
    integer = _integer_type(bits)
    return integer(integer, integer), _code(lambda builder, bits, count: builder.lshr(bits, count))


def _select(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, types.Float) or isinstance(b, types.Float):
        value_type = _float_type(a, b)
    elif isinstance(a, types.Integer):
        value_type = types.int32 if types.int32 in (a, b) else types.int64
    else:
        value_type = a
    selected = _code(lambda builder, condition, a, b: builder.select(condition, a, b))
    return value_type(types.boolean, value_type, value_type), selected


def _instruction(name: str, num_arguments: int, description: str) -> Any:
    """Return the function for LLVM's intrinsic `name`, of real numbers of one type."""

    def typed(*arguments: Any) -> Any:
        real = _float_type(*arguments)
        write = _code(lambda builder, x, *more: call(builder, f"{name}.{mangled(x.type)}", x.type, x, *more))
        return real(*(real,) * num_arguments), write

    def of_one(typing_context: Any, x: Any) -> Any:
        return typed(x)

    def of_two(typing_context: Any, x: Any, y: Any) -> Any:
        return typed(x, y)

    def of_three(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return typed(x, y, z)

    function = (of_one, of_two, of_three)[num_arguments - 1]
    function.__name__, function.__doc__ = name.removeprefix("llvm."), description
    return intrinsic(function)


fma: Callable[[Real, Real, Real], Real] = _instruction("llvm.fma", 3, "x y + z, rounded once.")
rint: Callable[[Real], Real] = _instruction("llvm.rint", 1, "The nearest integer, ties to even.")
fabs: Callable[[Real], Real] = _instruction("llvm.fabs", 1, "|x|.")
sqrt: Callable[[Real], Real] = _instruction("llvm.sqrt", 1, "The square root, correctly rounded; NaN where x < 0.")
copysign: Callable[[Real, Real], Real] = _instruction("llvm.copysign", 2, "|x| with the sign of y.")


@emitted("boolean", a="boolean", b="boolean")
def both(builder: Any, a: Any, b: Any) -> Any:
    """Return `a and b`; both are evaluated."""
    return builder.and_(a, b)


@emitted("boolean", a="boolean", b="boolean")
def either(builder: Any, a: Any, b: Any) -> Any:
    """Return `a or b`; both are evaluated."""
    return builder.or_(a, b)


to_bits: Callable[[Real], int] = intrinsic(_to_bits)
"""The integer with the bits of a number, of the same width."""

from_bits: _FromBits = cast(_FromBits, intrinsic(_from_bits))
"""The floating-point number with the bits of an integer, of the same width."""

shift_right: Callable[[Bits, Bits], int] = intrinsic(_shift_right)
"""(bits, count): the bits shifted right logically; AVX2 has no arithmetic 64-bit shift to the right."""

select: Callable[[bool | np.bool, Value, Value], Value] = intrinsic(_select)
"""(condition, a, b): `a` if the condition holds, else `b`; both are evaluated."""
