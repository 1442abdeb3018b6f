"""Integers in compiled checks: arithmetic, and integers of Python."""

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.objects import Object
from ep.common.native.python_calls import as_ssize, clear_error, error_occurred, type_flags
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import WORD

_CLIP: Final = 0  # clip integers that exceed a word instead of raising an exception
_INVALID: Final = -(2**63)
_IS_CLASS: Final = 1 << 9  # of a type: a statement `class` may have made it
_IS_INT: Final = 1 << 24  # of a type: it is a subclass of int, whose objects are not converted


@emitted("int64")
def multiply_sizes(builder: Any, a: Any, b: Any) -> Any:
    """Return the product of two sizes >= 0, saturated at 2^63 - 1."""
    result = builder.smul_with_overflow(a, b)
    return builder.select(builder.extract_value(result, 1), WORD(2**63 - 1), builder.extract_value(result, 0))


@jit
def as_word(number: int) -> int:
    """Return a Python or NumPy integer, clipped to 64 bits; any other object returns the most negative number.

    No method of a class of Python is called: Launch in Python calls it, once, and raises its exception.
    """
    flags = type_flags(Object.at(number).type)
    if flags & _IS_CLASS != 0 and flags & _IS_INT == 0:
        return _INVALID
    value = as_ssize(number, _CLIP)
    if value == -1 and error_occurred() != 0:
        clear_error()
        return _INVALID
    return value
