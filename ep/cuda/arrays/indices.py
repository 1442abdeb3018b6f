"""The handling of indices out of range in arrays on a GPU, by kernels that report errors to the stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.arrays.index_types import resolved_type
from ep.common.compiling import compiling
from ep.cuda.arrays.array import CudaArray
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.current import driver
from ep.include.data_type import as_data_type

Empty = Callable[[tuple[int, ...], "np.dtype[Any]"], CudaArray]
"""Allocates an array of a shape and a dtype."""


def _raise(stream: CudaStream, empty: Empty, indices: CudaArray, size: int) -> CudaArray:
    kernel = "check_kernel", indices.dtype
    _launch(stream, kernel, indices, indices.memory[0], indices.size, size, stream.report_address)
    return indices


def _wrap_negative(stream: CudaStream, empty: Empty, indices: CudaArray, size: int) -> CudaArray:
    if indices.dtype.kind == "u":
        return _raise(stream, empty, indices, size)
    result = empty(indices.shape, resolved_type(indices.dtype, size, "wrap_negative"))
    kernel = "wrap_kernel", indices.dtype, result.dtype
    addresses = indices.memory[0], result.memory[0]
    _launch(stream, kernel, indices, *addresses, indices.size, size, stream.report_address)
    return result


def _zero(stream: CudaStream, empty: Empty, indices: CudaArray, size: int) -> CudaArray:
    return indices


def _clip(stream: CudaStream, empty: Empty, indices: CudaArray, size: int) -> CudaArray:
    if size == 0:
        return _raise(stream, empty, indices, size)
    result = empty(indices.shape, indices.dtype)
    last = min(size - 1, int(np.iinfo(indices.dtype).max))
    kernel = "clip_kernel", indices.dtype
    _launch(stream, kernel, indices, indices.memory[0], result.memory[0], indices.size, last)
    return result


def _launch(stream: CudaStream, kernel: tuple[Any, ...], indices: CudaArray, *words: int) -> None:
    _loaded(stream.device_index, *kernel).launch(stream, indices.size, *words)


@cache
def _loaded(device: int, name: str, *dtypes: np.dtype[Any]) -> Any:
    """Return a kernel of `ep.cuda.kernels.indices`, by the name of the function that makes it, loaded on a device."""

    def load() -> Any:
        from ep.cuda.compile import loader
        from ep.cuda.kernels import indices  # here Numba is imported

        return loader.load(driver(), device, getattr(indices, name)(*map(as_data_type, dtypes)))

    return compiling(name, "cuda", load)


RESOLVERS: Final[dict[str, Callable[[CudaStream, Empty, CudaArray, int], CudaArray]]] = {
    "raise": _raise,
    "wrap_negative": _wrap_negative,
    "zero": _zero,
    "clip": _clip,
}
"""For each mode, the function that converts indices (at least one) to the form for the primitive."""
