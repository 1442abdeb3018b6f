"""The common part of the tests of UnsortedSegmentSum, plain and in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
import pytest

from ep.include import DataType
from ep.include.number_kind import INTEGERS as IDS
from ep.include.primitive import Factory, UnsortedSegmentSumFactory
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.segment_sum import rows_of_segments, segment_sum
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import finite, other_types, samples, sized

__all__ = ["ALL_INNER", "IDS", "LARGE"]

ALL_INNER: Final = (*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 65, 100, 127, 129, 257, 1023, 1025)
LARGE: Final = (
    ((1, 10_007, 1), 30_011),  # single elements
    ((3, 307, 3), 5003),
    ((1, 503, 768), 301),
    ((1, 3, 9001), 61),
    ((1031, 3, 2), 17),
    ((1, 1, 64), 2003),
)
"""Outer, segments and inner, and the number of ids."""

FactoryType = type[Factory[Any]]


def launch(
    device: DeviceUnderTest,
    factory: FactoryType,
    key: Any,
    data: np.ndarray,
    ids: np.ndarray,
    num_segments: int,
    offset: int,
) -> np.ndarray:
    """Launch, and return the result; data is [batch, outer, num_ids, inner], ids [batch, num_ids]."""
    batch, outer, num_ids, inner = data.shape
    out = device.filled(batch * outer * num_segments * inner + 3, key[0])
    first = () if factory is UnsortedSegmentSumFactory else (batch,)
    device.require(factory, *key).Launch(
        device.stream, *first, outer, num_segments, inner, device.buffer(data), num_ids, device.buffer(ids), out, offset
    )
    result = device.array(out)
    assert set(result[-3:].view(np.uint8)) == {0xA5}, "elements past the end of out were written"
    return result[:-3].reshape(batch, outer, num_segments, inner)


def check_launch(
    device: DeviceUnderTest,
    factory: FactoryType,
    key: Any,
    data: np.ndarray,
    ids: np.ndarray,
    num_segments: int,
    offset: int,
) -> None:
    """Check every bit: rows are added in one of few orders."""
    got = launch(device, factory, key, data, ids, num_segments, offset)
    want = segment_sum(data, ids, num_segments, offset)
    if any(len(rows) > 64 for rows in rows_of_segments(ids, num_segments, offset).values()):
        for part_rows in (64, 128, 256, 512):  # a device may choose one of them for each segment
            other = segment_sum(data, ids, num_segments, offset, part_rows)
            same = np.all((got == other) | (np.isnan(got) & np.isnan(other)), axis=(1, 3), keepdims=True)
            want = np.where(same, other, want)
    np.testing.assert_array_equal(got, want)


def draw_ids(rng: np.random.Generator, ids_type: DataType, shape: Any, num_segments: int, offset: int) -> np.ndarray:
    """Return ids of the segments, and a few next to them, as far as the type can hold them."""
    info = np.iinfo(ids_type.dtype)
    low = max(offset - 2, int(info.min))
    high = max(low, min(offset + num_segments + 1, int(info.max)))  # next to them if the type can hold no others
    drawn: np.ndarray = rng.integers(low, high, shape, endpoint=True).astype(ids_type.dtype)
    return drawn


def draw_data(rng: np.random.Generator, data_type: DataType, shape: Sequence[int]) -> np.ndarray:
    """Return numbers of all magnitudes, whose sums depend on their order."""
    draw = samples if data_type.dtype.kind in "iuc" else finite
    drawn: np.ndarray = draw(rng, data_type, int(np.prod(shape)))
    return drawn.reshape(shape)


def check(
    device: DeviceUnderTest,
    rng: np.random.Generator,
    factory: FactoryType,
    key: Any,
    shape: Any,
    num_ids: int,
    offset: int = 0,
) -> None:
    """Launch, and compare. shape: batch, outer, segments, inner."""
    batch, outer, num_segments, inner = shape
    data = draw_data(rng, key[0], (batch, outer, num_ids, inner))
    check_launch(
        device, factory, key, data, draw_ids(rng, key[1], (batch, num_ids), num_segments, offset), num_segments, offset
    )


def check_large(
    device: DeviceUnderTest, rng: np.random.Generator, factory: FactoryType, key: Any, shape: Any, num_ids: int
) -> None:
    """Check sizes that are divided among threads."""
    shape = [sized(device, size, min(size, 67)) for size in shape]
    check(device, rng, factory, key, shape, sized(device, num_ids, min(num_ids, 67)))


def check_order(
    device: DeviceUnderTest, rng: np.random.Generator, factory: FactoryType, key: Any, batch: int, order: str
) -> None:
    """Check ids that are all equal, in ascending order, in descending order, or two that take turns."""
    num_ids, num_segments = sized(device, 1009, 53), 101
    inner = sized(device, 33, 5)
    ids = {
        "equal": np.full(num_ids, 7),
        "sorted": np.sort(rng.integers(0, num_segments, num_ids)),
        "reversed": np.sort(rng.integers(0, num_segments, num_ids))[::-1],
        "two": np.arange(num_ids) % 2,
    }[order]
    data = draw_data(rng, key[0], (batch, 1, num_ids, inner))
    check_launch(device, factory, key, data, np.repeat(ids[None], batch, axis=0).astype(key[1].dtype), num_segments, 0)


def check_extremes(device: DeviceUnderTest, factory: FactoryType, key: Any, batch: int, offset: int) -> None:
    """Check the least and largest ids of their type, and ids around the offset."""
    info = np.iinfo(key[1].dtype)
    near = [offset - 1, offset, offset + 2, offset + 3]
    listed = [info.min, info.max, 0, *(each for each in near if info.min <= each <= info.max)]
    ids = np.repeat(np.array([listed], key[1].dtype), batch, axis=0)
    data = np.arange(1, ids.size + 1).astype(key[0].dtype).reshape(batch, 1, -1, 1)
    check_launch(device, factory, key, data, ids, 3, offset)


def check_special(
    device: DeviceUnderTest, rng: np.random.Generator, factory: FactoryType, key: Any, batch: int
) -> None:
    """Check NaN and infinities, and integers that wrap around."""
    data = samples(rng, key[0], batch * 60 * 5).reshape(batch, 1, 60, 5)
    check_launch(device, factory, key, data, draw_ids(rng, key[1], (batch, 60), 4, 0), 4, 0)


def check_places(device: DeviceUnderTest, rng: np.random.Generator, factory: FactoryType, key: Any, batch: int) -> None:
    """Check buffers that begin at any element."""
    data = draw_data(rng, key[0], (batch, 2, 19, 13))
    ids = draw_ids(rng, key[1], (batch, 19), 7, 0)
    want = segment_sum(data, ids, 7, 0)
    first = () if factory is UnsortedSegmentSumFactory else (batch,)
    for begin in (1, 3):
        of = device.buffer(np.concatenate([np.zeros(begin, data.dtype), data.reshape(-1)]))[begin:]
        by = device.buffer(np.concatenate([np.zeros(begin, ids.dtype), ids.reshape(-1)]))[begin:]
        out = device.filled(want.size + 7, key[0])
        device.require(factory, *key).Launch(device.stream, *first, 2, 7, 13, of, 19, by, out[begin + 1 :])
        result = device.array(out)
        np.testing.assert_array_equal(result[begin + 1 : begin + 1 + want.size], want.reshape(-1))
        around = np.concatenate([result[: begin + 1], result[begin + 1 + want.size :]])
        assert set(around.view(np.uint8)) == {0xA5}


class Refusals(OfAnyLaunch):
    """Invalid arguments: each raises an error that names the argument, and leaves out unchanged."""

    factory: ClassVar[FactoryType]
    sizes: ClassVar[Sequence[str]]

    @pytest.fixture
    def refused(self, device: DeviceUnderTest, key: Any, refuses: Any) -> Any:
        batch = {} if self.factory is UnsortedSegmentSumFactory else {"batch_dim_size": 1}
        return refuses.of(
            device.require(self.factory, *key),
            "out",
            lambda: {
                "stream": device.stream,
                **batch,
                "outer_dim_size": 2,
                "num_segments": 3,
                "inner_dim_size": 4,
                "data": device.buffer(np.ones(40, key[0].dtype)),
                "num_ids": 5,
                "segment_ids": device.buffer(np.zeros(5, key[1].dtype)),
                "out": device.filled(24, key[0]),
            },
        )

    def test_sizes(self, refused: Any) -> None:
        for size in self.sizes:
            refused(ValueError, f"{size} is -1; it must not be negative", **{size: -1})
            refused(TypeError, f"{size} must be an integer, not 2.0", **{size: 2.0})
            refused(ValueError, f"{size} is {2**63}", **{size: 2**63})
            refused(ValueError, "elements; at least", **{size: 2**62})

    def test_offset(self, refused: Any) -> None:
        refused(TypeError, "offset must be an integer", offset=0.5)
        refused(ValueError, "offset is", offset=2**62 + 1)
        refused(ValueError, "offset is", offset=-(2**63))

    def test_buffers(self, device: DeviceUnderTest, key: Any, refused: Any) -> None:
        data_type, ids_type = key
        refused(ValueError, "data has 39 elements; at least 40", data=device.filled(39, data_type))
        refused(
            ValueError, "segment_ids has 4 elements; at least 5", segment_ids=device.buffer(np.zeros(4, ids_type.dtype))
        )
        refused(ValueError, "out has 23 elements; at least 24", out=device.filled(23, data_type))
        for wrong in other_types(data_type):
            refused(TypeError, f"data has dtype {wrong.dtype}", data=device.filled(40, wrong))
            refused(TypeError, f"out has dtype {wrong.dtype}", out=device.filled(24, wrong))
        for wrong in other_types(ids_type):
            refused(
                TypeError, f"segment_ids has dtype {wrong.dtype}", segment_ids=device.buffer(np.zeros(5, wrong.dtype))
            )
        memory = device.buffer(np.ones(80, data_type.dtype))
        refused(ValueError, "out overlaps data", data=memory[:40], out=memory[39:63])
        refused(TypeError, "stream must be a stream", stream=None)
