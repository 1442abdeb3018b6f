"""What the vector functions need below the level of arithmetic: single instructions that LLVM also has for vectors.

Numba gives every floating-point instruction the flag `contract`, so LLVM may turn any a * b + c into a fused one.
Where an error term depends on what is rounded, write the product with `fma`; sums alone are never changed.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

_WORD, _DOUBLE = ir.IntType(64), ir.DoubleType()


@intrinsic
def to_bits(typing_context: Any, x: Any) -> Any:
    """The int64 with the bits of the float64 `x`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.bitcast(args[0], _WORD)

    return types.int64(types.float64), generate


@intrinsic
def from_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 with the bits of the int64 `bits`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.bitcast(args[0], _DOUBLE)

    return types.float64(types.int64), generate


@intrinsic
def shift_right(typing_context: Any, bits: Any, count: Any) -> Any:
    """The int64 `bits` shifted right, with zeros coming in; AVX2 has no other 64-bit shift."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.lshr(*args)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return _call(builder, "llvm.fma", args)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def rint(typing_context: Any, x: Any) -> Any:
    """The nearest integer, ties to even."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return _call(builder, "llvm.rint", args)

    return types.float64(types.float64), generate


@intrinsic
def fabs(typing_context: Any, x: Any) -> Any:
    """|x|."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return _call(builder, "llvm.fabs", args)

    return types.float64(types.float64), generate


@intrinsic
def sqrt(typing_context: Any, x: Any) -> Any:
    """The square root, correctly rounded; NaN where x < 0."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return _call(builder, "llvm.sqrt", args)

    return types.float64(types.float64), generate


@intrinsic
def copysign(typing_context: Any, magnitude: Any, sign: Any) -> Any:
    """|magnitude| with the sign of `sign`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return _call(builder, "llvm.copysign", args)

    return types.float64(types.float64, types.float64), generate


@intrinsic
def select(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition`, else `b`, both evaluated. a and b: float64, or int64, or bool."""
    value_type = types.float64 if types.float64 in (a, b) else types.int64 if isinstance(a, types.Integer) else a

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.select(*args)

    return value_type(types.boolean, value_type, value_type), generate


@intrinsic
def both(typing_context: Any, a: Any, b: Any) -> Any:
    """`a and b`, both evaluated."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.and_(*args)

    return types.boolean(types.boolean, types.boolean), generate


@intrinsic
def either(typing_context: Any, a: Any, b: Any) -> Any:
    """`a or b`, both evaluated."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.or_(*args)

    return types.boolean(types.boolean, types.boolean), generate


def _call(builder: Any, name: str, args: Any) -> Any:
    function_type = ir.FunctionType(_DOUBLE, [_DOUBLE] * len(args))
    return builder.call(builder.module.declare_intrinsic(name, [_DOUBLE], function_type), args)
