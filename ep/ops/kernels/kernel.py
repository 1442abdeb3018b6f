"""What a kernel is, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ep.include.arrays import Array, Arrays
from ep.include.stream import Stream
from ep.ops.kernels.conditions import Subject


class Call(NamedTuple):
    """One computation: what it reads and writes.

    arrays: those of the device, for results in between (`arrays.destination(shape, dtype, None)`).
    inputs: buffers, in the order of the operator's inputs; each has `shape`, `dtype` and `size`.
    outputs: buffers of the result's shape and dtype.
    attributes: by name, as the operator has resolved them.
    """

    arrays: Arrays
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    attributes: Mapping[str, Any]

    @property
    def stream(self) -> Stream:
        """What the kernel launches on."""
        return self.arrays.stream


class Kernel(ABC):
    """What computes an operator for one subject: made when the subject is first met, and kept.

    It makes its primitives once, of the subject, and launches them in every call. Any number of threads may call.
    """

    def __init__(self, subject: Subject) -> None:
        """Make what all calls of the subject share."""
        self.subject = subject

    @abstractmethod
    def compute(self, call: Call) -> None:
        """Queue the work that writes the outputs."""
