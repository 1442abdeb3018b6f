"""Keep a sleeping thread from waking up on the processor of the thread that wakes it.

Linux mostly wakes a thread on the processor of the thread that wakes it. If both have work to do, one of them then
waits, for a millisecond or more, while other processors are idle. So the waking thread removes its own processor from
the other's mask, and the other restores its mask once it is awake. On systems other than Linux nothing is done.
"""

from __future__ import annotations

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, INT, WORD, call, pointer_to
from ep.cpu.threads.pool_words import MASK_WORDS

_BITS: Final = 64


@emitted("int64")
def _processor(builder: Any) -> Any:
    """Return the number of the processor that the calling thread runs on; -1 if unknown."""
    if "linux" not in builder.module.triple:
        return WORD(-1)
    return builder.sext(call(builder, "sched_getcpu", INT), WORD)


def _of_mask(name: str) -> Any:
    """Return a Linux function (thread, address of a mask), with 0 for the calling thread.

    Its result is 0 on success.
    """

    @emitted("int64")
    def function(builder: Any, thread: Any, address: Any) -> Any:
        if "linux" not in builder.module.triple:
            return WORD(-1)
        size, mask = WORD(MASK_WORDS * _BITS // 8), pointer_to(builder, address, BYTE)
        return builder.sext(call(builder, name, INT, builder.trunc(thread, INT), size, mask), WORD)

    return function


_read_mask, _write_mask = _of_mask("sched_getaffinity"), _of_mask("sched_setaffinity")


@jit
def keep_away(thread: int, mask: Int64) -> int:
    """Keep a sleeping thread from waking up on this processor.

    mask: receives the thread's previous mask.

    Return the value that `put_back` needs to restore the mask; 0 if the mask is unchanged, because the thread may not
    run on this processor anyway, or may run on no other.
    """
    number = _processor()
    if thread <= 0 or number < 0 or number >= MASK_WORDS * _BITS or _read_mask(thread, mask) != 0:
        return 0
    position, bit = number // _BITS, 1 << (number % _BITS)
    word = mask[position]
    if word & bit == 0:
        return 0
    mask[position] = word & ~bit
    is_away = _write_mask(thread, mask) == 0  # fails if no processor is left
    mask[position] = word
    return number + 1 if is_away else 0


@jit
def put_back(mask: Int64, now: Int64, away: int) -> None:
    """Restore the mask that the calling thread had before `keep_away`, unless other code has changed it since then.

    now: memory for another mask. away: the result of `keep_away`.
    """
    position = (away - 1) // _BITS
    if _read_mask(0, now) != 0:
        return
    now[position] = now[position] | (1 << ((away - 1) % _BITS))
    for i in range(MASK_WORDS):
        if now[i] != mask[i]:
            return
    _write_mask(0, mask)
