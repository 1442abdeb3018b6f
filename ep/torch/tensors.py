"""Tensors of PyTorch in host memory as arrays, and arrays as tensors: neither copies an element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from ep.include.data_type import DataType

NDArray = np.ndarray[Any, Any]

DTYPES: Final = {getattr(torch, one.dtype.name): one.dtype for one in DataType if hasattr(torch, one.dtype.name)}
"""The data types of the package, by those of PyTorch."""
_BFLOAT16: Final = DataType.kBFloat16.dtype  # PyTorch gives NumPy no array of it: the bits travel as integers


def as_array(tensor: torch.Tensor) -> NDArray:
    """Return an array in the memory of a tensor."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: NDArray = tensor.numpy() if tensor.dtype is not torch.bfloat16 else tensor.view(torch.int16).numpy()
    return array.view(_BFLOAT16) if tensor.dtype is torch.bfloat16 else array


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


class Layout(NamedTuple):
    """How the elements of a tensor follow one another in memory.

    expanded: the axes whose elements are one. order: of the axes in memory. is_dense: whether the elements lie without
    gaps in this order; then the tensor, narrowed and permuted, is an array that kernels read.
    """

    expanded: tuple[int, ...]
    order: tuple[int, ...]
    is_dense: bool

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are in C order."""
        return self.is_dense and not self.expanded and self.order == tuple(range(len(self.order)))


def layout_of(shape: Sequence[int], strides: Sequence[int]) -> Layout:
    """Return the layout of a tensor of some sizes and strides, in elements."""
    if 0 in shape:
        return Layout((), tuple(range(len(shape))), True)
    expanded = tuple(k for k, size in enumerate(shape) if strides[k] == 0 and size > 1)
    wide = [k for k, size in enumerate(shape) if size > 1 and k not in expanded]
    order, end, is_dense = [*range(len(shape))], 1, True
    for position, axis in zip(wide, sorted(wide, key=lambda k: -strides[k]), strict=True):
        order[position] = axis
    for axis in reversed(order):
        if axis in wide:
            is_dense &= strides[axis] == end
            end *= shape[axis]
    return Layout(expanded, tuple(order), is_dense)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a node's value, which may be several."""
    given = value if isinstance(value, tuple | list) else [value]
    return [one for one in given if isinstance(one, torch.Tensor)]
