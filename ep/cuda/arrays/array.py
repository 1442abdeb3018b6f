"""CudaArray: an array of any shape in memory of a GPU, which other libraries read without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ep.common.arrays import dlpack
from ep.common.arrays.indexing import reshaped
from ep.common.arrays.operators import FUNCTIONS, Operators
from ep.common.arrays.printed import elements_of
from ep.common.checks import as_integer
from ep.cuda.device.allocator import HomeLease
from ep.cuda.device.buffer import Memory
from ep.cuda.device.slots import KeyedSlots
from ep.cuda.driver.interface import LEGACY_STREAM
from ep.include.arrays import Keyed
from ep.include.errors import ArgumentValueError
from ep.include.process import ProcessBound

if TYPE_CHECKING:
    from ep.cuda.device.stream import CudaStream

DLPACK_CUDA: Final = 2
"""DLPack's number for memory of a GPU: kDLCUDA."""

_NO_SYNCHRONIZATION: Final = -1


class CudaArray(KeyedSlots, Operators, ProcessBound, Keyed):
    """A C-contiguous array in memory of a GPU: `shape`, `dtype`, `ndim`, `size`, `nbytes` and `address`.

    It has the methods of lazy arrays, such as `sum`. Its text shows its elements, for which it waits for the device.

    Operators return it, and Launch accepts it as a buffer. PyTorch, CuPy and others read it through `from_dlpack`,
    Numba and CuPy through `__cuda_array_interface__`. In both cases their work waits for the operators that compute the
    array. `copy_to_host` copies it to the host.
    """

    __slots__ = ("__weakref__", "_owner", "_stream", "dtype", "shape", "size")
    _internal = frozenset(("call_key", "memory", "of_call", "share"))
    memory: Memory
    shape: tuple[int, ...]

    def __init__(self, memory: Memory, shape: tuple[int, ...], stream: CudaStream, owner: Any) -> None:
        """memory: in the form for launches; the stream that uses it; the object that keeps it allocated."""
        self.memory, self.shape, self._stream, self._owner = memory, shape, stream, owner
        self.size: int = memory[1]
        self.dtype: np.dtype[Any] = memory[2]
        self.call_key = memory[5:], self.dtype, shape  # an attribute: each call of an operator reads it

    @classmethod
    def of_call(cls, memory: Memory, shape: tuple[int, ...], stream: CudaStream, owner: Any, key: Any) -> CudaArray:
        """Return an array as the constructor does, given its key: results of one call of an operator share that."""
        made = cls.__new__(cls)
        made.memory, made.shape, made._stream, made._owner = memory, shape, stream, owner
        made.size, made.dtype, made.call_key = memory[1], memory[2], key
        return made

    def share(self) -> None:
        """Record that work on other streams may use the memory, so that it is not reused before that is done."""
        owner = self._owner
        while type(owner) is CudaArray:
            owner = owner._owner
        if type(owner) is HomeLease:
            owner.is_shared = True

    @property
    def address(self) -> int:
        """The address of the first element."""
        self.share()
        return self.memory[0]

    @property
    def device_index(self) -> int:
        """The number of the GPU."""
        return self.memory[5]

    def reshape(self, *shape: Any) -> CudaArray:
        """Return the same memory with another shape, one size of which may be -1.

        Raises ValueError if the size differs.
        """
        return CudaArray(self.memory, reshaped(self, shape), self._stream, self._owner)

    def copy_to_host(self) -> np.ndarray[Any, Any]:
        """Return a copy in host memory after the work on the array has finished; raises the errors of that work."""
        array = np.empty(self.shape, self.dtype)
        if array.nbytes:
            driver = self._stream.device().driver
            driver.copy(self.device_index, array.ctypes.data, self.memory[0], array.nbytes, self._stream.handle)
        self._stream.Sync()
        return array

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse an implicit conversion to an ndarray."""
        raise TypeError("a CudaArray is not copied to the host silently; copy_to_host() does it")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, not self.memory[3]),
            "strides": None,
            "stream": self._stream.handle,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA, self.device_index

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of this memory; work queued on `stream` from now on waits for the work on the array.

        stream: the consumer's: None or 1 for the legacy default stream, 2 for the calling thread's own, the handle of
            another, -1 for no wait.
        """
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"the array is on {self.__dlpack_device__()}, not on {dl_device}")
        if copy:
            raise BufferError("the array is exported without a copy only")
        if not self.memory[3]:
            raise BufferError("the array is read-only")
        consumer = LEGACY_STREAM if stream is None else as_integer(stream, "stream")
        if consumer == 0 or consumer < _NO_SYNCHRONIZATION:
            raise ArgumentValueError("stream", f"is {stream}; it must be -1, 1, 2 or a handle")
        if consumer != _NO_SYNCHRONIZATION:
            self._stream.let_wait(consumer)
        return dlpack.capsule(self.address, self.shape, self.dtype, self.__dlpack_device__(), self)

    def _updated(self, name: str, other: Any) -> CudaArray:
        if name == "matmul":  # which cannot write where it reads
            FUNCTIONS["identity"](FUNCTIONS[name](self, other), out=self)
        else:
            FUNCTIONS[name](self, other, out=self)
        return self

    def __bool__(self) -> bool:
        """Refuse an implicit wait for the device."""
        raise TypeError("a CudaArray is no truth value: it is not copied to the host silently; copy_to_host() does it")

    def __repr__(self) -> str:
        """Return the elements as text, as `elements_of` does; without them while a graph captures their computation."""
        elements, end = "...", f"dtype={self.dtype}, device=cuda:{self.device_index})"
        if not self._stream.is_capturing():
            elements = elements_of(self, "CudaArray(")
        shape = "" if self.size and elements != "..." else f"shape={self.shape}, "
        return f"CudaArray({elements}, {shape}{end}"
