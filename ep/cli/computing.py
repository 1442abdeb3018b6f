"""The device that `ep run` computes on: it receives the inputs and returns the results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np

from ep.cli import npy
from ep.cli.operators import Computation
from ep.cli.parser import CommandError
from ep.include.device_type import DeviceType
from ep.include.stream import Stream

REFUSALS: Final = (TypeError, ValueError, LookupError, OverflowError, MemoryError)
"""The errors that an operator raises for arguments that do not fit it."""


class Device(NamedTuple):
    """The device that runs an operator: its stream, and the copies of operands to it and of results back."""

    stream: Stream
    place: Callable[[Any], Any]
    bring_back: Callable[[Any], npy.Array]
    copies: bool

    def rehearse(self, computation: Computation) -> None:
        """Compile the kernels that the computation needs."""
        for tiny, attributes in computation.rehearsals:
            with suppress(*REFUSALS):  # the real inputs raise the same error, with their shapes in the message
                computation.call(list(map(self.place, tiny)), attributes)
                self.stream.Sync()


def device_of(device_type: DeviceType) -> Device:
    """Return the first device of a type; CommandError if operators do not run on it."""
    from ep.common.arrays.on_device import arrays_on

    try:
        arrays = arrays_on(device_type)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if arrays.takes_host_arrays:  # memory maps are used without a copy
        return Device(arrays.stream, lambda operand: operand, lambda result: result, copies=False)

    def place(operand: Any) -> Any:
        return arrays.copy_from_host(operand) if isinstance(operand, np.ndarray) else operand

    return Device(arrays.stream, place, arrays.copy_to_host, copies=True)


def refused(error: Exception) -> CommandError:
    """Return the error of an operator or of a model, with its notes, as a CommandError, in one line."""
    said = " ".join(str(error).split()) or type(error).__name__
    return CommandError(", ".join([said, *getattr(error, "__notes__", ())]))
