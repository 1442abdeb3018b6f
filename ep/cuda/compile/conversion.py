"""The values between the ops of one kernel, converted as if through memory, and constants."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.instructions import FLOAT, Instructions, written_for
from ep.cuda.compile.memory import elements_of, words_of
from ep.cuda.compile.numba_cuda import from_dtype, types
from ep.include.data_type import DataType


@cache
def converter(data_type: DataType) -> Any:
    """Return `convert(number)`: the number as it would be loaded after a store as `data_type`."""
    numba_type = from_dtype(np.dtype(storage_arithmetic(data_type)))

    def typed(number: Any) -> tuple[Any, Any] | None:
        if data_type.dtype.kind != "c" and isinstance(number, types.Complex):
            return None
        return numba_type, (number,)

    @written_for(typed)
    def convert(code: Instructions, number: Any) -> Any:
        (value,) = elements_of(code, words_of(code, number, code.types[0], data_type), data_type)
        return value

    return convert


@written_for(lambda number: (number, (number,)))
def opaque(code: Instructions, number: Any) -> Any:
    """opaque(number): the number, about which the compiler knows as little as about a loaded one.

    So the code of an op does not depend on the ops before it: a product of one op is not fused with a sum of another,
    which would change the last bits. The assembler removes the instruction. Integers are exact, and need none.
    """
    (numba_type,) = code.types
    if isinstance(numba_type, types.Float):
        return _moved(code, number)
    if not isinstance(numba_type, types.Complex):
        return number
    real, imag = code.parts(number, numba_type)
    return code.complex_of(_moved(code, real), _moved(code, imag), numba_type)


def _moved(code: Instructions, value: Any) -> Any:
    kind = code.kind_of(value)
    bits, register = (32, "f") if kind == FLOAT else (64, "d")
    return code.ptx(f"mov.f{bits} $0, $1;", f"={register},{register}", kind, value)
