"""The base classes of kernels, and the calls that they compute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays
from ep.include.errors import ArgumentError
from ep.include.stream import Stream
from ep.ops.kernels.conditions import Subject

Launches = Callable[[Arrays, Sequence[Array], Sequence[Array]], None]
"""A `Plan`, or a function that queues the work of a call: (arrays, inputs, outputs), as in KernelContext."""


class KernelContext(NamedTuple):
    """One computation, with the arrays that it reads and writes.

    arrays: those of the device, for intermediate results (`arrays.destination(shape, dtype, None)`).
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
        """The stream that the kernel launches on."""
        return self.arrays.stream


class Kernel(ABC):
    """The implementation of an operator for one subject, made when the subject first occurs, and kept.

    It makes its primitives once, for the subject, and launches them in every call. Any number of threads may call it.
    """

    def __init__(self, subject: Subject) -> None:
        """Make the objects that all calls of the subject share."""
        self.subject = subject

    @abstractmethod
    def compute(self, context: KernelContext) -> None:
        """Queue the work that writes the outputs."""

    def prepared(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> tuple[Launches, Mapping[str, str]]:
        """Return the function that computes all calls with inputs of `shapes` and with these attributes.

        The second result has the operator's names for arguments that errors of launches name differently.
        """
        return lambda arrays, inputs, outputs: self.compute(KernelContext(arrays, inputs, outputs, attributes)), {}


class PreparedKernel(Kernel):
    """A kernel whose launches depend on shapes and attributes only: they are planned once per combination of these.

    They may be recorded in one call and repeated in the next ones. Of other packages' kernels, only a `Plan` is: a
    function of theirs may compute in other ways.

    If a class overrides `compute` as well, `compute` does every call.
    """

    names: Mapping[str, str] = {}
    """The operator's names for arguments of Launch, for errors of launches that name them differently."""

    @abstractmethod
    def prepare(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> Launches:
        """Return the plan of all calls with inputs of `shapes` and with these attributes.

        Raises ValueError, in the operator's words, for shapes that they do not support.
        """

    def compute(self, context: KernelContext) -> None:
        launches = self.prepare([one.shape for one in context.inputs], context.attributes)
        try:
            launches(context.arrays, context.inputs, context.outputs)
        except ArgumentError as error:
            error.rename(self.names)
            raise

    def prepared(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> tuple[Launches, Mapping[str, str]]:
        if type(self).compute is not PreparedKernel.compute:
            return super().prepared(shapes, attributes)
        return self.prepare(shapes, attributes), self.names
