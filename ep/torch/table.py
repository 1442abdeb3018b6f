"""The table of ATen's operators: for each overload, the function that computes it with `ep.ops`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ep import ops
from ep.include.additions import note_addition
from ep.torch.tensors import DTYPES, tensors_in

Function = Callable[["AtenCall"], Any]

OPERATORS: Final[dict[Any, Function]] = {operator.getitem: lambda c: c.values[c.index]}
"""The functions, by overload."""

aten: Final = torch.ops.aten


class AtenCall:
    """A call of an operator. Its arguments are attributes, by the names that ATen gives them: arrays of the trace in
    the place of tensors. One that an overload does not have is None.

    trace: records what is computed. node: the call in PyTorch's graph. shape: of the result, or of the first one.
    given: the arguments, by name.
    """

    def __init__(self, trace: Any, node: Node, values: Mapping[Node, Any]) -> None:
        """values: what takes the place of nodes.

        PyTorch allows axis 0 of a number, and images without an axis of samples. Of an operator that takes axes, or
        images, these get the axis; the results need not have it.
        """
        self.trace, self.node = trace, node
        self.shape: tuple[int, ...] = next(filter(None, node.meta["sizes"]))[0]
        self.name = getattr(node.target, "__name__", "").partition(".")[0]
        schema = getattr(node.target, "_schema", None)
        found = {one.name: one.default_value for one in schema.arguments} if schema else {}
        images = re.search(r"pool(\d)d", str(node.target))
        rank = int(images[1]) + 1 if images else 0 if any(name.startswith("dim") for name in found) else -1

        def argument_of(given: Node) -> Any:
            value = values[given]
            return value.reshape((1, *value.shape)) if len(getattr(value, "shape", ())) == rank else value

        found |= zip(found or ("values", "index"), map_arg(node.args, argument_of), strict=False)
        self.given = found | map_arg(node.kwargs, argument_of)

    def __getattr__(self, name: str) -> Any:
        return self.given.get(name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the result, or of the first one."""
        return DTYPES[tensors_in(self.node.meta["val"])[0].dtype]

    def common(self) -> np.dtype[Any]:
        """Return the type to which PyTorch promotes the first two operands."""
        given = (one.meta["val"] if isinstance(one, Node) else one for one in self.node.args[:2])
        return DTYPES[torch.result_type(*given)]

    def is_read(self, result: int) -> bool:
        """Return whether anything reads a result of the call, by its number."""
        return any(user.args[1] == result for user in self.node.users)

    def constant(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a constant array."""
        return self.trace.copy_from_host(np.ascontiguousarray(array))

    def cast(self, x: Any, dtype: Any = None) -> Any:
        """Return an array, or a number, in a type: that of the result by default. None stays."""
        if x is None:
            return x
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if isinstance(x, bool | int | float | complex):
            return self.trace.number(np.asarray(x).astype(dtype))
        if dtype.kind in "iu" and dtype.itemsize < 4 and not is_integer(x):
            x = ops.cast(x, np.int32)  # as eager does, whose numbers out of range wrap
        return x if x.dtype == dtype else ops.cast(x, dtype)

    def wide(self, *operands: Any) -> list[Any]:
        """Return the operands of a product or a quotient in the type of the result; in float32 if it has 16 bits and
        one is a number: PyTorch does not round that to the type."""
        is_number = [isinstance(x, bool | int | float) or (not x.shape and self.shape != ()) for x in operands]
        is_wide = any(is_number) and self.dtype.itemsize == 2 and self.dtype.kind not in "iu"
        return [self.cast(x, np.float32 if is_wide else self.dtype) for x in operands]

    def filled(self, value: Any) -> Any:
        """Return an array of the result's shape and type that is filled with a number."""
        return ops.expand(self.cast(value), self.shape)


def add(functions: Mapping[str, Function]) -> None:
    """Add functions for overloads of ATen, such as "add.Tensor add.Scalar". A name without a point stands for all that
    write no `out`. A version of PyTorch may lack some."""
    for names, function in functions.items():
        note_addition(function)
        for name in names.split():
            packet, _, overload = name.partition(".")
            found = getattr(aten, packet, None)
            known = [] if found is None else [one for one in found.overloads() if "out" not in one]
            OPERATORS.update((getattr(found, one), function) for one in known if overload in ("", one))


def add_named(made: Callable[[Any], Function], names: str) -> None:
    """Add functions that are made of those of `ep.ops`. names: such as "floor ne=not_equal"."""
    add({name: made(getattr(ops, known or name)) for name, _, known in (one.partition("=") for one in names.split())})


def in_order(function: Any) -> Function:
    """Return the function of the arguments in their order."""
    return lambda c: function(*c.given.values())


def is_integer(x: Any) -> bool:
    """Return whether an array has elements of an integer type, or bool."""
    return np.dtype(x.dtype).kind in "iub"
