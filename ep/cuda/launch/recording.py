"""The recording of a launch: Launch in Python queues its kernels on a stream that records them.

Addresses of operands are `Address`es. A parameter of a kernel that is one, or one plus an offset, follows the operand
in later launches; a remainder that Launch asks for becomes a condition of them. A launch that uses an address in any
other way is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, Self

import numpy as np

from ep.common.native.record import Record
from ep.cuda.device.stream import CudaStream
from ep.cuda.launch.layout import (
    MAX_ARGUMENTS,
    MAX_ARRAYS,
    MAX_PARAMETERS,
    Addresses,
    KnownKernel,
    KnownLaunch,
    KnownOperand,
    KnownPair,
    Parameter,
)
from ep.include.data_type import DataType

_LARGEST_MODULUS: Final = 512


class Operand(NamedTuple):
    """An operand as Launch has checked it; num_elements: the least number that it must have."""

    name: str
    data_type: DataType
    num_elements: int
    written: bool
    address: int


class QueuedKernel(NamedTuple):
    """A kernel as it was queued."""

    function: int
    blocks: Sequence[int]
    threads: Sequence[int]
    shared_bytes: int
    words: tuple[int, ...]


class Address(int):
    """The address of an operand plus an offset."""

    place: int
    offset: int
    recording: LaunchRecording

    @classmethod
    def of(cls, recording: LaunchRecording, place: int, value: int, offset: int = 0) -> Self:
        """Return the address `value`; place: the word of its operand in `Addresses`."""
        made = cls(value)
        made.recording, made.place, made.offset = recording, place, offset
        return made

    def __add__(self, other: int) -> Any:
        if isinstance(other, Address):
            self.recording.fail()
            return int.__add__(self, other)
        return Address.of(self.recording, self.place, int.__add__(self, other), self.offset + other)

    __radd__ = __add__

    def __mod__(self, modulus: int) -> int:
        self.recording.add_condition(self, modulus)
        return int.__mod__(self, modulus)


def _failing(name: str) -> Callable[..., Any]:
    of_int = getattr(int, name)

    def operation(self: Address, *others: Any) -> Any:
        self.recording.fail()
        return of_int(self, *others)

    return operation


for _name in (
    *("__sub__", "__rsub__", "__mul__", "__rmul__", "__floordiv__", "__rfloordiv__", "__rmod__", "__truediv__"),
    *("__divmod__", "__rdivmod__", "__pow__", "__rpow__", "__lshift__", "__rshift__", "__and__", "__rand__", "__or__"),
    *("__ror__", "__xor__", "__rxor__", "__neg__", "__pos__", "__abs__", "__invert__", "__bool__", "__int__"),
    *("__float__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__hash__", "bit_length", "to_bytes"),
):
    setattr(Address, _name, _failing(_name))


class LaunchRecording(CudaStream):
    """A stream that queues what Launch queues on another one, and records it."""

    __slots__ = ("_conditions", "_scratch_bytes", "is_complete", "kernels", "operands")
    is_recording = True

    def __init__(self, stream: CudaStream) -> None:
        """stream: the one to queue on."""
        self.__dict__ = stream.__dict__
        self._state, self._token = stream._state, stream._token
        self.operands: list[Operand] = []
        self.kernels: list[QueuedKernel] = []
        self.is_complete = True
        self._scratch_bytes = 0
        self._conditions: dict[int, int] = {}

    def __del__(self, is_finalizing: Any = None) -> None:
        """Do nothing: the stream lives on."""

    def fail(self) -> None:
        """Record that the launch cannot be repeated with other addresses."""
        self.is_complete = False

    def add_condition(self, address: Address, modulus: int) -> None:
        """Record that the launch depends on the remainder of an address."""
        if modulus <= 0 or modulus & (modulus - 1) or modulus > _LARGEST_MODULUS:
            self.fail()
        place = address.place
        self._conditions[place] = max(self._conditions.get(place, 1), modulus)

    def traced(self, read: Callable[..., tuple[Any, int]]) -> Callable[..., tuple[Any, int]]:
        """Return a reader of operands that records them."""

        def read_traced(
            buffer: Any, argument: str, data_type: DataType | None, num_elements: int, written: bool
        ) -> tuple[Any, int]:
            _, address = read(buffer, argument, data_type, num_elements, written)
            if data_type is None:
                self.fail()
                return address, address
            self.operands.append(Operand(argument, data_type, num_elements, written, address))
            return Address.of(self, Addresses.operands + len(self.operands) - 1, address), address

        return read_traced

    def add_kernel(
        self, function: int, blocks: Sequence[int], threads: Sequence[int], shared_bytes: int, words: tuple[int, ...]
    ) -> None:
        """Record a kernel that is queued."""
        self.kernels.append(QueuedKernel(function, blocks, threads, shared_bytes, words))

    def fill(self, address: int, byte: int, size: int) -> None:
        self.fail()
        super().fill(address, byte, size)

    def copy(self, dst: int, src: int, size: int) -> None:
        self.fail()
        super().copy(dst, src, size)

    @contextmanager
    def scratch(self, size: int) -> Iterator[Any]:
        """Context manager: the scratch memory of the stream, which later launches use too."""
        with self.kept_scratch(size) as address:
            if address is None:  # also for more memory of the same launch
                self.fail()
                with super().scratch(size) as memory:
                    yield memory
            else:
                self._scratch_bytes = size
                yield SimpleNamespace(address=Address.of(self, Addresses.scratch, address))

    def fits(self, num_keys: int, num_arrays: int) -> bool:
        """Return whether compiled code has room for the launch."""
        most = max((len(kernel.words) for kernel in self.kernels), default=0)
        return (
            num_keys <= MAX_ARGUMENTS
            and num_arrays <= MAX_ARRAYS
            and most <= MAX_PARAMETERS
            and len(self.operands) <= MAX_ARRAYS
        )

    def words(self, arrays: Sequence[int], pairs: Sequence[tuple[int, int]], context: int) -> np.ndarray[Any, Any]:
        """Return the words for compiled code: a `KnownLaunch`, and what follows it.

        arrays: for each operand, its array among those of the call; pairs: those of the signature.
        """
        launch = KnownLaunch(
            context=context,
            device=self.device_index,
            scratch_bytes=self._scratch_bytes,
            num_operands=len(self.operands),
            num_pairs=len(pairs),
            num_kernels=len(self.kernels),
        )
        operands = [self._operand(number, array) for number, array in enumerate(arrays)]
        records = launch, *operands, *(self._pair(*pair) for pair in pairs), *_records(self.kernels)
        return np.concatenate([record.words for record in records])

    def _operand(self, number: int, array: int) -> KnownOperand:
        _, data_type, count, written, address = self.operands[number]
        modulus = self._conditions.get(Addresses.operands + number, 1)
        modulus = max(modulus, data_type.dtype.alignment)  # as Launch demands
        return KnownOperand(
            array=array,
            dtype=id(data_type.dtype),
            count=count,
            is_written=written,
            mask=modulus - 1,
            low_bits=address % modulus,
        )

    def _pair(self, first: int, second: int) -> KnownPair:
        operands = self.operands[first], self.operands[second]
        sizes = [operand.num_elements * operand.data_type.itemsize for operand in operands]
        may_be_same = operands[0].address == operands[1].address
        return KnownPair(
            first=first, first_bytes=sizes[0], second=second, second_bytes=sizes[1], may_be_same=may_be_same
        )


def _records(kernels: Sequence[QueuedKernel]) -> Iterator[Record]:
    """Yield a record for each kernel, and then one for each of its parameters."""
    for function, blocks, threads, shared_bytes, words in kernels:
        yield KnownKernel(
            function=function, grid=blocks, block=threads, shared_bytes=shared_bytes, num_parameters=len(words)
        )
        for word in words:
            if type(word) is Address:
                yield Parameter(base=word.place, number=word.offset)
            else:
                yield Parameter(base=Addresses.nothing, number=word)
