"""The plain way to compile host functions: by Numba as its manual describes it.

It takes longer than ep's own compiler, whose names of Numba may change with any release. The bits of results are the
same: both compile the same sources, in which each fused product is written as `fma`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ep.common.deferred import Deferred
from ep.common.native.on_demand import numba, types

_extending: Final[Any] = numba.extending
_WRAPPED: Final = (
    *((operator.add, "add"), (operator.iadd, "add"), (operator.sub, "sub"), (operator.isub, "sub")),
    *((operator.mul, "mul"), (operator.imul, "mul")),
)
"""Operations on integers, and LLVM's instructions for them."""


class Known:
    """A function that compiled code calls, by the object that Numba knows it by."""

    def __init__(self, numbas: Any) -> None:
        self._numbas = numbas

    @property
    def kind(self) -> Any:
        """Its Numba type."""
        context = _typing_context()
        context.refresh()  # it may have been made while something is compiled
        return context.resolve_value_type(self._numbas)


def intrinsic(typed: Callable[..., Any]) -> Known:
    """Return the function whose calls `typed` types and writes, as for `numba.extending.intrinsic`."""
    return Known(_extending.intrinsic(typed))


@cache
def _typing_context() -> Any:
    """Return what Numba finds types in, as it hands it to intrinsics."""
    found = list[Any]()

    @_extending.intrinsic  # type: ignore[untyped-decorator]
    def look(typing_context: Any) -> Any:
        found.append(typing_context)
        return types.void(), lambda context, builder, signature, args: context.get_dummy_value()

    numba.njit(lambda: look())()
    return found[0]


@_extending.typeof_impl.register(Deferred)  # type: ignore[untyped-decorator]
def _type_of_deferred(value: Deferred, context: Any) -> Any:
    return value.compiled.kind


def _wrap(function: Callable[..., Any], instruction: str) -> None:
    """Let an operation on integers wrap: see `wrapping.py`."""

    @_extending.lower_builtin(function, types.int64, types.int64)  # type: ignore[untyped-decorator]
    def wrapped(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _function, _instruction in _WRAPPED:
    _wrap(_function, _instruction)
