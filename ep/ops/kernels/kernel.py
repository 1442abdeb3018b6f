"""The base of kernels, and the arrays that they are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays, Placeholder
from ep.include.errors import ArgumentError
from ep.include.stream import Stream
from ep.ops.kernels.conditions import Subject

Launches = Callable[[Arrays, Sequence[Array], Sequence[Array]], None]
"""Queues the work of a call: (the arrays of the device, inputs, outputs), as Call has them."""


class OneLaunch:
    """The work of a call that is one launch of a primitive.

    primitive: whose Launch does it. arguments: what that takes after the stream, with a `Placeholder` for each operand
        and for the result.
    """

    __slots__ = ("_in_order", "arguments", "primitive")

    def __init__(self, primitive: Any, *arguments: Any) -> None:
        self.primitive, self.arguments = primitive, arguments
        numbers = [one.number for one in arguments if isinstance(one, Placeholder) and one.number is not None]
        result = 2 + len(arguments) + max(numbers)
        # in a tuple of the stream, the arguments, the operands and the result
        self._in_order = itemgetter(0, *(self._place(one, place, result) for place, one in enumerate(arguments, 1)))

    def _place(self, argument: Any, place: int, result: int) -> int:
        if not isinstance(argument, Placeholder):
            return place
        return result if argument.number is None else 1 + len(self.arguments) + argument.number

    def __call__(self, arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.primitive.Launch(*self._in_order((arrays.stream, *self.arguments, *inputs, *outputs)))


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
        """The stream that the kernel launches on."""
        return self.arrays.stream


class Kernel(ABC):
    """The computation of an operator for one subject: made when the subject is first met, and kept.

    It makes its primitives once, of the subject, and launches them in every call. Any number of threads may call.
    """

    def __init__(self, subject: Subject) -> None:
        """Make what all calls of the subject share."""
        self.subject = subject

    @abstractmethod
    def compute(self, call: Call) -> None:
        """Queue the work that writes the outputs."""

    def prepared(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> tuple[Launches, Mapping[str, str]]:
        """Return what computes all calls with inputs of `shapes` and with these attributes.

        Beside it, how the operator calls arguments that the errors of launches call otherwise.
        """
        return lambda arrays, inputs, outputs: self.compute(Call(arrays, inputs, outputs, attributes)), {}


class PreparedKernel(Kernel):
    """A kernel whose launches follow from shapes and attributes: they are worked out once for all such calls.

    A class that overrides `compute` as well computes each call by that.
    """

    names: Mapping[str, str] = {}
    """For the errors of launches: the operator's name of each argument of Launch that is called otherwise."""

    @abstractmethod
    def prepare(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> Launches:
        """Return what launches the primitives.

        Raises ValueError, in the operator's words, for shapes that they do not take.
        """

    def compute(self, call: Call) -> None:
        launches = self.prepare([one.shape for one in call.inputs], call.attributes)
        try:
            launches(call.arrays, call.inputs, call.outputs)
        except ArgumentError as error:
            error.rename(self.names)
            raise

    def prepared(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> tuple[Launches, Mapping[str, str]]:
        if type(self).compute is not PreparedKernel.compute:
            return super().prepared(shapes, attributes)
        return self.prepare(shapes, attributes), self.names
