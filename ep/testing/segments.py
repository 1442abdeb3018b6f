"""The values of the tests of UnsortedSegmentSum, plain and in batches, its launches, and the check of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.include import DataType
from ep.include.primitive import Factory, UnsortedSegmentSumFactory
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.segment_sum import rows_of_segments, segment_sum
from ep.testing.samples import finite, samples

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
    return device.written(out, (batch, outer, num_segments, inner))


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
