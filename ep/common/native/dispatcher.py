"""Functions that other compiled functions call, as Numba knows them."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.registry import CPUDispatcher

from ep.common.native.pointers import argument_types, as_declared


class Dispatcher(CPUDispatcher):
    """A function that is compiled once for all integers; Numba would compile it for each constant.

    An argument whose annotation is a class of records is a pointer to these, also where an address is given.
    """

    def __init__(self, py_func: Any, *args: Any, **options: Any) -> None:
        super().__init__(py_func, *args, **options)
        self._declared = argument_types(py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what Numba types a call by."""
        return super().get_call_template(as_declared(map(types.unliteral, args), self._declared), kws)
