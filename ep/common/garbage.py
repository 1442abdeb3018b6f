"""Control of Python's garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_waits() -> Iterator[None]:
    """Suspend garbage collection inside: Numba's allocations would start it repeatedly: a fifth of the time.

    Only one thread at a time may be inside; it may enter again: see `exclusively`.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
