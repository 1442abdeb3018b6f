"""The slots of streams and of arrays, and the state of a stream, as Python writes and compiled code reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.native.fields import pointer, word
from ep.common.native.objects import ArrayObject, Object, TupleObject
from ep.common.native.record import Record


class StreamState(Record):
    """The state of a stream, for compiled launches.

    handle: -1 after the stream was destroyed. is_owned: whether `CreateStream` made the stream. scratch, scratch_bytes,
    scratch_in_use: the scratch memory that compiled launches may use, and whether one uses it.
    """

    handle = word()
    is_owned = word()
    scratch = word()
    scratch_bytes = word()
    scratch_in_use = word()


class StreamObject(Object):
    """A stream."""

    state = pointer(ArrayObject)
    token = word()


class MemoryObject(TupleObject):
    """The description of an array's memory, a tuple: see `ep.cuda.device.buffer.Memory`."""

    address = word()
    count = word()
    dtype = word()
    may_write = word()
    is_contiguous = word()
    device = word()
    producer = word()


class CudaArrayObject(Object):
    """An array; the last slot is that of an array of operators."""

    memory = pointer(MemoryObject)
    call_key = word()


class StreamSlots:
    """The base class of streams.

    _state: the words of a StreamState.
    _token: an object by which launches on the stream are found; no other stream ever has it, also none that CUDA gives
        the handle of this one.
    """

    __slots__ = ("_state", "_token")  # sorted by name, which is the order in memory
    _state: np.ndarray[Any, Any]
    _token: object


class ArraySlots:
    """The base class of arrays whose memory compiled code reads."""

    __slots__ = ("memory",)
    memory: Any


class KeyedSlots(ArraySlots):
    """The base class of arrays of operators, whose keys compiled code compares."""

    __slots__ = ("call_key",)
    call_key: Any
