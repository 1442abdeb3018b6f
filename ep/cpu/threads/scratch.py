"""Memory for what a task needs while it runs, beyond a kilobyte or two: threads may have little stack.

Each thread has one block, which is allocated when a task first needs it, and freed when the thread ends. A task takes a
part of it, and gives it back before it returns, so the block is used like a stack. If there is no memory for a block,
threads take turns with a spare one: nobody waits for ever, because a task that has taken memory never waits for another
thread. So tasks need no way to report that there is none.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.words import load_word, store_word
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate
from ep.cpu.compile.vectors import BYTE, INT, WORD, call, pointer_to
from ep.cpu.threads.atomic import atomic_replace, atomic_store, yield_processor
from ep.cpu.threads.thread_memory import BYTES, NAME, ThreadMemory, provide

provide()

_LINE: Final = 64  # bytes of a cache line
_NEXT, _IS_SPARE, KEPT = range(3)  # the words at the beginning of a block: where the part begins that is not taken
NUM_KEPT: Final = _LINE // 8 - KEPT  # the words from KEPT on


@emitted("int64")
def _shared_words(builder: Any) -> Any:
    """Return the address of the words ThreadMemory."""
    words = builder.module.globals.get(NAME)
    if words is None:
        words = ir.GlobalVariable(builder.module, WORD, NAME)
    return builder.ptrtoint(words, WORD)


@emitted("int64")
def kept(builder: Any, key: Any) -> Any:
    """Return the address that this thread keeps under a key of POSIX threads, or 0."""
    return builder.ptrtoint(call(builder, "pthread_getspecific", BYTE.as_pointer(), key), WORD)


@emitted("int64")
def _keep(builder: Any, key: Any, address: Any) -> Any:
    """Keep an address under a key; return 0, or an error."""
    error = call(builder, "pthread_setspecific", INT, key, pointer_to(builder, address, BYTE))
    return builder.sext(error, WORD)


@jit
def _begin(block):
    return (block + 2 * _LINE - 1) & -_LINE


@separate
def _new_block(words: ThreadMemory):
    block, key = allocate(BYTES), words.key
    is_spare = block == 0
    if is_spare:
        while not atomic_replace(words + 8 * ThreadMemory.taken, 0, 1):
            yield_processor()
        block = words.spare
    store_word(block, _NEXT, _begin(block))
    store_word(block, _IS_SPARE, is_spare)
    for i in range(NUM_KEPT):
        store_word(block, KEPT + i, 0)
    while _keep(key, block) != 0:  # the system has no memory for its table
        yield_processor()
    return block


@separate
def _return_spare(block):
    words = ThreadMemory.at(_shared_words())
    if load_word(block, _NEXT) == _begin(block):
        _keep(words.key, 0)
        atomic_store(words + 8 * ThreadMemory.taken, 0)


@jit
def thread_memory():
    """Return this thread's block, for `take` and `give_back`."""
    words = ThreadMemory.at(_shared_words())
    block = kept(words.key)
    return block if block != 0 else _new_block(words)


@jit
def take(block, size):
    """Take `size` bytes, a number of whole cache lines, and return the address of the first one."""
    place = load_word(block, _NEXT)
    store_word(block, _NEXT, place + size)
    return place


@jit
def give_back(block, place):
    """Give back what was taken at `place`, and all that was taken after it."""
    store_word(block, _NEXT, place)
    if load_word(block, _IS_SPARE) != 0:
        _return_spare(block)


@jit
def kept_words():
    """Return the address of NUM_KEPT words that this thread keeps, 0 at first; 0 if there is no memory for them."""
    block = thread_memory()
    if load_word(block, _IS_SPARE) != 0:
        give_back(block, load_word(block, _NEXT))
        return 0
    return block + 8 * KEPT
