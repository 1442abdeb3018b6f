"""Numbers as arguments: they may change from call to call of a fused function without a new trace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.expressions.trace import Trace
from ep.include.arrays import Array, LaterNumber, Operands
from ep.include.data_type import as_data_type
from ep.ops.operands import numbers_of


class Number(LaterNumber):
    """A number that is an argument, or is computed from arguments by arithmetic or by functions of NumPy.

    Where an operator needs an array, it is one without axes, of the dtype that NumPy gives the number. A scalar of
    NumPy also has the attributes of this array, and becomes it where the function returns it. If Python needs its value
    (an axis, a condition, an attribute of an operator), the trace is valid for this value only.
    """

    trace = None  # it is not an array of one, also if its scalar has an array's attributes

    def __init__(
        self, trace: Trace, pins: set[int], value: complex, compute: Callable[[Sequence[Any]], Any], of: frozenset[int]
    ) -> None:
        """pins: receives the arguments whose values the trace depends on. compute: computes it from all arguments.

        of: the arguments that it is computed from.
        """
        self._trace, self._pins, self._compute, self._of = trace, pins, compute, of
        self._value = value

    @property
    def operands(self) -> Operands:
        return self._trace

    @property
    def value(self) -> complex:  # type: ignore[override]
        """Its value in the traced call. The trace is also used for other values of the same type."""
        return self._value

    def as_array(self, dtype: np.dtype[Any], argument: str) -> Array:
        convert, compute = numbers_of(as_data_type(dtype)).array, self._compute
        convert(self._value, argument)  # raises an error for numbers that the dtype cannot hold
        return self._trace.give_number(lambda arguments: convert(compute(arguments), argument), dtype)

    def pinned(self) -> Any:
        """Return the value, and make the trace depend on it."""
        self._pins |= self._of
        return self._value

    def combined(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return the result of a function of this number and others."""
        return self._joined(function, self, *others)

    def _joined(self, function: Callable[..., Any], *parts: Any) -> Any:
        """Return the result of a function of numbers, in this order."""
        computes = [one._compute if isinstance(one, Number) else (lambda _, one=one: one) for one in parts]
        value = function(*(one._value if isinstance(one, Number) else one for one in parts))
        of: frozenset[int] = frozenset().union(*(one._of for one in parts if isinstance(one, Number)))
        return Number(
            self._trace, self._pins, value, lambda given: function(*(compute(given) for compute in computes)), of
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Return a function of NumPy of numbers as a number."""
        if method != "__call__" or options or ufunc.nout != 1 or not all(_is_part(one) for one in inputs):
            return NotImplemented
        return self._joined(ufunc, *inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not isinstance(self._value, np.generic):
            raise AttributeError(f"a number has no attribute {name!r}")
        if name in ("shape", "ndim", "size", "dtype"):
            return getattr(self._value, name)
        return getattr(self.as_array(self._value.dtype, "the number"), name)

    def __neg__(self) -> Any:
        return self.combined(operator.neg)

    def __pos__(self) -> Any:
        return self.combined(operator.pos)

    def __invert__(self) -> Any:
        return self.combined(operator.invert)

    def __abs__(self) -> Any:
        return self.combined(abs)

    def __bool__(self) -> bool:
        return bool(self.pinned())

    def __float__(self) -> float:
        return float(self.pinned())

    def __int__(self) -> int:
        return int(self.pinned())

    def __index__(self) -> int:
        return operator.index(self.pinned())

    def __hash__(self) -> int:
        return hash(self.pinned())

    def __repr__(self) -> str:
        return f"<Number {self._value}>"


def _is_part(value: Any) -> bool:
    """Return whether a value can be an operand of arithmetic with numbers."""
    return isinstance(value, Number) or is_weak(value)


def _arithmetic(function: Callable[..., Any], reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if not _is_part(other):
            return NotImplemented
        return self.combined((lambda x, y: function(y, x)) if reflected else function, other)

    return method


def _compared(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if not _is_part(other):
            return NotImplemented
        return function(self.pinned(), other.pinned() if isinstance(other, Number) else other)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Number, f"__{_name}__", _arithmetic(_function))
    setattr(Number, f"__r{_name}__", _arithmetic(_function, reflected=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Number, f"__{_name}__", _compared(getattr(operator, _name)))
