"""Gather and BatchGather: every key, every row size, indices out of range, and invalid arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive import BatchGatherFactory, Factory, GatherFactory
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, needs, some_key
from ep.testing.references.gather import reference
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfRows
from ep.testing.samples import samples, sized

BYTES_BY_INT16, BYTES_BY_INT32, BYTES_BY_INT64 = (
    (DataType.kUInt8, indices_type) for indices_type in (DataType.kInt16, DataType.kInt32, DataType.kInt64)
)


def launch(
    device: DeviceUnderTest, factory: type[Factory[Any]], key: FlatKey, params: Array, indices: Array, offset: int
) -> Any:
    batch, outer, gather, inner = params.shape
    num_indices = indices.shape[1]
    primitive = device.require(factory, *key)
    out = device.filled(batch * outer * num_indices * inner + 3, key[0])
    sizes = (outer, gather, inner) if factory is GatherFactory else (batch, outer, gather, inner)
    buffers = device.buffer(params), num_indices, device.buffer(indices), out
    primitive.Launch(device.stream, *sizes, *buffers, offset)
    return device.written(out, (batch, outer, num_indices, inner))


def draw_params(rng: Rng, data_type: DataType, shape: Dims) -> Any:
    """Return small random numbers, which are distinct in all types of 8 bits and more."""
    return rng.integers(0, 256, shape, np.uint8).astype(data_type.dtype)


def draw_indices(rng: Rng, data_type: DataType, shape: Dims, low: int, high: int) -> Any:
    info = np.iinfo(data_type.dtype)
    return rng.integers(max(low, info.min), min(high, info.max), shape, endpoint=True).astype(data_type.dtype)


@every_key(GatherFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    check_key(device, rng, GatherFactory, key, batch=1)


@every_key(BatchGatherFactory)
def test_every_key_in_batches(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    check_key(device, rng, BatchGatherFactory, key, batch=3)


def check_key(device: DeviceUnderTest, rng: Rng, factory: type[Factory[Any]], key: FlatKey, batch: int) -> None:
    params_type, indices_type = key
    params = samples(rng, params_type, batch * 2 * 11 * 5).reshape(batch, 2, 11, 5)
    indices = draw_indices(rng, indices_type, (batch, 7), -4, 15)
    out = launch(device, factory, key, params, indices, 2)
    assert out.tobytes() == reference(params, indices, 2).tobytes()


@pytest.mark.parametrize(
    "inner", [*range(1, 20), *(24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 257, 8191, 8192, 8195)]
)
@some_key(BatchGatherFactory, BYTES_BY_INT32)
def test_every_row_size_in_batches(device: DeviceUnderTest, rng: Rng, key: FlatKey, inner: int) -> None:
    params = draw_params(rng, key[0], (2, sized(device, 3, 1), 13, inner))
    indices = draw_indices(rng, key[1], (2, sized(device, 11, 5)), -2, 14)
    out = launch(device, BatchGatherFactory, key, params, indices, 0)
    np.testing.assert_array_equal(out, reference(params, indices, 0))


@needs(GatherFactory, *BYTES_BY_INT64)
@pytest.mark.parametrize("inner", [1, 7, 16, 48, 300, 5000])
def test_a_table_beyond_the_cache(device: DeviceUnderTest, rng: Rng, inner: int) -> None:
    """Rows of a large table are prefetched; addresses outside the table are not."""
    rows = 2**25 // inner
    params = rng.integers(0, 256, (rows, inner), np.uint8)
    outside = [-1, rows, 2**40, -(2**40), np.iinfo(np.int64).min]
    indices = np.concatenate([rng.integers(0, rows, sized(device, 9000, 90)), outside])
    rng.shuffle(indices)
    out = launch(device, GatherFactory, BYTES_BY_INT64, params[None, None], indices[None], 0)[0, 0]
    valid = (indices >= 0) & (indices < rows)
    np.testing.assert_array_equal(out, np.where(valid[:, None], params[np.where(valid, indices, 0)], 0))


@pytest.mark.parametrize("params_offset", range(0, 17, 3))
@some_key(GatherFactory, BYTES_BY_INT64)
def test_addresses_of_any_alignment(device: DeviceUnderTest, rng: Rng, key: FlatKey, params_offset: int) -> None:
    params = draw_params(rng, key[0], (1, 1, 13, 16))
    memory = device.buffer(np.concatenate([np.zeros(params_offset, params.dtype), params.reshape(-1)]))
    out = device.filled(16 * 5 + 1, key[0])
    indices = np.array([3, 12, 0, 13, 7], key[1].dtype)
    primitive = device.require(GatherFactory, *key)
    primitive.Launch(device.stream, 1, 13, 16, memory[params_offset:], 5, device.buffer(indices), out[1:])
    expected = reference(params, indices[None], 0).reshape(-1)
    np.testing.assert_array_equal(device.array(out)[1:], expected)


@pytest.mark.parametrize(
    ("outer", "gather", "inner", "num_indices"),
    [
        (1, 1009, 1, 100_003),  # many indices of one unit each
        (7, 101, 3, 20_011),  # rows whose size is not a unit
        (1, 3, 200_003, 2),  # rows larger than the grain: cut into pieces
        (40_009, 3, 1, 2),  # many outer groups of few indices
        (5, 64, 64, 114),
    ],
)
@some_key(GatherFactory, BYTES_BY_INT64)
def test_across_the_grain(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, outer: int, gather: int, inner: int, num_indices: int
) -> None:
    outer, inner, num_indices = (sized(device, size, min(size, 1009)) for size in (outer, inner, num_indices))
    params = draw_params(rng, key[0], (1, outer, gather, inner))
    indices = draw_indices(rng, key[1], (1, num_indices), -1, gather)
    out = launch(device, GatherFactory, key, params, indices, 0)
    expected = np.take(params, indices[0].clip(0, gather - 1), axis=2)
    expected[:, :, (indices[0] < 0) | (indices[0] >= gather)] = 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("offset", [0, 1, 100, -3, 2**62, -(2**62)])
@some_key(GatherFactory, *((DataType.kUInt8, indices_type) for indices_type in INTEGERS))
def test_extreme_indices_and_offsets(device: DeviceUnderTest, key: FlatKey, offset: int) -> None:
    """Nothing wraps around: the least and the largest index of every type, with the least and largest offset."""
    params_type, indices_type = key
    info = np.iinfo(indices_type.dtype)
    near = [offset - 1, offset, offset + 2, offset + 3]
    listed = [info.min, info.max, 0, *(index for index in near if info.min <= index <= info.max)]
    indices = np.array([listed], indices_type.dtype)
    params = np.arange(1, 4).astype(params_type.dtype).reshape(1, 1, 3, 1)
    out = launch(device, GatherFactory, key, params, indices, offset)
    np.testing.assert_array_equal(out, reference(params, indices, offset))


@pytest.mark.parametrize("empty", ["outer", "gather", "inner", "num_indices", "batch"])
@some_key(BatchGatherFactory, BYTES_BY_INT32)
def test_zero_sizes_in_batches(device: DeviceUnderTest, key: FlatKey, empty: Any) -> None:
    check_zero_sizes(device, BatchGatherFactory, key, {"batch": 2, empty: 0})


@pytest.mark.parametrize("empty", ["outer", "gather", "inner", "num_indices"])
@some_key(GatherFactory, BYTES_BY_INT32)
def test_zero_sizes(device: DeviceUnderTest, key: FlatKey, empty: Any) -> None:
    check_zero_sizes(device, GatherFactory, key, {"batch": 1, empty: 0})


def check_zero_sizes(device: DeviceUnderTest, factory: type[Factory[Any]], key: FlatKey, sizes: Any) -> None:
    sizes = {"outer": 3, "gather": 5, "inner": 4, "num_indices": 6} | sizes
    params = np.ones([sizes[name] for name in ("batch", "outer", "gather", "inner")], key[0].dtype)
    indices = np.zeros((sizes["batch"], sizes["num_indices"]), key[1].dtype)
    out = launch(device, factory, key, params, indices, 0)
    np.testing.assert_array_equal(out, reference(params, indices, 0))


@some_key(GatherFactory, (DataType.kInt32, DataType.kInt64))
def test_shards_add_up_to_the_whole(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    params = rng.integers(1, 100, (1, 3, 10, 7)).astype(key[0].dtype)
    indices = draw_indices(rng, key[1], (1, 23), 0, 9)
    whole = launch(device, GatherFactory, key, params, indices, 0)
    pieces = [(0, 3), (3, 4), (7, 3)]
    ranks = [
        launch(device, GatherFactory, key, params[:, :, first : first + size], indices, first) for first, size in pieces
    ]
    np.testing.assert_array_equal(sum(ranks), whole)


@some_key(BatchGatherFactory, BYTES_BY_INT16)
@given(data=st.data())
def test_any_sizes_in_batches(device: DeviceUnderTest, key: FlatKey, data: st.DataObject) -> None:
    check_any_sizes(device, BatchGatherFactory, key, data, data.draw(st.integers(0, 6)))


@some_key(GatherFactory, BYTES_BY_INT16)
@given(data=st.data())
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, data: st.DataObject) -> None:
    check_any_sizes(device, GatherFactory, key, data, 1)


def check_any_sizes(
    device: DeviceUnderTest, factory: type[Factory[Any]], key: FlatKey, data: st.DataObject, batch: int
) -> None:
    size = st.integers(0, 6)
    outer, gather, inner, num_indices = (data.draw(size) for _ in range(4))
    offset = data.draw(st.integers(-3, 3))
    least = 0 if key[1].dtype.kind == "u" else -5
    values = data.draw(st.lists(st.integers(least, 9), min_size=batch * num_indices, max_size=batch * num_indices))
    indices = np.array(values, key[1].dtype).reshape(batch, num_indices)
    numbers = np.arange(batch * outer * gather * inner).astype(np.uint8).astype(key[0].dtype)
    params = numbers.reshape(batch, outer, gather, inner)
    out = launch(device, factory, key, params, indices, offset)
    np.testing.assert_array_equal(out, reference(params, indices, offset))


class OfGather(OfRows):
    sizes: ClassVar[Sequence[str]] = ("outer_dim_size", "gather_dim_size", "inner_dim_size", "num_indices")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        sizes = dict(zip(self.sizes[-4:], (2, 3, 4, 5), strict=True)) | dict.fromkeys(self.sizes[:-4], 1)
        params, indices = (device.buffer(np.zeros(count, t.dtype)) for count, t in zip((24, 5), key, strict=True))
        return {**sizes, "params": params, "indices": indices, "out": device.filled(40, key[0])}

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        params_type, indices_type = key
        memory = device.buffer(np.ones(64, params_type.dtype))
        refused(ValueError, "out overlaps params", params=memory[:24], out=memory[23:63])
        memory = device.buffer(np.zeros(64 * 16, np.uint8))
        start = params_type.itemsize if params_type.itemsize < 5 * indices_type.itemsize else 0
        refused(
            ValueError,
            "out (overlaps|is the memory of) indices",
            indices=memory[: 5 * indices_type.itemsize].view(indices_type.dtype),
            out=memory[start : start + 40 * params_type.itemsize].view(params_type.dtype),
        )


@some_key(GatherFactory, (DataType.kFloat, DataType.kInt64))
class TestRefusals(OfGather):
    factory = GatherFactory


@some_key(BatchGatherFactory, (DataType.kFloat, DataType.kInt64))
class TestRefusalsOfBatches(OfGather):
    factory = BatchGatherFactory
    sizes = "batch_dim_size", *OfGather.sizes


@pytest.mark.ep_long
@needs(GatherFactory, DataType.kInt8, DataType.kInt32)
def test_more_than_two_to_the_31_elements(device: DeviceUnderTest) -> None:
    """Test offsets past 2^31: in params, then in out."""
    inner, rows = sized(device, 1 << 20, 1 << 5), (1 << 11) + 3
    large = device.empty(rows * inner, DataType.kInt8)
    primitive = device.require(GatherFactory, "int8", "int32")

    chosen = np.array([rows - 1, 1 << 11, 0, rows], np.int32)
    marks = np.arange(1, inner + 1).astype(np.int8)
    device.write(large[-inner:], marks)
    device.write(large[inner << 11 :][:inner], marks[::-1])
    device.write(large[:inner], marks)
    out = device.empty(4 * inner, DataType.kInt8)
    primitive.Launch(device.stream, 1, rows, inner, large, 4, device.buffer(chosen), out)
    expected = np.stack([marks, marks[::-1], marks, np.zeros_like(marks)])
    np.testing.assert_array_equal(device.array(out, (4, inner)), expected)

    indices = np.arange(rows, dtype=np.int32) % 5
    table = np.arange(5 * inner).astype(np.int8).reshape(5, inner)
    primitive.Launch(device.stream, 1, 5, inner, device.buffer(table), rows, device.buffer(indices), large)
    for row in (0, 1, 2046, 2047, 2048, 2049, rows - 1):
        np.testing.assert_array_equal(device.array(large[row * inner :][:inner]), table[row % 5])
