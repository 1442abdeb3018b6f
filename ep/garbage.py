"""Control of Python's garbage collection."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SUSPENDING: Final[list[bool]] = []
"""An element for each block that is going to start collections again."""


@contextmanager
def garbage_waits(*, all_is_kept: bool = False) -> Iterator[None]:
    """Suspend garbage collection inside, where many objects are made and kept: imports, compilation, plans.

    They would start it repeatedly: a fifth of the time of an import. Blocks of several threads may overlap: collections
    begin again at the end of the first block.

    all_is_kept: whether what is made inside is never garbage, as modules are: all objects are old then, and the next
    collection of young objects does not visit them. It has no effect while objects are frozen (see gc.freeze).
    """
    collects = gc.isenabled()
    gc.disable()
    _SUSPENDING.extend([True] * collects)
    try:
        yield
        if collects and all_is_kept:
            _make_all_old()
    finally:
        if collects:
            gc.enable()
            del _SUSPENDING[-1:]


def _make_all_old() -> None:
    """Move all objects to the oldest generation, unless some are frozen: they stay so.

    Python 3.12 freezes a few hundred objects of its own when it starts, so nothing moves there.
    """
    if hasattr(gc, "freeze") and not gc.get_freeze_count():
        try:
            gc.freeze()
        finally:
            gc.unfreeze()


def _start_again() -> None:
    """Start collections in a forked child: the thread that suspended them may not be in it."""
    if _SUSPENDING:
        gc.enable()
        _SUSPENDING.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_start_again)
