"""Tensors of PyTorch in host memory as arrays, and arrays as tensors: neither copies an element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import torch

from ep import ops
from ep.include.data_type import DataType

NDArray = np.ndarray[Any, Any]

DTYPES: Final = {getattr(torch, one.dtype.name): one.dtype for one in DataType if hasattr(torch, one.dtype.name)}
"""The data types of the package, by those of PyTorch."""
_BFLOAT16: Final = DataType.kBFloat16.dtype  # PyTorch gives NumPy no array of it: the bits travel as integers


def as_array(tensor: torch.Tensor) -> NDArray:
    """Return an array in the memory of a tensor."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    is_bfloat16 = tensor.dtype is torch.bfloat16
    array: NDArray = tensor.view(torch.int16).numpy().view(_BFLOAT16) if is_bfloat16 else tensor.numpy()
    return array


def as_tensor(array: NDArray) -> torch.Tensor:
    """Return a tensor in the memory of an array."""
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


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
    """How the elements of a tensor follow one another in memory: its array has them in this order.

    shape, dtype: of the array. is_view: whether it is in the memory of the tensor, since there are no gaps between the
    elements; else it is in C order. array: returns the array of a tensor.
    """

    array: Callable[[Any], NDArray]

    def __init__(self, dtype: np.dtype[Any], sizes: Sequence[int], strides: Sequence[int]) -> None:
        """sizes, strides: of the tensor, in elements."""
        self.dtype, self._sizes, self._strides = dtype, sizes, strides
        wide = [k for k, size in enumerate(sizes) if size > 1 and 0 not in sizes]
        self._expanded, wide = [k for k in wide if strides[k] == 0], [k for k in wide if strides[k]]
        self._order, end, self.is_view = [*range(len(sizes))], 1, True
        for position, axis in zip(wide, sorted(wide, key=lambda k: -strides[k]), strict=True):
            self._order[position] = axis
        for axis in (k for k in reversed(self._order) if k in wide):
            self.is_view &= strides[axis] == end
            end *= sizes[axis]
        self._is_moved = self.is_view and (self._expanded != [] or self._order != [*range(len(sizes))])
        self.array = partial(_moved, self._expanded, self._order) if self._is_moved else _contiguous
        narrow = [1 if k in self._expanded else size for k, size in enumerate(sizes)]
        self.shape = tuple([narrow[k] for k in self._order] if self._is_moved else sizes)
        in_c_order = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
        self._is_plain = self.is_view and not self._is_moved and [*strides] == in_c_order

    def in_memory(self, value: Any) -> Any:
        """Return a value in the order of memory. value: an array of `ep.ops` in the order of the axes."""
        if not self._is_moved:
            return value
        first = [slice(0, 1) if k in self._expanded else slice(None) for k in range(len(self._sizes))]
        return ops.permute(ops.slice(value, *first) if self._expanded else value, self._order)

    def in_axes(self, value: Any) -> Any:
        """Return a value in the order of the axes. value: an array of `ep.ops` in the order of memory."""
        if not self._is_moved:
            return value
        value = ops.permute(value, np.argsort(self._order).tolist())
        return ops.expand(value, self._sizes) if self._expanded else value

    def tensor(self, array: NDArray) -> torch.Tensor:
        """Return an array as a tensor."""
        tensor = as_tensor(array)
        if self._is_plain:
            return tensor
        if self.is_view:
            return tensor.as_strided(self._sizes, self._strides)
        made = torch.empty_strided(self._sizes, self._strides, dtype=tensor.dtype)
        _narrow(self._expanded, made).copy_(_narrow(self._expanded, tensor))
        return made


class Number(Layout):
    """A number, which PyTorch computes, as an array of no axes."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(np.dtype(dtype), (), ())
        self.array = lambda number: np.asarray(number, dtype)


def _moved(expanded: Sequence[int], order: Sequence[int], tensor: torch.Tensor) -> NDArray:
    return _contiguous(_narrow(expanded, tensor).permute(order))


def _narrow(expanded: Sequence[int], tensor: torch.Tensor) -> torch.Tensor:
    """Return the first elements along axes whose elements are one."""
    for axis in expanded:
        tensor = tensor.narrow(axis, 0, 1)
    return tensor


def _contiguous(tensor: torch.Tensor) -> NDArray:
    """Return the elements of a tensor. They are copied if there are gaps."""
    array = as_array(tensor)
    return array if array.flags.c_contiguous else array.copy()


def values_in(value: Any) -> Sequence[Any]:
    """Return the values of a node, which may be several."""
    return value if isinstance(value, tuple | list) else [value]


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a node's value."""
    return [one for one in values_in(value) if isinstance(one, torch.Tensor)]
