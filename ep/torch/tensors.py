"""Tensors of PyTorch in host memory as arrays, and arrays as tensors: neither copies an element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch

from ep import ops
from ep.include.data_type import DataType

NDArray = np.ndarray[Any, Any]

DTYPES: Final = {getattr(torch, one.dtype.name): one.dtype for one in DataType if hasattr(torch, one.dtype.name)}
"""The data types of the package, by those of PyTorch."""
_BFLOAT16: Final = DataType.kBFloat16.dtype  # PyTorch gives NumPy no array of it: the bits travel as integers
_NUMBERS: Final = (int, float)


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

    shape, dtype: of the array. is_dense: whether it is in the memory of the tensor, since there are no gaps between the
    elements; else it is in C order.
    """

    def __init__(self, dtype: Any, sizes: Sequence[int], strides: Sequence[int]) -> None:
        """sizes, strides: of the tensor, in elements."""
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
        self._is_plain = [*strides] == [math.prod(sizes[k + 1 :]) for k in axes]
        self._is_bfloat16 = self.dtype == _BFLOAT16

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

    def array(self, tensor: Any) -> NDArray:
        """Return the elements of a tensor, or a number. They are copied if there are gaps."""
        if isinstance(tensor, _NUMBERS):
            return np.asarray(tensor, self.dtype)
        if self._is_moved:
            tensor = (tensor[self._first] if self._first else tensor).permute(self._order)
        if tensor.requires_grad:
            tensor = tensor.detach()
        array: NDArray = tensor.view(torch.int16).numpy().view(_BFLOAT16) if self._is_bfloat16 else tensor.numpy()
        return array if array.flags.c_contiguous else array.copy()

    def tensor(self, array: NDArray) -> torch.Tensor:
        """Return an array as a tensor."""
        bits = torch.from_numpy(array.view(np.int16) if self._is_bfloat16 else array)
        tensor = bits.view(torch.bfloat16) if self._is_bfloat16 else bits
        if self._is_plain:
            return tensor
        if self.is_dense:
            return tensor.as_strided(self._sizes, self._strides)
        made = torch.empty_strided(self._sizes, self._strides, dtype=tensor.dtype)
        made[self._first].copy_(tensor[self._first])
        return made


def values_in(value: Any) -> Sequence[Any]:
    """Return the values of a node, which may be several."""
    return value if isinstance(value, tuple | list) else [value]


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a node's value."""
    return [one for one in values_in(value) if isinstance(one, torch.Tensor)]
