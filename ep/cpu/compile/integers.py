"""Integers in compiled checks: arithmetic, and integers of Python."""

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.python_calls import as_ssize, clear_error, error_occurred
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import WORD

_CLIP: Final = 0  # clip integers that exceed a word instead of raising an exception
_INVALID: Final = -(2**63)


@emitted("int64")
def multiply_sizes(builder: Any, a: Any, b: Any) -> Any:
    """Return the product of two sizes >= 0, saturated at 2^63 - 1."""
    result = builder.smul_with_overflow(a, b)
    return builder.select(builder.extract_value(result, 1), WORD(2**63 - 1), builder.extract_value(result, 0))


@jit
def as_word(number):
    """Return a Python or NumPy integer, clipped to 64 bits; any other object returns the most negative number.

    This may run arbitrary Python code.
    """
    value = as_ssize(number, _CLIP)
    if value == -1 and error_occurred() != 0:
        clear_error()
        return _INVALID
    return value
