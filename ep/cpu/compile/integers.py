"""Integer arithmetic of compiled checks."""

from typing import Any

from numba.core import types

from ep.cpu.compile.emitted import emitted
from ep.cpu.compile.vectors import WORD


@emitted(types.int64)
def multiply_sizes(builder: Any, a: Any, b: Any) -> Any:
    """Return the product of two sizes >= 0, saturated at 2^63 - 1."""
    result = builder.smul_with_overflow(a, b)
    return builder.select(builder.extract_value(result, 1), WORD(2**63 - 1), builder.extract_value(result, 0))
