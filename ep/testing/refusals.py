"""Launches with an argument that the contract does not allow."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from ep.include.primitive import Primitive
from ep.testing.device_under_test import DeviceUnderTest


class Refusals:
    """Checks that a launch is refused by an error that names the argument, before anything is written."""

    def __init__(self, device: DeviceUnderTest, *, same_words: bool) -> None:
        """same_words: whether a message must be the one that devices of `ep` have; else it must name the argument."""
        self._device, self._same_words = device, same_words

    def of(self, primitive: Primitive, output: str, arguments: Callable[[], dict[str, Any]]) -> Callable[..., None]:
        """Return `check(error, message, **changes)`.

        arguments: returns new arguments of a launch that is accepted; `output` names the one that is written.
        check: launches with some of them changed, and expects `error` with a message that matches `message`.
        """

        def check(error: type[Exception], message: str, **changes: Any) -> None:
            primitive.Launch(**arguments())  # as it stands it is accepted, compiled or not
            changed = arguments() | changes
            written = self._bytes(changed[output])
            with self.expected(primitive, error, message):
                primitive.Launch(**changed)
            assert self._bytes(changed[output]) == written, f"{output} was written before the error"

        return check

    def expected(self, primitive: Primitive, error: type[Exception], message: str) -> Any:
        """Return a context manager for one refused launch."""
        if self._same_words:
            return pytest.raises(error, match=message)
        parameters = list(inspect.signature(primitive.Launch).parameters)
        meant = [name for name in parameters if re.search(rf"\b{name}\b", message)] or parameters
        return pytest.raises((TypeError, ValueError), match=rf"\b({'|'.join(meant)})\b")

    def _bytes(self, buffer: Any) -> bytes | None:
        return self._device.array(buffer).tobytes() if hasattr(buffer, "dtype") else None
