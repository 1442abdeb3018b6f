"""Access to memory by address, and calls by address, in functions that Numba compiles."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORDS = types.CPointer(types.int64)


@intrinsic
def words_at(typing_context: Any, address: Any) -> Any:
    """Return the words (int64) at an address as an array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return WORDS(types.int64), generate


@intrinsic
def step(typing_context: Any, function: Any, thread: Any, block: Any) -> Any:
    """Call translated code at an address, with the addresses of the thread record and the block record."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        records = [builder.inttoptr(address, pointer) for address in args[1:]]
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), records)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate
