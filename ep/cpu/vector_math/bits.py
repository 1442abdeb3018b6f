"""The operations of the vector functions below the level of arithmetic: instructions that LLVM also has for vectors.

Each supports float64 and int64, and float32 and int32. If one argument is float32, the others become float32, constants
as well. A constant in plain arithmetic must then be an np.float32, and a sum of int32 be converted back to int32.

A product that is only used in one sum is fused with it (`contraction.py`). If an error term depends on the rounding,
write the product with `fma`; sums alone are never changed.
"""

from typing import Any

from ep.common.native.emitted import intrinsic
from ep.common.native.on_demand import types
from ep.cpu.compile.vectors import DOUBLE, FLOAT, INT, WORD, call, mangled


def _float_type(*arguments: Any) -> Any:
    return types.float32 if types.float32 in arguments else types.float64


def _integer_type(argument: Any) -> Any:
    return types.int32 if argument == types.int32 else types.int64


@intrinsic
def to_bits(typing_context: Any, x: Any) -> Any:
    """Return the integer with the bits of `x`, of the same width."""
    single = _float_type(x) is types.float32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], INT if single else WORD)

    return types.int32(types.float32) if single else types.int64(types.float64), generate


@intrinsic
def from_bits(typing_context: Any, bits: Any) -> Any:
    """Return the floating-point number with the bits of `bits`, of the same width."""
    single = _integer_type(bits) is types.int32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], FLOAT if single else DOUBLE)

    return types.float32(types.int32) if single else types.float64(types.int64), generate


@intrinsic
def shift_right(typing_context: Any, bits: Any, count: Any) -> Any:
    """Return `bits` shifted right logically; AVX2 has no arithmetic 64-bit shift to the right."""
    integer_type = _integer_type(bits)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.lshr(*args)

    return integer_type(integer_type, integer_type), generate


def _instruction(name: str, num_arguments: int, description: str) -> Any:
    """Return the function for LLVM's intrinsic `name`, of real numbers of one type."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return call(builder, f"{name}.{mangled(args[0].type)}", args[0].type, *args)

    def typed(*arguments: Any) -> Any:
        real = _float_type(*arguments)
        return real(*(real,) * num_arguments), generate

    def of_one(typing_context: Any, x: Any) -> Any:
        return typed(x)

    def of_two(typing_context: Any, x: Any, y: Any) -> Any:
        return typed(x, y)

    def of_three(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return typed(x, y, z)

    function = (of_one, of_two, of_three)[num_arguments - 1]
    function.__name__, function.__doc__ = name.removeprefix("llvm."), description
    return intrinsic(function)


fma = _instruction("llvm.fma", 3, "x y + z, rounded once.")
rint = _instruction("llvm.rint", 1, "The nearest integer, ties to even.")
fabs = _instruction("llvm.fabs", 1, "|x|.")
sqrt = _instruction("llvm.sqrt", 1, "The square root, correctly rounded; NaN where x < 0.")
copysign = _instruction("llvm.copysign", 2, "|x| with the sign of y.")


@intrinsic
def select(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
    """Return `a` if `condition`, else `b`; both are evaluated. a and b: real, or integer, or bool."""
    if isinstance(a, types.Float) or isinstance(b, types.Float):
        value_type = _float_type(a, b)
    elif isinstance(a, types.Integer):
        value_type = types.int32 if types.int32 in (a, b) else types.int64
    else:
        value_type = a

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return value_type(types.boolean, value_type, value_type), generate


@intrinsic
def both(typing_context: Any, a: Any, b: Any) -> Any:
    """Return `a and b`; both are evaluated."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.and_(*args)

    return types.boolean(types.boolean, types.boolean), generate


@intrinsic
def either(typing_context: Any, a: Any, b: Any) -> Any:
    """Return `a or b`; both are evaluated."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.or_(*args)

    return types.boolean(types.boolean, types.boolean), generate
