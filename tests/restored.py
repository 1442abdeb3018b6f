"""The check that a block which replaces attributes of a library restores them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest


def check_restored(state: Callable[[], Sequence[Any]], block: Callable[[], AbstractContextManager[Any]]) -> None:
    """Check that all of `state()` are other objects inside of a block, and the same as before after an error in it."""
    before, changed = state(), []

    def fail():
        with block():
            changed.append(all(now is not one for now, one in zip(state(), before, strict=True)))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert changed == [True]
    assert all(now is one for now, one in zip(state(), before, strict=True))
