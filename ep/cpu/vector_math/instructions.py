"""Instructions of AVX-512 that LLVM has no generic code for. They need `lookup.has_register_tables()`.

Each is a function with a twin for vectors, like the look-ups of `lookup.py`. The scalar function is the same
instruction on a vector of which one lane is used, so all bits are the same.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir

from ep.common.native.emitted import NumbaType, emitted
from ep.cpu.compile.vectors import DOUBLE, FLOAT, INT, call
from ep.cpu.vector_math.lookup import with_twin

_FLOATS, _DOUBLES = ir.VectorType(FLOAT, 16), ir.VectorType(DOUBLE, 8)
_CURRENT = INT(4)  # the current rounding mode
_NORMALISED_NAN_IF_NEGATIVE = INT(0b1100)  # results from 1 to 2; 1 for zeros and infinity, NaN below 0


def _call(builder: Any, name: str, arguments: list[Any], *rounding: Any) -> Any:
    """Return the instruction applied to all lanes of the vectors among `arguments`."""
    vector = arguments[0].type
    every = ir.IntType(vector.count)(-1)
    return call(builder, f"llvm.x86.avx512.{name}.512", vector, *arguments, vector(ir.Undefined), every, *rounding)


def _mantissa(builder: Any, x: Any) -> Any:
    return _call(builder, "mask.getmant.pd", [x, _NORMALISED_NAN_IF_NEGATIVE], _CURRENT)


def _exponent(builder: Any, x: Any) -> Any:
    return _call(builder, "mask.getexp.pd", [x], _CURRENT)


def _scaled(builder: Any, y: Any, n: Any) -> Any:
    return _call(builder, f"mask.scalef.{'pd' if y.type.element == DOUBLE else 'ps'}", [y, n], _CURRENT)


def _approximate_rsqrt(builder: Any, x: Any) -> Any:
    return _call(builder, "rsqrt14.ps", [x])


def _applied(builder: Any, vector: Any, name: str, emit: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of the scalar function of an instruction on `vector`."""

    def scalar(builder: Any, *args: Any) -> Any:
        vectors = [builder.insert_element(vector(None), x, INT(0)) for x in args]
        return builder.extract_element(emit(builder, *vectors), INT(0))

    function = with_twin(builder.module, f"ep.{name}", vector, [vector] * len(arguments), scalar, emit)
    return builder.call(function, arguments)


@emitted("float64", x="float64")
def mantissa(builder: Any, x: Any) -> Any:
    """Return x divided by a power of two, at least 1 and below 2; 1 for zeros and infinity, NaN below 0."""
    return _applied(builder, _DOUBLES, "mantissa", _mantissa, x)


@emitted("float64", x="float64")
def exponent(builder: Any, x: Any) -> Any:
    """Return the exponent of that power; -infinity for zeros, infinity for infinities."""
    return _applied(builder, _DOUBLES, "exponent", _exponent, x)


@emitted("float64", y="float64", n="float64")
def scale(builder: Any, y: Any, n: Any) -> Any:
    """Return y 2^floor(n), rounded once, for any n."""
    return _applied(builder, _DOUBLES, "scale", _scaled, y, n)


@cache
def scale_of_vectors(Row: Any) -> Any:
    """Return the same function for vectors of 64 bytes of a class, also of float32."""
    kind: NumbaType = Row.item_type
    return emitted(kind, y=kind, n=kind)(_scaled)


@emitted("float32", x="float32")
def approximate_rsqrt(builder: Any, x: Any) -> Any:
    """Return 1 / sqrt(x) of a float32, to 2^-14, with the exact function's limits."""
    return _applied(builder, _FLOATS, "rsqrt14", _approximate_rsqrt, x)
