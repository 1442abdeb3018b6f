"""Checks of launches with an argument that the contract does not allow."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ep.include.errors import ArgumentError
from ep.include.primitive import Primitive
from ep.testing.device_under_test import DeviceUnderTest


class Refusals:
    """The check that a launch is refused by an error that names the argument, before anything is written."""

    def __init__(self, device: DeviceUnderTest, *, same_words: bool) -> None:
        """same_words: whether a message must be that of devices of `ep`; else it must name the argument."""
        self._device, self._same_words = device, same_words

    def of(self, primitive: Primitive, output: str, arguments: Callable[[], dict[str, Any]]) -> Refused:
        """Return the check of launches with some arguments changed.

        arguments: returns new arguments of a valid launch; `output` names the one that is written.
        """
        return Refused(self, self._device, primitive, output, arguments)

    def expected(self, primitive: Primitive, error: type[Exception], message: str) -> Any:
        """Return a context manager for one refused launch."""
        parameters = list(inspect.signature(primitive.Launch).parameters)
        if self._same_words:
            return _in_our_words(parameters, error, message)
        meant = [name for name in parameters if re.search(rf"\b{name}\b", message)] or parameters
        return pytest.raises((TypeError, ValueError), match=rf"\b({'|'.join(meant)})\b")


@contextmanager
def _in_our_words(parameters: Collection[str], error: type[Exception], message: str) -> Iterator[None]:
    """Check one refused launch; the error must name the parameter that it is about."""
    with pytest.raises(error, match=message) as refused:
        yield
    assert isinstance(refused.value, ArgumentError), f"{refused.value!r} has no argument"
    assert refused.value.argument.whole in parameters, f"{refused.value!r} is about no argument of Launch"


class Refused:
    """Launches of one primitive that are refused, each because of a changed argument."""

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
        self._primitive.Launch(**self.arguments())  # unchanged, it is valid, compiled or not
        changed = self.arguments() | changes
        written = self._bytes(changed[self.output])
        with self._refusals.expected(self._primitive, error, message):
            self._primitive.Launch(**changed)
        assert self._bytes(changed[self.output]) == written, f"{self.output} was written before the error"

    def _bytes(self, buffer: Any) -> bytes | None:
        return self._device.array(buffer).tobytes() if hasattr(buffer, "dtype") else None
