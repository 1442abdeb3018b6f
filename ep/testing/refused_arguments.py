"""Tests of the arguments that primitives refuse: a class for each primitive says what a valid launch is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from ep.include import DataType, Stream
from ep.include.data_type import as_data_type
from ep.include.primitive import Factory
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.refusals import Refusals, Refused
from ep.testing.samples import other_types


class _StreamOfNoDevice(Stream):
    """A stream that belongs to no device under test."""

    def device_type(self) -> Any:
        raise AssertionError("a launch on a stream of another device must be refused by the type of the stream")

    device = Sync = RecordEvent = WaitEvent = AllocAsync = FreeAsync = device_type  # type: ignore[assignment]


class OfAnyLaunch:
    """Tests for any primitive: each error names the argument, and is raised before anything is written.

    factory, more: of the primitive, and the arguments of New after its key. output: the operand that is written.
    sizes: the arguments that are integers, 0 at least, and of which a larger one needs more elements. dims: those that
    are sequences of sizes, at most `most_dims` of them. numbers: those that are numbers of the type of `output`.
    unit: what is counted in buffers; "bytes" for a primitive that takes elements of any type.
    """

    factory: ClassVar[type[Factory[Any]]]
    more: ClassVar[Sequence[Any]] = ()
    output: ClassVar[str] = "dst"
    sizes: ClassVar[Sequence[str]] = ()
    dims: ClassVar[Sequence[str]] = ()
    most_dims: ClassVar[int] = 3
    numbers: ClassVar[Sequence[str]] = ()
    unit: ClassVar[str] = "elements"

    def arguments(self, device: DeviceUnderTest, key: Any) -> dict[str, Any]:
        """Return new arguments of a valid launch, but for the stream; no buffer has more elements than are needed."""
        raise NotImplementedError

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest, key: Any) -> Any:
        return device.require(self.factory, *key, *self.more)

    @pytest.fixture
    def refused(self, device: DeviceUnderTest, key: Any, primitive: Any, refuses: Refusals) -> Refused:
        return refuses.of(primitive, self.output, lambda: {"stream": device.stream, **self.arguments(device, key)})

    def test_streams(self, refused: Refused) -> None:
        for wrong in (None, 0, _StreamOfNoDevice()):
            refused(TypeError, "stream must be a stream", stream=wrong)

    def test_buffers(self, device: DeviceUnderTest, refused: Refused) -> None:
        """Test each buffer of the launch, also those of a list: its elements, their number, their type and layout."""
        for name, given in refused.arguments().items():
            if isinstance(given, list):
                _check_buffer(device, refused, rf"{name}\[0\]", given[0], self.unit, name, given[1:])
            elif hasattr(given, "dtype") and not isinstance(given, DataType):
                _check_buffer(device, refused, name, given, self.unit, name)
            if name == refused.output and isinstance(given, np.ndarray):
                constant = given.copy()
                constant.flags.writeable = False
                refused(ValueError, f"{name} is read-only", **{name: constant})

    def test_numbers_of_elements(self, refused: Refused) -> None:
        for name in self.sizes:
            refused(ValueError, f"{name} is -1; it must not be negative", **{name: -1})
            for wrong in (2.0, None, "3"):
                refused(TypeError, f"{name} must be an integer, not {wrong!r}", **{name: wrong})
            refused(ValueError, f"{name} is {2**70}", **{name: 2**70})
            refused(ValueError, f"{self.unit}; at least", **{name: refused.arguments()[name] + 1})

    def test_sequences_of_sizes(self, refused: Refused) -> None:
        for name in self.dims:
            first, *rest = refused.arguments()[name]
            refused(ValueError, rf"{name}\[0\] is -{first}; it must not be negative", **{name: (-first, *rest)})
            refused(TypeError, rf"{name}\[0\] must be an integer, not 2.5", **{name: (2.5, *rest)})
            refused(TypeError, f"{name} must be a sequence of integers, not 6", **{name: 6})
            refused(ValueError, f"{name} has 9 dims", **{name: (1,) * 9})
            if self.most_dims < 8:
                many, message = (1,) * (self.most_dims + 1), f"this primitive was made for at most {self.most_dims}"
                refused(ValueError, f"{name} has {len(many)} dims; {message}", **{name: many})

    def test_plain_numbers(self, refused: Refused) -> None:
        for name in self.numbers:
            refused(ValueError, rf"{name} is 1e\+300, which float32 cannot hold", **{name: 1e300})
            refused(TypeError, f"{name} is the complex number 1j", **{name: 1j})
            for wrong in (None, "1", [1]):
                refused(TypeError, f"{name} must be a number", **{name: wrong})


def _check_buffer(
    device: DeviceUnderTest,
    refused: Refused,
    said: str,
    buffer: Any,
    unit: str,
    name: str,
    others: Sequence[Any] | None = None,
) -> None:
    """Check launches with another buffer for an argument; buffers that are not NumPy's arrays have no strides.

    said: what errors call the buffer. others: the buffers that follow in a list, for an argument that is one.
    """

    def refuse(error: type[Exception], message: str, wrong: Any) -> None:
        refused(error, f"{said} {message}", **{name: wrong if others is None else [wrong, *others]})

    data_type, count = as_data_type(buffer.dtype), device.array(buffer).size
    refuse(TypeError, "must be", None)
    refuse(ValueError, f"has {count - 1} {unit}; at least {count} are needed", buffer[: count - 1])
    for wrong in other_types(data_type) if unit == "elements" else ():
        taken = rf"this primitive takes {data_type.dtype} \({data_type.name}\)"
        refuse(TypeError, f"has dtype {wrong.dtype}; {taken}", device.filled(count, wrong))
    if isinstance(buffer, np.ndarray) and count > 1:
        refuse(ValueError, "is not C-contiguous", np.repeat(buffer, 2)[::2])


class OfTwoCounts(OfAnyLaunch):
    """Tests for a primitive launched with 8 elements `src`, `dst` and `count`; its key ends in the types of both."""

    sizes = ("count",)

    def arguments(self, device: DeviceUnderTest, key: Any) -> dict[str, Any]:
        src_type, dst_type = key[-2:]
        return {"src": device.buffer(np.ones(8, src_type.dtype)), "dst": device.filled(8, dst_type), "count": 8}


class OfTwoShapes(OfAnyLaunch):
    """Tests for a primitive made for 3 dims, launched from `src` (2, 1) to `dst` (2, 3); its key ends in both types."""

    more = (3,)
    dims = "src_dims", "dst_dims"

    def arguments(self, device: DeviceUnderTest, key: Any) -> dict[str, Any]:
        src = device.buffer(np.ones(2, key[0 if len(key) == 1 else -2].dtype))
        return {"src_dims": (2, 1), "src": src, "dst_dims": (2, 3), "dst": device.filled(6, key[-1])}

    def test_dims(self, refused: Refused) -> None:
        refused(ValueError, r"does not expand .* at axis -2", src_dims=(4, 1))
        refused(ValueError, "more dims than", src_dims=(2, 1), dst_dims=(2,))

    def test_strides(self, refused: Refused) -> None:
        refused(ValueError, "src_strides has 1 strides for 2 dims", src_strides=(1,))
        refused(ValueError, r"src_strides\[0\] is -1", src_strides=(-1, 1))
        refused(ValueError, "dst_strides .* share a place", dst_strides=(1, 1))
        refused(ValueError, "dst_strides .* share a place", dst_strides=(3, 0))
        refused(ValueError, "src has 2 elements; at least 6", src_strides=(5, 1))
        refused(ValueError, "dst has 6 elements; at least 7", dst_strides=(4, 1))

    def test_overlap(self, device: DeviceUnderTest, key: Any, refused: Refused) -> None:
        memory = device.buffer(np.ones(12, refused.arguments()["src"].dtype))
        refused(ValueError, "dst overlaps src", src=memory[3:5], dst=memory[:6].view(key[-1].dtype))


class OfRows(OfAnyLaunch):
    """Tests for a primitive launched with rows that integers choose: it takes `offset`."""

    output = "out"

    def test_offset(self, refused: Refused) -> None:
        refused(TypeError, "offset must be an integer", offset=0.5)
        for wrong in (2**62 + 1, 2**63, -(2**62) - 1, -(2**63)):
            refused(ValueError, "offset is", offset=wrong)

    def test_numbers_of_elements_beyond_any_memory(self, refused: Refused) -> None:
        for name in self.sizes:
            refused(ValueError, f"{name} is {2**63}", **{name: 2**63})
            refused(ValueError, "elements; at least", **{name: 2**62})
