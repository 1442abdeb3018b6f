"""Instructions of AVX-512 on float64 that LLVM has no generic code for: exponents, mantissas, products with powers.

Each is a function with a twin for vectors, as the look-ups of `lookup.py` are. The scalar function is the same
instruction on a vector of which one lane counts, so that all bits are the same.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from ep.cpu.kernels.vector_math.lookup import keep, new_function

_LANES = 8
_DOUBLE, _INT, _BYTE = ir.DoubleType(), ir.IntType(32), ir.IntType(8)
_VECTOR = ir.VectorType(_DOUBLE, _LANES)
_ALL = _BYTE(-1)  # the mask of every lane
_CURRENT = _INT(4)  # the rounding that is set
_NORMALISED_NAN_IF_NEGATIVE = _INT(0b1100)  # from 1 to 2; 1 for zeros and infinity, NaN below 0


def _call(module: Any, builder: Any, name: str, arguments: list[Any]) -> Any:
    function_type = ir.FunctionType(_VECTOR, [argument.type for argument in arguments])
    return builder.call(module.declare_intrinsic(f"llvm.x86.avx512.mask.{name}.pd.512", (), function_type), arguments)


def _mantissa(module: Any, builder: Any, x: Any) -> Any:
    return _call(module, builder, "getmant", [x, _NORMALISED_NAN_IF_NEGATIVE, _VECTOR(ir.Undefined), _ALL, _CURRENT])


def _exponent(module: Any, builder: Any, x: Any) -> Any:
    return _call(module, builder, "getexp", [x, _VECTOR(ir.Undefined), _ALL, _CURRENT])


def _scale(module: Any, builder: Any, y: Any, n: Any) -> Any:
    return _call(module, builder, "scalef", [y, n, _VECTOR(ir.Undefined), _ALL, _CURRENT])


def _function(module: Any, name: str, emit: Callable[..., Any], num_arguments: int) -> Any:
    """The scalar function of an instruction in `module`."""
    name = f"ep.{name}"
    if name in module.globals:
        return module.globals[name]
    function = new_function(module, name, _DOUBLE, [_DOUBLE] * num_arguments, "noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    vectors = [builder.insert_element(_VECTOR(None), x, _INT(0)) for x in function.args]
    builder.ret(builder.extract_element(emit(module, builder, *vectors), _INT(0)))

    twin = new_function(module, f"{name}.vector", _VECTOR, [_VECTOR] * num_arguments, "alwaysinline")
    builder = ir.IRBuilder(twin.append_basic_block())
    builder.ret(emit(module, builder, *twin.args))
    variant = f"_ZGV_LLVM_N{_LANES}{'v' * num_arguments}_{name}({twin.name})"
    set.add(function.attributes, f'"vector-function-abi-variant"="{variant}"')
    keep(module, twin)
    return function


@intrinsic
def mantissa(typing_context: Any, x: Any) -> Any:
    """x over the power of two that makes it at least 1 and below 2; 1 for zeros and infinity, NaN below 0."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, "mantissa", _mantissa, 1), args)

    return types.float64(types.float64), generate


@intrinsic
def exponent(typing_context: Any, x: Any) -> Any:
    """The exponent of that power; -infinity for zeros, infinity for infinities."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, "exponent", _exponent, 1), args)

    return types.float64(types.float64), generate


@intrinsic
def scale(typing_context: Any, y: Any, n: Any) -> Any:
    """y 2^floor(n), rounded once, for any n."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module, "scale", _scale, 2), args)

    return types.float64(types.float64, types.float64), generate
