"""Memory for what a task needs while it runs, beyond a kilobyte or two: threads may have little stack.

Each thread has one block, which is allocated when a task first needs it, and freed when the thread ends. A task takes a
part of it, and gives it back before it returns, so the block is used like a stack. If there is no memory for a block,
threads take turns with a spare one: nobody waits for ever, because a task that has taken memory never waits for another
thread. So tasks need no way to report that there is none.
"""

from __future__ import annotations

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate
from ep.cpu.compile.vectors import BYTE, INT, WORD, address_of_words, call, pointer_to
from ep.cpu.threads.atomic import atomic_replace, atomic_store, yield_processor
from ep.cpu.threads.thread_memory import BYTES, NAME, NUM_KEPT, ThreadBlock, ThreadMemory, provide

provide()

_LINE: Final = 64  # bytes of a cache line


@emitted("int64")
def _shared_words(builder: Any) -> Any:
    """Return the address of the `ThreadMemory`."""
    return address_of_words(builder, NAME)


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
def _begin(block: ThreadBlock) -> int:
    return (block + 2 * _LINE - 1) & -_LINE


@separate
def _new_block(shared: ThreadMemory) -> ThreadBlock:
    block, key = ThreadBlock.at(allocate(BYTES)), shared.key
    is_spare = block == 0
    if is_spare:
        while not atomic_replace(shared.taken, 0, 1):
            yield_processor()
        block = ThreadBlock.at(shared.spare)
    block.next = _begin(block)
    block.is_spare = 1 if is_spare else 0
    for i in range(NUM_KEPT):
        block.kept[i] = 0
    while _keep(key, block) != 0:  # the system has no memory for its table
        yield_processor()
    return block


@separate
def _return_spare(block: ThreadBlock) -> None:
    shared = ThreadMemory.at(_shared_words())
    if block.next == _begin(block):
        _keep(shared.key, 0)
        atomic_store(shared.taken, 0)


@jit
def thread_memory() -> ThreadBlock:
    """Return this thread's block, for `take` and `give_back`."""
    shared = ThreadMemory.at(_shared_words())
    block = ThreadBlock.at(kept(shared.key))
    return block if block != 0 else _new_block(shared)


@jit
def take(block: ThreadBlock, size: int) -> int:
    """Take `size` bytes, a number of whole cache lines, and return the address of the first one."""
    taken = block.next
    block.next = taken + size
    return taken


@jit
def give_back(block: ThreadBlock, taken: int) -> None:
    """Give back what was taken at an address, and all that was taken after it."""
    block.next = taken
    if block.is_spare != 0:
        _return_spare(block)


@jit
def kept_words() -> Int64:
    """Return the address of NUM_KEPT words that this thread keeps, 0 at first; 0 if there is no memory for them."""
    block = thread_memory()
    if block.is_spare != 0:
        give_back(block, block.next)
        return Int64.at(0)
    return block.kept
