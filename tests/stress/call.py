"""A launch with a known right result."""

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ep.include import DataType
from ep.include import primitive as p
from ep.include.primitive.registry import Entry
from tests.stress.guarded import Guarded

FILL = 0xA5
"""The byte that fills results before a launch."""

_SEQUENCES = ("axes", "extent", "permutation")
_COUNTS = ("count", "extent", "num_indices", "num_ids", "num_segments", "rows", "cols")


@dataclass
class Call:
    """One launch of one primitive: the arguments of New and Launch, with host arrays as buffers. It can be pickled.

    output: the argument that is written; its array holds the contents before the launch, which remain in elements that
    are not written. shared: the operand whose memory the output uses, None if it has its own. overlap_is_refused:
    whether the output may not overlap an operand in any other way. typed_buffers: whether buffers have to be of the
    data types of the key.
    """

    overlap_is_refused: ClassVar[bool] = True
    typed_buffers: ClassVar[bool] = True

    entry: Entry
    options: tuple[Any, ...]
    arguments: dict[str, Any]
    output: str
    shared: str | None = None

    def make(self, device) -> Any:
        """Return the primitive."""
        return device.require(factory_of(self.entry), *self.key())

    def key(self) -> tuple[Any, ...]:
        """Return the arguments of New."""
        op = () if self.entry.op is None else (self.entry.op,)
        return (*op, *self.types(), *self.options)

    def types(self) -> tuple[DataType, ...]:
        """Return the data types among the arguments of New."""
        return self.entry.dtypes

    def is_empty(self) -> bool:
        """Return whether the call writes nothing, so that buffers of any size are large enough."""
        sizes = [
            value
            for name, value in self.arguments.items()
            if name.endswith(("_dims", "_size", "_bound")) or name in _COUNTS
        ]
        return any(np.any(np.asarray(value) == 0) for value in sizes)

    def expected(self, device, primitive) -> np.ndarray:
        """Return the expected output: from a reference, or from other launches of `primitive`, see `agrees`."""
        raise NotImplementedError

    def agrees(self, device, primitive) -> None:
        """Raise AssertionError if such launches differ from the reference by more than the op's tolerance."""

    def place(self, device, rng: np.random.Generator) -> tuple[dict[str, Guarded], dict[str, Any]]:
        """Return the buffers by argument, and all arguments of Launch but the stream."""
        buffers = {
            name: Guarded(device, rng, value)
            for name, value in self.arguments.items()
            if is_buffer(name, value) and not (self.shared and name == self.output)
        }
        placed = {name: buffers[name].view if name in buffers else value for name, value in self.arguments.items()}
        if self.shared:
            placed[self.output] = placed[self.shared].view(self.arguments[self.output].dtype)
        return buffers, placed

    def launch(self, device, primitive, rng: np.random.Generator, expected: np.ndarray) -> None:
        """Launch once on buffers in new places; raise AssertionError if a byte is wrong, in them or around them."""
        buffers, placed = self.place(device, rng)
        primitive.Launch(device.stream, **placed)
        for name, buffer in buffers.items():
            buffer.check(f"{name} of {self}", expected if name == (self.shared or self.output) else None)

    def run(self, device, rng: np.random.Generator, primitive=None) -> None:
        """Launch `primitive`, or a new one if it is None, and check that it writes the same bytes as a new one."""
        new = self.make(device)
        self.launch(device, primitive or new, rng, self.expected(device, new))

    def names(self) -> list[str]:
        """Return the names of Launch's arguments."""
        return list(inspect.signature(self.entry.interface.Launch).parameters)[1:]

    def __str__(self) -> str:
        told = [
            f"{name}={value.dtype}[{value.size}]" if is_buffer(name, value) else f"{name}={value!r}"
            for name, value in self.arguments.items()
        ]
        shared = f", {self.output} is {self.shared}" if self.shared else ""
        return f"{self.entry} options {self.options}: Launch({', '.join(told)}{shared})"


def factory_of(entry: Entry) -> type:
    """Return the contract whose New makes the primitive of `entry`."""
    return getattr(p, f"{entry.interface.__name__}Factory")


def is_buffer(name: str, value: Any) -> bool:
    """Return whether an argument is a buffer, as opposed to dims in an array or a plain number."""
    return isinstance(value, np.ndarray) and not is_sequence(name)


def is_sequence(name: str) -> bool:
    """Return whether an argument is a sequence of integers."""
    return name.endswith(("_dims", "_strides", "_pos")) or name.startswith("padding_") or name in _SEQUENCES


def background(count: int, data_type: DataType) -> np.ndarray:
    """Return `count` elements that are recognisable if they are not overwritten."""
    return np.full(count * data_type.itemsize, FILL, np.uint8).view(data_type.dtype)
