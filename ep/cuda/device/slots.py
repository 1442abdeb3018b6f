"""The slots of streams and of arrays that compiled code reads; their offsets are those of `object_layout`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import FIRST_SLOT, SECOND_SLOT

STATE, TOKEN = FIRST_SLOT, SECOND_SLOT
"""The slots of a stream."""

MEMORY: Final = FIRST_SLOT
"""The slot of an array."""

CALL_KEY: Final = SECOND_SLOT
"""The next slot of an array of operators."""

HANDLE, IS_OWNED, SCRATCH, SCRATCH_BYTES, SCRATCH_IN_USE = range(5)
"""The words of a stream's state."""

NUM_STATE_WORDS: Final = 5


class StreamSlots:
    """The base class of streams.

    _state: words that compiled code reads: the handle, -1 after the stream was destroyed; whether `CreateStream` made
        the stream; the address and the bytes of the scratch memory that compiled launches may use, and whether one
        uses it.
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
