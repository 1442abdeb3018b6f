"""Launches that a primitive knows: how Python finds, records and keeps them."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ClassVar, Final, Self, TypeVar

import numpy as np

from ep.common.bounded_cache import KEPT, BoundedCache
from ep.common.compiling import compiling
from ep.common.lazy import once
from ep.common.native.object_layout import why_unknown
from ep.common.primitive.signature import Signature
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.current import driver
from ep.cuda.launch.layout import PrimitiveWords, SharedWords
from ep.cuda.launch.recording import LaunchRecording
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request

F = TypeVar("F", bound=Callable[..., Any])

ANY_ARRAY: Final = object()
"""Represents an array in keys."""

_PER_CALL: Final = 8
"""The most launches that are recorded of calls that differ in their arrays alone, such as in the alignment of these."""

_VALUES: Final = frozenset((int, float, bool, str, type(None), DataType, *(type(one.dtype) for one in DataType)))
"""The types of arguments that are compared by value, or of which each value is one object."""
_NUMBERS: Final = frozenset(one.dtype.type for one in DataType)


class ArrayTypes:
    """The types of arrays that Launch takes: CudaBuffer, CudaArray, and the adapters of all types by type."""

    def __init__(self, buffer: type[Any], array: type[Any], adapters: dict[type[Any], Any]) -> None:
        self.buffer, self.array, self.adapters = buffer, array, adapters


class Forward:
    """A Launch. written: the function that queues kernels; python: the method around it; to: the one that is called."""

    def __init__(self, written: Callable[..., Any], python: Callable[..., Any]) -> None:
        self.written, self.python, self.to = written, python, python
        _, *self.arguments = inspect.signature(written).parameters  # without self


def launched(written: F) -> F:
    """Return a Launch that compiled code replaces as soon as a launch is known.

    It must queue its work on its stream alone, and check its arrays by the signature of the primitive.
    """

    @wraps(written)
    def launch(self: Launched, /, *args: Any, **kwargs: Any) -> Any:
        return self._launch_new(args, kwargs)

    launch.forward = Forward(written, launch)  # type: ignore[attr-defined]
    return launch  # type: ignore[return-value]


class Launched:
    """A primitive that knows launches.

    _known: the launches, in tuples, by their keys: the stream's token, the arguments of Launch with ANY_ARRAY for each
        array, and the names of keyword arguments. Each launch is a tuple of its words and its key.
    _seen: the number of launches recorded for each key of the launches so far.
    _words: those of a `layout.PrimitiveWords`.
    """

    __slots__ = ("_known", "_seen", "_words")  # sorted by name, which is the order in memory
    _known: dict[tuple[Any, ...], tuple[Any, ...]]
    _seen: BoundedCache
    _words: np.ndarray[Any, Any]
    _forward: ClassVar[tuple[type[Any], Forward] | None] = None
    """The class that has the Launch, and that Launch."""

    signature: ClassVar[Signature]
    request: Request

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        written = id(cls._forward[1].python) if cls._forward else 0
        made._known, made._seen, made._words = {}, BoundedCache(), PrimitiveWords(written=written).words
        return made

    @abstractmethod
    def _array_types(self) -> ArrayTypes:
        """Return the types of arrays; the same for all primitives."""

    def _launch_new(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Do a launch in Python; record it if its like was done before, so that compiled code does the next."""
        assert self._forward
        if not _NUMBERS.isdisjoint(map(type, args)):  # keys have numbers of Python
            self._forward[0].Launch(self, *[one.item() if type(one) in _NUMBERS else one for one in args], **kwargs)
            return
        written = self._forward[1].written
        key = self._key_of_call(args, kwargs) if can_know() else None
        if key is None:
            written(self, *args, **kwargs)
            return
        number = self._seen.get(key)
        if number is None:  # most launches of new dims stay the only ones
            self._seen.put(key, 0)
        stream: CudaStream = args[0]
        if number in (None, _PER_CALL) or stream.is_capturing():
            written(self, *args, **kwargs)
            return
        self._seen.put(key, number + 1)
        recording = LaunchRecording(stream)
        written(self, recording, *args[1:], **kwargs)
        if recording.is_complete:
            self._remember(key, recording, args, kwargs)

    def _key_of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return the key of a call; None if it cannot be known, since an argument may change or is no plain value."""
        if not args or type(args[0]) is not CudaStream:
            return None
        arrays, key = self._array_types(), [args[0]._token]
        for argument in (*args[1:], *kwargs.values()):
            kind = type(argument)
            if kind in arrays.adapters:
                key.append(ANY_ARRAY)
            elif kind in _VALUES or (kind is tuple and all(type(one) is int for one in argument)):
                key.append(argument)
            else:
                return None
        return *key, tuple(kwargs) or None

    def _remember(
        self, key: tuple[Any, ...], recording: LaunchRecording, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Keep a launch that was recorded, and let compiled code do those like it."""
        assert self._forward
        given = [*self._forward[1].arguments[: len(args)], *kwargs]
        arrays = [name for name, one in zip(given, key, strict=False) if one is ANY_ARRAY]
        names = [operand.name for operand in recording.operands]
        if sorted(names) != sorted(arrays) or not recording.fits(len(key), len(arrays)):
            return
        operands = [operand.name for operand in self.signature.operands]
        pairs = [(operands[one], operands[other]) for one, other in self.signature.pairs]
        places = [(names.index(one), names.index(other)) for one, other in pairs if one in names and other in names]
        context = driver().context_word(recording.device_index)
        words = recording.words([arrays.index(name) for name in names], places, context)
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[key] = ((words, key), *self._known.get(key, ())[: _PER_CALL - 1])
        self.prepare_entry()

    def prepare_entry(self) -> None:
        """Compile the code that known launches need, unless this has been done."""

        def install() -> None:
            from ep.cuda.launch import entry  # here Numba is imported

            entry.install(*self._forward)  # type: ignore[misc]

        if self._forward and not self._words[PrimitiveWords.shared] and why_unknown() is None:
            compiling(self.request, "cuda", install)  # without a device, for the kernel cache
            if can_know():
                self._words[PrimitiveWords.shared] = shared_address(self._array_types())


@cache
def can_know() -> bool:
    """Return whether compiled code can do launches: it knows this Python's objects, and the driver's functions."""
    return why_unknown() is None and driver().launch_functions() is not None


def shared_address(arrays: ArrayTypes) -> int:
    """Return the address of the words that all primitives share."""
    return _shared_words(arrays).address


@once
def _shared_words(arrays: ArrayTypes) -> SharedWords:
    """Return the words that all primitives share."""
    functions = driver().launch_functions()
    assert functions is not None
    return SharedWords(
        stream_type=id(CudaStream),
        buffer_type=id(arrays.buffer),
        array_type=id(arrays.array),
        tuple_type=id(tuple),
        int_type=id(int),
        float_type=id(float),
        none=id(None),
        true=id(True),
        adapters=id(arrays.adapters),
        any_array=id(ANY_ARRAY),
        launch_kernel=functions.cuLaunchKernel,
        is_capturing=functions.cuStreamIsCapturing,
        get_context=functions.cuCtxGetCurrent,
        push_context=functions.cuCtxPushCurrent,
        pop_context=functions.cuCtxPopCurrent,
        pointer_attribute=functions.cuPointerGetAttribute,
    )
