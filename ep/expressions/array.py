"""Lazy arrays: the arrays of a trace, with Python's operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.common.arrays.checks import as_scalar, is_weak
from ep.common.arrays.indexing import has_elements, reshaped, selected
from ep.common.arrays.operators import FUNCTIONS, Operators
from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.expressions.trace import Node, Trace, refusal
from ep.include.arrays import Operands, Placed
from ep.ops.operands import as_weak


class LazyArray(Operators, Placed):
    """An array that is not computed yet. Every operator of `ep.ops` accepts it.

    trace: the trace that it belongs to. node: its value; for a view, the value that was assigned last.
    view: the position of the array, if it can be assigned to.
    """

    __slots__ = ("node", "trace", "view")
    _internal = frozenset(("node", "operands", "trace", "view"))
    view: int | None

    def __init__(self, trace: Trace, node: Node) -> None:
        self.trace, self.node, self.view = trace, node, None

    @property
    def operands(self) -> Operands:
        return self.trace

    @property
    def shape(self) -> Dims:
        """The sizes of the axes."""
        return self.node.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.node.data_type.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def reshape(self, *shape: Any) -> Any:
        """Return the elements in another shape, of which one size may be -1."""
        return self.trace.reshape(self.trace.as_buffer(self, "x"), reshaped(self, shape))

    def __getitem__(self, index: Any) -> Any:
        if any(map(has_elements, index if isinstance(index, tuple) else (index,))):
            raise refusal("an array is an index", "use ep.ops.gather, or ep.ops.where")
        return selected(self, index)

    def _whole(self) -> Any:
        return LazyArray(self.trace, self.node)  # which is no view

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.view is None:
            raise refusal("an assignment to what is not a view", "assign to lazy.view(array) in a block of ep.lazy")
        if index is not Ellipsis and index != slice(None):
            raise refusal("an assignment to a part of a view", "make a view of the part: lazy.view(array[part])")
        self._assign(value)

    def _assign(self, value: Any) -> None:
        trace = self.trace
        if type(value) is not LazyArray or value.trace is not trace or trace.ended:
            trace.as_buffer(self, "the view")
            value = as_scalar(value)
            value = (
                trace.number(as_weak(value, self.dtype, "value")) if is_weak(value) else trace.as_buffer(value, "value")
            )
        if value.node.data_type is not self.node.data_type:
            raise TypeError(f"value has dtype {value.dtype}, the view has {self.dtype}; convert it by astype")
        if value.node.shape != self.node.shape:
            if broadcast_dims(value.shape, self.shape, names=("value", "the view")) != self.shape:
                raise ValueError(f"value has shape {value.shape}, the view has {self.shape}")
            value = FUNCTIONS["expand"](value, self.shape)
        self.node = value.node

    def __bool__(self) -> bool:
        raise self._refusal("the truth", "use ep.ops.where for what depends on elements")

    def __float__(self) -> float:
        raise self._refusal("a number", "compute with the array itself")

    __int__ = __index__ = __complex__ = __float__

    def __iter__(self) -> Any:
        raise self._refusal("iteration over the elements", "use slices, or operators over an axis")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refusal("a NumPy array", "use the functions of ep.ops")

    def _refusal(self, what: str, instead: str) -> Exception:
        """Return the error for a use of the elements; after the end of the trace, it says that there are none."""
        if self.trace.ended:
            return RuntimeError(f"{self!r} has no elements: the trace has ended; return it, or assign it to a view")
        return refusal(f"{what} of an array that is not computed yet", instead)

    def __repr__(self) -> str:
        return f"<LazyArray {self.dtype} {self.shape} of {self.trace.place}>"

    def __pos__(self) -> Any:
        return self

    def _updated(self, name: str, other: Any) -> Any:
        result = self._call(name, self, other)
        if self.view is None:
            return result
        self._assign(result)
        return self
