"""Control of Python's garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_waits() -> Iterator[None]:
    """No garbage is collected inside: what Numba allocates would have it collected over and over, a fifth of the time.

    One thread at a time may be inside, which may come in again: see `exclusively`.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
