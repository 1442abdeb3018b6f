"""The stacks of threads: the size of the calling thread's stack, and threads with enough stack."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ep.include.process.locks import Rank, new_lock

T = TypeVar("T")

STACK_BYTES: Final = 2**23
"""The stack of the package's own threads, whatever `threading.stack_size` is: most systems' default."""
NEEDED_BYTES: Final = 2**19
"""The least stack for imports and compilation. An eighth of it was enough in tests."""

_starting: Final = new_lock(Rank.THREADS)
_this_thread: Final = threading.local()


def start_thread(target: Callable[..., object], args: tuple[Any, ...] = (), *, name: str) -> threading.Thread:
    """Start and return a daemon thread with at least STACK_BYTES.

    Raises RuntimeError if the system has no more threads.
    A thread that another thread starts at the same moment may get as much.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    with _starting:
        former = threading.stack_size()
        try:
            threading.stack_size(max(former, STACK_BYTES))
            thread.start()
        finally:
            threading.stack_size(former)
    return thread


def has_enough_stack() -> bool:
    """Return whether the calling thread has NEEDED_BYTES of stack; True if that is unknown."""
    enough = getattr(_this_thread, "has_enough", None)
    if enough is None:
        enough = _this_thread.has_enough = (_stack_bytes() or NEEDED_BYTES) >= NEEDED_BYTES
    return bool(enough)


def with_enough_stack(work: Callable[[], T]) -> T:
    """Call `work` in a thread with enough stack, and return its result or raise its exception."""
    results: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:
            errors.append(error)

    try:
        thread = start_thread(run, name="ep-section")
    except RuntimeError as error:
        raise RuntimeError(
            f"this thread has a stack of {_stack_bytes()} bytes, and a first launch needs {NEEDED_BYTES}; "
            f"a thread with more cannot be started: {error}"
        ) from error
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _stack_bytes() -> int | None:
    """Return the size of the calling thread's stack, or None if the system does not tell."""
    if os.name != "posix":
        return None
    import ctypes  # not at the top: `import ep` stays quick

    libc: Any = ctypes.CDLL(None)
    if hasattr(libc, "pthread_get_stacksize_np"):  # macOS
        libc.pthread_self.restype = libc.pthread_get_stacksize_np.restype = ctypes.c_size_t
        libc.pthread_get_stacksize_np.argtypes = (ctypes.c_size_t,)
        return int(libc.pthread_get_stacksize_np(libc.pthread_self()))
    if not hasattr(libc, "pthread_getattr_np"):
        return None
    libc.pthread_self.restype = ctypes.c_void_p
    libc.pthread_getattr_np.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    attributes, size = (ctypes.c_uint64 * 32)(), ctypes.c_size_t()  # several times the size of a pthread_attr_t
    if libc.pthread_getattr_np(libc.pthread_self(), attributes):
        return None
    libc.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    libc.pthread_attr_destroy(attributes)
    return size.value
