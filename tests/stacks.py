"""Threads on stacks of our own, which show how much of them is used."""

import ctypes
import mmap
import sys
import threading
from collections.abc import Callable

import numpy as np

from ep.common.native.elf import MOST_STACK

LEAST = (32 if sys.version_info < (3, 14) else 80) << 10
"""The bytes of the smallest stack in which everything works.

It is the smallest that Python gives a thread. From 3.14 on, Python gives 52 KiB, but raises RecursionError or
MemoryError while it uses the last 32 KiB.
"""

MOST = MOST_STACK + (2 << 10)
"""The bytes that a launch may use of it: compiled code, and what it calls of Python's and the C library."""

_SIZE, _GUARD = 512 << 10, 64 << 10
_ATTRIBUTES = 64  # bytes of a pthread_attr_t
_PAINT = 0xA5


def used_by(work: Callable[[], object]) -> int:
    """Run `work` in a thread with a large stack; return how many bytes of it were used, with Python's own.

    Below the stack is memory that may not be touched. What `work` raises is raised.
    """
    c, raised = ctypes.CDLL(None, use_errno=True), []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def run(_: object) -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    with mmap.mmap(-1, _GUARD + _SIZE) as memory:
        whole = np.frombuffer(memory, np.uint8)
        stack = whole[_GUARD:]
        stack[:] = _PAINT
        attributes, thread = (ctypes.c_uint64 * (_ATTRIBUTES // 8))(), ctypes.c_ulong()
        c.mprotect(ctypes.c_void_p(whole.ctypes.data), ctypes.c_size_t(_GUARD), 0)
        try:
            c.pthread_attr_init(attributes)
            c.pthread_attr_setstack(attributes, ctypes.c_void_p(stack.ctypes.data), ctypes.c_size_t(_SIZE))
            if error := c.pthread_create(ctypes.byref(thread), attributes, run, None):
                raise OSError(error, "no thread")
            c.pthread_join(thread, None)
        finally:
            c.mprotect(ctypes.c_void_p(whole.ctypes.data), ctypes.c_size_t(_GUARD), mmap.PROT_READ | mmap.PROT_WRITE)
        used = _SIZE - int(np.argmax(stack != _PAINT))
        del whole, stack
    if raised:
        raise raised[0]
    return used


def in_a_small_thread(work: Callable[[], object]) -> None:
    """Run `work` in a thread of Python's with the smallest stack. What it raises is raised."""
    raised = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(LEAST)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]


def same(found: object, expected: object) -> None:
    """Assert that results, or tuples of them, have the same bits."""
    if not isinstance(expected, tuple | list):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
        return
    for one, other in zip(found, expected, strict=True):
        same(one, other)


def check(name: str, compute: Callable[[], object]) -> None:
    """Compare what a thread with the smallest stack computes, and assert how much of a stack this takes.

    compute: has the same results each time. It runs here first, so that nothing needs to be compiled.
    """
    expected, found = compute(), []
    compute()  # as a list of launches
    in_a_small_thread(lambda: same(compute(), expected))
    idle, used = used_by(lambda: None), used_by(lambda: found.append(compute()))
    same(found[0], expected)
    assert used - idle <= MOST, f"{name} used {used} bytes of stack; a thread that computes nothing, {idle}"
