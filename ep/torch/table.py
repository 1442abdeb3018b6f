"""The table of ATen's operators: for each overload, the function that computes it with `ep.ops`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch.fx import Node

from ep import ops
from ep.torch.tensors import DTYPES

Function = Callable[..., Any]

OPERATORS: Final[dict[Any, Function]] = {}
"""The functions, by overload. Each gets the call, and then the arguments, with arrays of the trace for tensors."""

aten: Final = torch.ops.aten


class Call:
    """A call of an operator: what its function needs besides the arguments.

    trace: records what is computed. node: the call in PyTorch's graph. shape: of the result, or of the first one.
    """

    def __init__(self, trace: Any, node: Node, shape: tuple[int, ...]) -> None:
        self.trace, self.node, self.shape = trace, node, shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the result, or of the first one."""
        value = self.node.meta["val"]
        return DTYPES[(value[0] if isinstance(value, tuple | list) else value).dtype]

    def common(self, *operands: int) -> np.dtype[Any]:
        """Return the type to which PyTorch promotes operands. operands: their places among the arguments."""
        given = [self.node.args[k] for k in operands]
        return DTYPES[torch.result_type(*(one.meta["val"] if isinstance(one, Node) else one for one in given))]

    def is_read(self, result: int) -> bool:
        """Return whether anything reads a result of the call, by its number."""
        return any(user.args[1] == result for user in self.node.users)

    def number(self, value: Any, dtype: Any) -> Any:
        """Return a number as an array without axes."""
        return self.trace.number(np.asarray(value).astype(dtype))

    def constant(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a constant array."""
        return self.trace.copy_from_host(np.ascontiguousarray(array))

    def cast(self, x: Any, dtype: Any = None) -> Any:
        """Return an array, or a number, in a type: that of the result by default."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if isinstance(x, bool | int | float | complex):
            return self.number(x, dtype)
        return x if x.dtype == dtype else ops.cast(x, dtype)

    def filled(self, shape: Any, value: Any) -> Any:
        """Return an array of the result's type that is filled with a number."""
        return expanded(self.cast(value), shape)


def computes(*names: str) -> Callable[[Function], Function]:
    """Add a function for overloads of ATen, such as "add.Tensor": a decorator. A name without a point stands for all
    that write no `out`. This version of PyTorch may lack some."""

    def add(function: Function) -> Function:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(aten, packet, None)
            known = [] if found is None else found.overloads()
            wanted = [overload] if overload else [one for one in known if "out" not in one]
            OPERATORS.update((getattr(found, one), function) for one in wanted if one in known)
        return function

    return add


def add_all(functions: Mapping[str, Function]) -> None:
    """Add functions for overloads, by name."""
    for names, function in functions.items():
        computes(*names.split())(function)


def expanded(x: Any, shape: Any) -> Any:
    """Return an array with the elements of another one along more or longer axes."""
    return x if tuple(x.shape) == tuple(shape) else ops.expand(x, tuple(shape))


def is_integer(x: Any) -> bool:
    """Return whether an array has elements of an integer type, or bool."""
    return np.dtype(x.dtype).kind in "iub"


OPERATORS[operator.getitem] = lambda call, values, k: values[k]
