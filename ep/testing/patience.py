"""Waiting that ends: a device that never gets something done fails a test instead of stopping the run."""

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

seconds = 120.0
"""How long a test waits for work that takes far less than a second."""


def within(work: Callable[[], T], what: str) -> T:
    """Return the result of `work`, which a thread does; the test fails if it takes longer than `seconds`."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        pytest.fail(f"{what} was not done after {seconds:g} s")
    if errors:
        raise errors[0]
    return results[0]
