"""What a device states about the kernels of structures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.signature import Reader
from ep.include.device_type import DeviceType
from ep.include.primitive.structure import Structure
from ep.include.stream import Stream


class StructureKernels(ABC):
    """The kernels of a device that computes structures. `register_primitives` makes its primitives of them.

    The constructor of its class has no arguments: primitives are pickled with the class.
    """

    device_type: DeviceType
    stream_class: type[Stream]
    """The class of the device's streams."""

    @abstractmethod
    def supports(self, structure: Structure) -> bool:
        """Return whether there are kernels for a structure. Nothing is compiled."""

    @abstractmethod
    def reader(self, stream: Any) -> Reader:
        """Return the check of the buffers of a launch on a stream, for `Signature.read`."""

    @abstractmethod
    def constant(self, stream: Any, number: np.generic) -> Any:
        """Return a number as a buffer for one launch, which the reader accepts."""

    @abstractmethod
    def compute(
        self,
        stream: Any,
        structure: Structure,
        operands: Sequence[Any],
        walk: Sequence[Dims],
        row_walk: Sequence[Dims] | None,
        choice: Sequence[int],
    ) -> None:
        """Queue the kernel of a structure whose results have elements. All arguments have been checked.

        operands: the results, then the sources, as the reader returned them.
        walk: the dims of the results, or of the rows if there are any, then the strides of each operand, in elements;
            there is at least one axis.
        row_walk: the same of the elements of a row, of which there may be none; None for a map.
        choice: of a source whose rows are chosen, the number of rows, the elements from one to the next, and the index
            of the first one.
        """

    def __reduce__(self) -> tuple[type[StructureKernels], tuple[()]]:
        return type(self), ()
