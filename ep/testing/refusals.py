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

    def of(self, primitive: Primitive, output: str, arguments: Callable[[], dict[str, Any]]) -> Refused:
        """Return what checks launches with some arguments changed.

        arguments: returns new arguments of a launch that is accepted; `output` names the one that is written.
        """
        return Refused(self, self._device, primitive, output, arguments)

    def expected(self, primitive: Primitive, error: type[Exception], message: str) -> Any:
        """Return a context manager for one refused launch."""
        if self._same_words:
            return pytest.raises(error, match=message)
        parameters = list(inspect.signature(primitive.Launch).parameters)
        meant = [name for name in parameters if re.search(rf"\b{name}\b", message)] or parameters
        return pytest.raises((TypeError, ValueError), match=rf"\b({'|'.join(meant)})\b")


class Refused:
    """Launches of one primitive that are refused, each for an argument that is changed."""

    def __init__(
        self,
        refusals: Refusals,
        device: DeviceUnderTest,
        primitive: Primitive,
        output: str,
        arguments: Callable[[], dict[str, Any]],
    ) -> None:
        self._refusals, self._device, self._primitive = refusals, device, primitive
        self.output, self.arguments = output, arguments

    def __call__(self, error: type[Exception], message: str, **changes: Any) -> None:
        """Launch, and expect `error` with a message that matches `message`, before anything is written."""
        self._primitive.Launch(**self.arguments())  # as it stands it is accepted, compiled or not
        changed = self.arguments() | changes
        written = self._bytes(changed[self.output])
        with self._refusals.expected(self._primitive, error, message):
            self._primitive.Launch(**changed)
        assert self._bytes(changed[self.output]) == written, f"{self.output} was written before the error"

    def _bytes(self, buffer: Any) -> bytes | None:
        return self._device.array(buffer).tobytes() if hasattr(buffer, "dtype") else None
