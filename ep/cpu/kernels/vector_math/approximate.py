"""The approximation of 1 / sqrt(x) that the processor has as an instruction, in vectorised loops too."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from ep.cpu.kernels.vector_math.lookup import keep, new_function, vectorised_as

_FLOAT = ir.FloatType()
_QUAD, _VECTOR = ir.VectorType(_FLOAT, 4), ir.VectorType(_FLOAT, 16)
_NAME = "ep.rsqrt14"


@intrinsic
def approximate_rsqrt(typing_context: Any, x: Any) -> Any:
    """1 / sqrt(x) to 2^-14, with the limits of the exact one; needs `has_register_tables()`, of a float32."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.call(_function(builder.module), args)

    return types.float32(types.float32), generate


def _function(module: Any) -> Any:
    if _NAME in module.globals:
        return module.globals[_NAME]
    function = new_function(module, _NAME, _FLOAT, _FLOAT, "noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    one = module.declare_intrinsic(
        "llvm.x86.avx512.rsqrt14.ss", (), ir.FunctionType(_QUAD, [_QUAD, _QUAD, _QUAD, ir.IntType(8)])
    )
    zeros, place = ir.Constant(_QUAD, None), ir.IntType(32)(0)
    quad = builder.insert_element(zeros, function.args[0], place)
    builder.ret(builder.extract_element(builder.call(one, [quad, quad, zeros, ir.IntType(8)(-1)]), place))

    twin = new_function(module, f"{_NAME}.vector", _VECTOR, _VECTOR, "alwaysinline")
    builder = ir.IRBuilder(twin.append_basic_block())
    many = module.declare_intrinsic(
        "llvm.x86.avx512.rsqrt14.ps.512", (), ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR, ir.IntType(16)])
    )
    builder.ret(builder.call(many, [twin.args[0], ir.Constant(_VECTOR, None), ir.IntType(16)(-1)]))
    vectorised_as(function, twin, 16)
    keep(module, twin)
    return function
