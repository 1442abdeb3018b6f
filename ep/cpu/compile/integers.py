"""Integer arithmetic of compiled checks."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_BIT = ir.IntType(1)


@intrinsic
def multiply_sizes(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the product of two sizes >= 0, saturated at 2^63 - 1."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        result = builder.smul_with_overflow(*args)
        limit = ir.Constant(_WORD, 2**63 - 1)
        return builder.select(builder.extract_value(result, 1), limit, builder.extract_value(result, 0))

    return types.int64(types.int64, types.int64), generate
