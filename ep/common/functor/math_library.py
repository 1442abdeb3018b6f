"""The names used in a functor's body: the arithmetic type, and the device's elementary functions."""

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import numpy as np

from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, part_of

Scalar = Any
"""One element, in the functor's type: T of its library, or bool, or a 64-bit integer."""
ScalarType = Any
"""A type of NumPy's scalars: for mypy, `type[np.generic]` has no hash."""
Function = Callable[..., Any]
Maker = Callable[["MathLibrary"], Function]

ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sqrt", "rsqrt", "fmod"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "lgamma", "floor", "ceil", "trunc", "rint", "copysign", "fma"),
)
"""The functions of every device for float32 and float64, from real arguments of type T to a result of type T."""

REAL_TYPES: Final[Mapping[Any, Any]] = {
    each.dtype.type: part_of(each).dtype.type for each in (DataType.kFloat, DataType.kDouble, *COMPLEXES)
}
"""The arithmetic types that have elementary functions, and the real type of those functions."""


class MathLibrary:
    """The elementary functions of one device in one arithmetic type.

    A *maker*, a function of a MathLibrary, makes a functor's body: it reads `m.T` and the functions that it needs, and
    returns a plain scalar function that captures them. It does not depend on a device or a compiler.

    T: NumPy scalar type of the arithmetic. Constants are written `m.T(0.5)`: a bare Python literal would turn float32
        arithmetic into float64, and uint64 arithmetic into float64.
    exp, log, ...: the functions of `ELEMENTARY`, only if T is float32 or float64.
    """

    def __init__(
        self,
        scalar_type: type[np.generic],
        elementary: MutableMapping[str, Function],
        jit: Callable[[Function], Function],
        overrides: Mapping[Maker, Maker] | None = None,
    ) -> None:
        """elementary: the functions for `scalar_type`; jit: makes a plain function callable from others on the device.

        overrides: the device's own makers that replace common ones, wherever those are used.
        """
        self.T: Any = scalar_type
        self._elementary = elementary
        self._jit = jit
        self._overrides = overrides or {}
        self._made: dict[Maker, Function] = {}

    def __getattr__(self, name: str) -> Function:
        try:
            return self._elementary[name]
        except KeyError:
            raise AttributeError(f"no elementary function {name!r} in the arithmetic of {self.T.__name__}") from None

    def replaced(self, elementary: Mapping[str, Function]) -> "MathLibrary":
        """Return a library like this one with some elementary functions replaced."""
        return MathLibrary(self.T, ChainMap({**elementary}, self._elementary), self._jit, self._overrides)

    def use(self, maker: Maker) -> Function:
        """Return the function that `maker` makes for this library, callable from a functor body."""
        made = self._made.get(maker)
        if made is None:
            made = self._made[maker] = self._jit(self._overrides.get(maker, maker)(self))
        return made
