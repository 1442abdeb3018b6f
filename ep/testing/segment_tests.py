"""The tests that UnsortedSegmentSum has, plain and in batches."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive import Factory, UnsortedSegmentSumFactory
from ep.testing.arrays import Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, some_key
from ep.testing.references.segment_sum import segment_sum
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfRows
from ep.testing.samples import samples, sized
from ep.testing.segments import LARGE, check_launch, draw_data, draw_ids

_SOME: Final = (
    (DataType.kFloat, DataType.kInt64),
    (DataType.kFloat16, DataType.kInt32),
    (DataType.kUInt8, DataType.kUInt16),
    (DataType.kComplex128, DataType.kInt8),
)
_ALL_INNER: Final = (*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 65, 100, 127, 129, 257, 1023, 1025)
_SIZES: Final = {"batch": 0, "outer": 3, "segments": 5, "inner": 4, "ids": 6}


def segment_tests(factory: type[Factory[Any]], batch: int) -> type:
    """Return the class of the tests, which a module names `Test...`. batch: the number of batches in most of them."""
    has_batches = factory is not UnsortedSegmentSumFactory

    def check(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims, num_ids: int, offset: int = 0) -> None:
        """Launch, and compare. shape: batch, outer, segments, inner."""
        batch, outer, num_segments, inner = shape
        data = draw_data(rng, key[0], (batch, outer, num_ids, inner))
        ids = draw_ids(rng, key[1], (batch, num_ids), num_segments, offset)
        check_launch(device, factory, key, data, ids, num_segments, offset)

    @some_key(factory, _SOME[0])
    class Tests(OfRows):
        sizes = *["batch_dim_size"][:has_batches], "outer_dim_size", "num_segments", "inner_dim_size", "num_ids"

        def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
            sizes = dict(zip(self.sizes[-4:], (2, 3, 4, 5), strict=True)) | dict.fromkeys(self.sizes[:-4], 1)
            data, ids = (device.buffer(np.zeros(count, t.dtype)) for count, t in zip((40, 5), key, strict=True))
            return {**sizes, "data": data, "segment_ids": ids, "out": device.filled(24, key[0])}

        @every_key(factory)
        def test_every_key(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            check(device, rng, key, (batch, 2, 5, 3), num_ids=41, offset=2)

        @pytest.mark.parametrize("inner", _ALL_INNER)
        @some_key(factory, *_SOME)
        def test_every_size_of_rows(self, device: DeviceUnderTest, rng: Rng, key: FlatKey, inner: int) -> None:
            check(device, rng, key, (batch, 1, 11, inner), num_ids=23)

        @pytest.mark.parametrize(("shape", "num_ids"), LARGE, ids=str)
        @some_key(factory, *_SOME)
        def test_across_threads(
            self, device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims, num_ids: int
        ) -> None:
            """Test sizes that are divided among threads."""
            *dims, num_ids = (sized(device, size, min(size, 67)) for size in (batch, *shape, num_ids))
            check(device, rng, key, tuple(dims), num_ids)

        @pytest.mark.parametrize("order", ["equal", "sorted", "reversed", "two"])
        @some_key(factory, *_SOME)
        def test_orders_of_ids(self, device: DeviceUnderTest, rng: Rng, key: FlatKey, order: Any) -> None:
            """Test ids that are all equal, in ascending order, in descending order, or two that take turns."""
            num_ids, num_segments, inner = sized(device, 1009, 53), 101, sized(device, 33, 5)
            ids = {
                "equal": np.full(num_ids, 7),
                "sorted": np.sort(rng.integers(0, num_segments, num_ids)),
                "reversed": np.sort(rng.integers(0, num_segments, num_ids))[::-1],
                "two": np.arange(num_ids) % 2,
            }[order]
            data = draw_data(rng, key[0], (batch, 1, num_ids, inner))
            ids = np.repeat(ids[None], batch, axis=0).astype(key[1].dtype)
            check_launch(device, factory, key, data, ids, num_segments, 0)

        @pytest.mark.parametrize("offset", [0, 1, 100, -3, 2**62, -(2**62)])
        @some_key(factory, *((DataType.kFloat, t) for t in INTEGERS))
        def test_extreme_ids_and_offsets(self, device: DeviceUnderTest, key: FlatKey, offset: int) -> None:
            """Nothing wraps around: the least and the largest id of every type, with the least and largest offset."""
            info = np.iinfo(key[1].dtype)
            near = [offset - 1, offset, offset + 2, offset + 3]
            listed = [info.min, info.max, 0, *(each for each in near if info.min <= each <= info.max)]
            ids = np.repeat(np.array([listed], key[1].dtype), batch, axis=0)
            data = np.arange(1, ids.size + 1).astype(key[0].dtype).reshape(batch, 1, -1, 1)
            check_launch(device, factory, key, data, ids, 3, offset)

        @pytest.mark.parametrize("empty", [*_SIZES][not has_batches :])
        def test_zero_sizes(self, device: DeviceUnderTest, rng: Rng, key: FlatKey, empty: Any) -> None:
            *shape, num_ids = (_SIZES | {"batch": batch} | {empty: 0}).values()
            check(device, rng, key, tuple(shape), num_ids)

        @some_key(factory, *_SOME)
        def test_special_values(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            """Test NaN and infinities, and integers that wrap around."""
            data = samples(rng, key[0], batch * 60 * 5).reshape(batch, 1, 60, 5)
            check_launch(device, factory, key, data, draw_ids(rng, key[1], (batch, 60), 4, 0), 4, 0)

        @some_key(factory, *_SOME)
        def test_memory_that_is_not_aligned(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            """Test buffers that begin at any element."""
            data, ids = draw_data(rng, key[0], (batch, 2, 19, 13)), draw_ids(rng, key[1], (batch, 19), 7, 0)
            want, primitive, sizes = segment_sum(data, ids, 7, 0), device.require(factory, *key), (batch, 2, 7, 13)
            for begin in (1, 3):
                of, by = (
                    device.buffer(np.concatenate([np.zeros(begin, one.dtype), one.reshape(-1)]))[begin:]
                    for one in (data, ids)
                )
                out = device.filled(want.size + 7, key[0])
                primitive.Launch(device.stream, *sizes[not has_batches :], of, 19, by, out[begin + 1 :])
                np.testing.assert_array_equal(device.written(out, want.shape, begin + 1), want)

        @some_key(factory, (DataType.kFloat, DataType.kInt16))
        @given(
            sizes=st.tuples(*(st.integers(0, most) for most in (3, 3, 7, 6))),
            num_ids=st.integers(0, 30),
            offset=st.integers(-3, 3),
        )
        def test_any_sizes(self, device: DeviceUnderTest, key: FlatKey, sizes: Any, num_ids: int, offset: int) -> None:
            batches = sizes[0] if has_batches else 1
            check(device, np.random.default_rng(num_ids), key, (batches, *sizes[1:]), num_ids, offset)

        def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
            memory = device.buffer(np.ones(80, key[0].dtype))
            refused(ValueError, "out overlaps data", data=memory[:40], out=memory[39:63])

    Tests.factory = factory
    return Tests
