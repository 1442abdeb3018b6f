"""Tensors of PyTorch as arrays of a device, and arrays as tensors: in host memory, neither copies an element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.fx import Graph, Node

from ep import ops
from ep.common.arrays.on_device import copied_from_host
from ep.include.data_type import DataType

DTYPES: Final = {getattr(torch, one.dtype.name): one.dtype for one in DataType if hasattr(torch, one.dtype.name)}
"""The data types of the package, by those of PyTorch."""
_BFLOAT16: Final = DataType.kBFloat16.dtype  # PyTorch gives NumPy no array of it: the bits travel as integers


def refusal(value: Any) -> str:
    """Return why a tensor is not computed with: empty for one in host memory, with elements of a known type."""
    if value.device.type != "cpu":
        return f"a tensor is on {value.device}"
    if value.layout is not torch.strided:
        return f"a tensor has the layout {value.layout}"
    if value.is_quantized or value.dtype not in DTYPES:
        return f"a tensor has the type {value.dtype}"
    if value.is_conj() or value.is_neg():
        return "a tensor is conjugated or negated lazily"
    return ""


class Layout:
    """How the elements of a tensor follow one another in memory: its array on a device has them in this order.

    shape, dtype: of the array. is_dense: whether there are no gaps between the elements; else the array is in C order.
    """

    def __init__(self, base: Any, dtype: Any, sizes: Sequence[int], strides: Sequence[int], is_number: bool = False):
        """base: makes arrays of the device. sizes, strides: of the tensor, in elements. is_number: whether there is a
        number instead."""
        self._base, self._copies = base, not base.takes_host_arrays
        self.dtype, self._sizes, self._strides = np.dtype(dtype), sizes, strides
        axes = [*range(len(sizes))]
        wide = [k for k in axes if sizes[k] > 1 and strides[k]]
        first = [slice(0, 1) if sizes[k] > 1 and not strides[k] else slice(None) for k in axes]
        order = [*axes]
        for position, axis in zip(wide, sorted(wide, key=lambda k: -strides[k]), strict=True):
            order[position] = axis
        shape = [1 if first[k].stop else sizes[k] for k in order]
        self.is_dense = [strides[order[k]] for k in wide] == [math.prod(shape[k + 1 :]) for k in wide]
        self._is_moved = self.is_dense and (order != axes or shape != [*sizes]) and 0 not in sizes
        self.shape = tuple(shape if self._is_moved else sizes)
        self._order, self._first = order, tuple(first if slice(0, 1) in first else ())
        self._is_contiguous = [*strides] == [math.prod(sizes[k + 1 :]) for k in axes]
        self._is_bfloat16, self._is_number = self.dtype == _BFLOAT16, is_number
        self._is_plain = self._is_contiguous and not (is_number or self._is_bfloat16 or self._copies)

    def add_array(self, graph: Graph, tensor: Any, kind: Any) -> Node:
        """Add the node of the array to a plan's graph. tensor: a node, or a number. kind: its type, if it is an input
        of the graph."""
        if kind is torch.nn.Parameter and (self._copies or self.is_dense):
            return graph.call_function(_followed(self.array, self._copies), (tensor,))
        if self._is_plain:
            return graph.call_method("numpy", (tensor,), {"force": True})
        return graph.call_function(self.array, (tensor,))

    def add_tensor(self, graph: Graph, array: Node) -> Node:
        """Add the node of the tensor to a plan's graph. array: a node."""
        return graph.call_function(torch.from_numpy if self._is_plain else self.tensor, (array,))

    def in_memory(self, value: Any) -> Any:
        """Return a value in the order of memory. value: an array of `ep.ops` in the order of the axes."""
        if not self._is_moved:
            return value
        return ops.permute(ops.slice(value, *self._first) if self._first else value, self._order)

    def in_axes(self, value: Any) -> Any:
        """Return a value in the order of the axes. value: an array of `ep.ops` in the order of memory."""
        if not self._is_moved:
            return value
        value = ops.permute(value, np.argsort(self._order).tolist())
        return ops.expand(value, self._sizes) if self._first else value

    def array(self, tensor: Any) -> Any:
        """Return the array of a tensor, or of a number. It is a copy if there are gaps, or if the device has memory of
        its own."""
        if self._is_moved:
            tensor = (tensor[self._first] if self._first else tensor).permute(self._order)
        if self._is_number:
            array = np.asarray(tensor, self.dtype)
        else:
            array = (tensor.view(torch.int16) if self._is_bfloat16 else tensor).numpy(force=True)
            array = np.ascontiguousarray(array.view(_BFLOAT16) if self._is_bfloat16 else array).reshape(array.shape)
        return copied_from_host(self._base, array) if self._copies else array

    def tensor(self, array: Any) -> torch.Tensor:
        """Return the tensor of an array."""
        array = self._base.copy_to_host(array) if self._copies else array
        bits = torch.from_numpy(array.view(np.int16) if self._is_bfloat16 else array)
        tensor = bits.view(torch.bfloat16) if self._is_bfloat16 else bits
        if self._is_contiguous:
            return tensor
        if self.is_dense:
            return tensor.as_strided(self._sizes, self._strides)
        made = torch.empty_strided(self._sizes, self._strides, dtype=tensor.dtype)
        made[self._first].copy_(tensor[self._first])
        return made


def _followed(read: Callable[[Any], Any], is_copy: bool) -> Callable[[Any], Any]:
    """Return a function of a parameter: it reads the array again after the parameter has been replaced, moved or, if
    the array is a copy, written to."""
    known: tuple[Any, Any, Any] = None, None, None

    def array_of(parameter: Any) -> Any:
        nonlocal known
        state = parameter.data_ptr(), is_copy and parameter._version
        before, its_state, array = known
        if before is not parameter or its_state != state:
            array = read(parameter)
            known = parameter, state, array
        return array

    return array_of


def values_in(value: Any) -> Sequence[Any]:
    """Return the values of a node, which may be several."""
    return value if isinstance(value, tuple | list) else [value]


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a node's value."""
    return [one for one in values_in(value) if isinstance(one, torch.Tensor)]
