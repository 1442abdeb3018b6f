"""On which processor a sleeping thread wakes up: not on that of the thread that wakes it.

Linux mostly wakes a thread on the processor of the thread that wakes it. Where both have work to do, one of them then
waits, for a millisecond or more, while other processors are idle. So the thread that wakes another takes its own
processor out of the other's mask, and the thread that was woken puts its mask back. Elsewhere than on Linux nothing is
done.
"""

from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, store_word
from ep.cpu.threads.atomic import external, pointer

_INT, _SIZE, _POINTER = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_BITS: Final = 64
MASK_WORDS: Final = 16
"""The words of a mask: of 1,024 processors. Where there are more, Linux gives no mask of this size."""


@intrinsic
def _processor(typing_context: Any) -> Any:
    """Return the number of the processor that the calling thread runs on; -1 if the system does not say."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if "linux" not in builder.module.triple:
            return ir.Constant(_SIZE, -1)
        return builder.sext(builder.call(external(builder, "sched_getcpu", ir.FunctionType(_INT, [])), []), _SIZE)

    return types.int64(), generate


def _of_mask(name: str) -> Any:
    """Return a function of Linux (thread, address of a mask), 0 for the calling thread; it returns 0 if it was done."""

    @intrinsic
    def function(typing_context: Any, thread: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if "linux" not in builder.module.triple:
                return ir.Constant(_SIZE, -1)
            called = external(builder, name, ir.FunctionType(_INT, [_INT, _SIZE, _POINTER]))
            mask = builder.bitcast(pointer(builder, args[1]), _POINTER)
            size = ir.Constant(_SIZE, MASK_WORDS * _BITS // 8)
            return builder.sext(builder.call(called, [builder.trunc(args[0], _INT), size, mask]), _SIZE)

        return types.int64(types.int64, types.int64), generate

    return function


_read_mask, _write_mask = _of_mask("sched_getaffinity"), _of_mask("sched_setaffinity")


@jit
def keep_away(thread, mask):
    """Have a sleeping thread wake up elsewhere, if it may; whether it must `put_back` the mask that is written here."""
    number = _processor()
    if thread <= 0 or number < 0 or number >= MASK_WORDS * _BITS or _read_mask(thread, mask) != 0:
        return False
    word, position = load_word(mask, number // _BITS), number // _BITS
    store_word(mask, position, word & ~(1 << (number % _BITS)))
    is_away = _write_mask(thread, mask) == 0  # refused where no processor is left
    store_word(mask, position, word)
    return is_away


@jit
def put_back(mask):
    """Let the calling thread run where it could before `keep_away`."""
    _write_mask(0, mask)
