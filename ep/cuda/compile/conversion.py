"""The values between the ops of one kernel, converted as if through memory, and constants."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.memory import elements_of, words_of
from ep.cuda.compile.numba_cuda import from_dtype, intrinsic, ir, types
from ep.include.data_type import DataType


@cache
def converter(data_type: DataType) -> Any:
    """Return `convert(number)`: the number as it would be loaded after a store as `data_type`."""
    numba_type = from_dtype(np.dtype(storage_arithmetic(data_type)))

    @intrinsic
    def convert(typing_context: Any, number: Any) -> Any:
        if data_type.dtype.kind != "c" and isinstance(number, types.Complex):
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words = words_of(context, builder, args[0], number, data_type)
            (value,) = elements_of(context, builder, words, data_type)
            return value

        return numba_type(number), generate

    return convert


@intrinsic
def opaque(typing_context: Any, number: Any) -> Any:
    """opaque(number): the number, about which the compiler knows as little as about a loaded one.

    So the code of an op does not depend on the ops before it: a product of one op is not fused with a sum of another,
    which would change the last bits. The assembler removes the instruction. Integers are exact, and need none.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(number, types.Float):
            return _moved(builder, args[0])
        if not isinstance(number, types.Complex):
            return args[0]
        parts = context.make_complex(builder, number, value=args[0])
        parts.real, parts.imag = _moved(builder, parts.real), _moved(builder, parts.imag)
        return parts._getvalue()

    return number(number), generate


def _moved(builder: Any, value: Any) -> Any:
    bits, register = (32, "f") if value.type == ir.FloatType() else (64, "d")
    function_type = ir.FunctionType(value.type, [value.type])
    return builder.asm(function_type, f"mov.f{bits} $0, $1;", f"={register},{register}", [value], False)
