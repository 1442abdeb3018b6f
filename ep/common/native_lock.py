"""Locks of Python's C API, by address. Code without the GIL or Python may release them, on any thread."""

from __future__ import annotations

import ctypes
from typing import Final

_api: Final = ctypes.pythonapi
_allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", _api))
_release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyThread_release_lock", _api))
_acquire = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", _api))


def new_taken_lock() -> int:
    """Return the address of a new lock, held: acquiring it blocks until it is released. It is never destroyed."""
    lock = _allocate()
    if not lock:
        raise MemoryError("no more locks can be made")
    _acquire(lock, 1)
    return int(lock)


def was_released(lock: int) -> bool:
    """Return whether a held lock was released; if so, acquire it again."""
    return bool(_acquire(lock, 0))


def release(lock: int) -> None:
    """Release a held lock."""
    _release(lock)


def release_function() -> int:
    """Return the address of the C function that releases the lock at a given address."""
    return ctypes.cast(_release, ctypes.c_void_p).value or 0
