"""Instructions of AVX-512 that LLVM has no generic code for. They need `lookup.has_register_tables()`.

Each is a function with a twin for vectors, like the look-ups of `lookup.py`. The scalar function is the same
instruction on a vector of which one lane is used, so all bits are the same.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from ep.cpu.vector_math.lookup import with_twin

_FLOATS, _DOUBLES = ir.VectorType(ir.FloatType(), 16), ir.VectorType(ir.DoubleType(), 8)
_INT = ir.IntType(32)
_CURRENT = _INT(4)  # the current rounding mode
_NORMALISED_NAN_IF_NEGATIVE = _INT(0b1100)  # from 1 to 2; 1 for zeros and infinity, NaN below 0


def _call(module: Any, builder: Any, name: str, arguments: list[Any], rounding: tuple[Any, ...] = ()) -> Any:
    """Return the instruction applied to all lanes of the vectors among `arguments`."""
    vector = arguments[0].type
    arguments = [*arguments, vector(ir.Undefined), ir.IntType(vector.count)(-1), *rounding]
    function_type = ir.FunctionType(vector, [argument.type for argument in arguments])
    return builder.call(module.declare_intrinsic(f"llvm.x86.avx512.{name}.512", (), function_type), arguments)


def _mantissa(module: Any, builder: Any, x: Any) -> Any:
    return _call(module, builder, "mask.getmant.pd", [x, _NORMALISED_NAN_IF_NEGATIVE], (_CURRENT,))


def _exponent(module: Any, builder: Any, x: Any) -> Any:
    return _call(module, builder, "mask.getexp.pd", [x], (_CURRENT,))


def _scale(module: Any, builder: Any, y: Any, n: Any) -> Any:
    return _call(
        module, builder, f"mask.scalef.{'pd' if y.type.element == _DOUBLES.element else 'ps'}", [y, n], (_CURRENT,)
    )


def scaled_vector(builder: Any, y: Any, n: Any) -> Any:
    """Return `scale` of every lane of 64 bytes, in LLVM's code; also of float32."""
    return _scale(builder.module, builder, y, n)


def _approximate_rsqrt(module: Any, builder: Any, x: Any) -> Any:
    return _call(module, builder, "rsqrt14.ps", [x])


def _function(module: Any, vector: Any, name: str, emit: Callable[..., Any], num_arguments: int) -> Any:
    """Return the scalar function of an instruction on `vector` in `module`."""

    def scalar(module: Any, builder: Any, *args: Any) -> Any:
        vectors = [builder.insert_element(vector(None), x, _INT(0)) for x in args]
        return builder.extract_element(emit(module, builder, *vectors), _INT(0))

    return with_twin(module, f"ep.{name}", vector, [vector] * num_arguments, scalar, emit)


@intrinsic
def mantissa(typing_context: Any, x: Any) -> Any:
    """Return x divided by a power of two, at least 1 and below 2; 1 for zeros and infinity, NaN below 0."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, _DOUBLES, "mantissa", _mantissa, 1), args)

    return types.float64(types.float64), generate


@intrinsic
def exponent(typing_context: Any, x: Any) -> Any:
    """Return the exponent of that power; -infinity for zeros, infinity for infinities."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, _DOUBLES, "exponent", _exponent, 1), args)

    return types.float64(types.float64), generate


@intrinsic
def scale(typing_context: Any, y: Any, n: Any) -> Any:
    """Return y 2^floor(n), rounded once, for any n."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, _DOUBLES, "scale", _scale, 2), args)

    return types.float64(types.float64, types.float64), generate


@intrinsic
def approximate_rsqrt(typing_context: Any, x: Any) -> Any:
    """Return 1 / sqrt(x) of a float32, to 2^-14, with the exact function's limits."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, _FLOATS, "rsqrt14", _approximate_rsqrt, 1), args)

    return types.float32(types.float32), generate
