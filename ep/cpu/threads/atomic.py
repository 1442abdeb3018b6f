"""Synchronisation of threads: atomic words, and locks to sleep on.

All operations are sequentially consistent. Locks are those of Python's C API (`PyThread_allocate_lock`): they exist on
every platform, need no GIL, and may be released by another thread than the one that acquired them.
"""

from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import BYTE, INT, NOTHING, WORD, call, pointer_to

_ORDER = "seq_cst"


@emitted("int64")
def atomic_load(builder: Any, address: Any) -> Any:
    """Return the word at `address`."""
    return builder.load_atomic(pointer_to(builder, address, WORD), _ORDER, 8)


@emitted()
def atomic_store(builder: Any, address: Any, value: Any) -> None:
    """Write the word at `address`."""
    builder.store_atomic(value, pointer_to(builder, address, WORD), _ORDER, 8)


@emitted("int64")
def atomic_add(builder: Any, address: Any, value: Any) -> Any:
    """Add to the word at `address`, and return its old value."""
    return builder.atomic_rmw("add", pointer_to(builder, address, WORD), value, _ORDER)


@emitted("boolean")
def atomic_replace(builder: Any, address: Any, old: Any, new: Any) -> Any:
    """Write `new` to the word at `address` if it is `old`. Return whether it was."""
    return builder.extract_value(builder.cmpxchg(pointer_to(builder, address, WORD), old, new, _ORDER, _ORDER), 1)


@emitted()
def pause(builder: Any) -> None:
    """Tell the core that this thread is spinning."""
    if builder.module.triple.startswith(("x86", "i686")):
        call(builder, "llvm.x86.sse2.pause", NOTHING)
    elif builder.module.triple.startswith(("aarch64", "arm64")):
        call(builder, "llvm.aarch64.hint", NOTHING, INT(1))


@emitted()
def yield_processor(builder: Any) -> None:
    """Let another thread that waits for this processor run."""
    call(builder, "SwitchToThread" if "windows" in builder.module.triple else "sched_yield", INT)


@emitted()
def acquire_lock(builder: Any, lock: Any) -> None:
    """Sleep until the lock at address `lock` is free, and acquire it."""
    call(builder, "PyThread_acquire_lock", INT, pointer_to(builder, lock, BYTE), INT(1))


@emitted()
def release_lock(builder: Any, lock: Any) -> None:
    """Release the lock at address `lock`."""
    call(builder, "PyThread_release_lock", NOTHING, pointer_to(builder, lock, BYTE))
