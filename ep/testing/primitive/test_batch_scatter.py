"""BatchScatter: every key, the order of rows, indices out of range, what is left as it is, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive import BatchScatterFactory, ScatterOp
from ep.testing import segments
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, needs, some_key
from ep.testing.references.scatter import scatter
from ep.testing.references.segment_sum import rows_of_segments
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfRows
from ep.testing.samples import samples, sized

SOME = [
    (ScatterOp.kUpdate, DataType.kFloat, DataType.kInt64),
    (ScatterOp.kUpdate, DataType.kComplex128, DataType.kUInt8),
    (ScatterOp.kAdd, DataType.kFloat, DataType.kInt64),
    (ScatterOp.kAdd, DataType.kFloat16, DataType.kInt32),
    (ScatterOp.kMul, DataType.kDouble, DataType.kInt16),
    (ScatterOp.kMax, DataType.kBFloat16, DataType.kInt64),
    (ScatterOp.kMin, DataType.kUInt8, DataType.kUInt16),
]
BATCH = 3


def drawn(rng: Rng, op: Any, data_type: DataType, shape: Dims) -> Any:
    """Return numbers whose sums depend on their order, and whose products stay in range."""
    if op is not ScatterOp.kMul or data_type.dtype.kind in "biu":
        return samples(rng, data_type, int(np.prod(shape))).reshape(shape)
    if data_type.dtype.kind == "c":
        return rng.choice([1, -1, 1j, -1j], shape).astype(data_type.dtype)
    return (rng.uniform(0.7, 1.4, shape) * rng.choice([1, -1], shape)).astype(data_type.dtype)


def launch(device: DeviceUnderTest, key: FlatKey, out: Any, updates: Array, indices: Array, offset: int = 0) -> Any:
    """Return what becomes of out."""
    batch, outer, places, inner = out.shape
    buffer = device.guarded(out)
    device.require(BatchScatterFactory, *key).Launch(
        device.stream, batch, outer, places, inner, device.buffer(updates), indices.shape[1], device.buffer(indices),
        buffer, offset,
    )  # fmt: skip
    return device.written(buffer, out.shape)


def are_same(got: Array, want: Array) -> Any:
    """Return whether elements are equal, or NaN both."""
    return (got == want) | ((got != got) & (want != want))


def compare(device: DeviceUnderTest, key: FlatKey, out: Any, updates: Array, indices: Array, offset: int = 0) -> None:
    """Check every bit, but those of a NaN: rows are combined in one of few orders."""
    op, data_type, _ = key
    got, want = launch(device, key, out, updates, indices, offset), scatter(op, out, updates, indices, offset)
    if op is ScatterOp.kUpdate:
        assert got.tobytes() == want.tobytes()
        return
    named = np.zeros(out.shape, bool)
    rows = rows_of_segments(indices, out.shape[2], offset)
    for b, target in rows:
        named[b, :, target] = True
    assert got[~named].tobytes() == out[~named].tobytes(), "rows that no index names were written"
    if data_type.dtype.kind not in "biu" and any(len(item) > 64 for item in rows.values()):
        for part_rows in (64, 128, 256, 512):  # a device may choose one of them for each place
            other = scatter(op, out, updates, indices, offset, part_rows)
            want = np.where(np.all(are_same(got, other), axis=(1, 3), keepdims=True), other, want)
    differ = np.argwhere(~are_same(got, want))
    assert not len(differ), f"{len(differ)} elements differ, first {differ[0]}"


def check(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims, number: int, offset: int = 0) -> None:
    """Launch, and compare. shape: batch, outer, places, inner."""
    op, data_type, indices_type = key
    batch, outer, places, inner = shape
    indices = segments.draw_ids(rng, indices_type, (batch, number), places, offset)
    out, updates = (drawn(rng, op, data_type, (batch, outer, size, inner)) for size in (places, number))
    compare(device, key, out, updates, indices, offset)


@every_key(BatchScatterFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    check(device, rng, key, (BATCH, 2, 29, 3), 41, offset=2)


@pytest.mark.parametrize("inner", [1, 2, 3, 4, 8, 16, 17, 33, 100, 1025])
@some_key(BatchScatterFactory, *SOME)
def test_sizes_of_rows(device: DeviceUnderTest, rng: Rng, key: FlatKey, inner: int) -> None:
    check(device, rng, key, (2, 1, 11, inner), 23)


@pytest.mark.parametrize(("shape", "number"), segments.LARGE, ids=str)
@some_key(BatchScatterFactory, *SOME)
def test_across_threads(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims, number: int) -> None:
    check(
        device, rng, key, (1, *(sized(device, size, min(size, 67)) for size in shape)),
        sized(device, min(number, 4000), min(number, 67)),
    )  # fmt: skip


@pytest.mark.parametrize("batch", [1, 3])
@some_key(BatchScatterFactory, *SOME)
def test_many_rows_of_one_place(device: DeviceUnderTest, rng: Rng, key: FlatKey, batch: int) -> None:
    """More than 64 rows, all of one place, or of two that take turns."""
    number = sized(device, 601, 150)
    op, data_type, indices_type = key
    for indices in (np.full(number, 1), np.arange(number) % 2):
        out, updates = (drawn(rng, op, data_type, (batch, 1, size, 3)) for size in (3, number))
        compare(device, key, out, updates, np.repeat(indices[None], batch, 0).astype(indices_type.dtype))


@needs(BatchScatterFactory, ScatterOp.kUpdate, DataType.kInt32, DataType.kInt64)
def test_the_last_row_stays(device: DeviceUnderTest) -> None:
    key, number = (ScatterOp.kUpdate, DataType.kInt32, DataType.kInt64), sized(device, 100_003, 503)
    updates, indices = np.arange(number, dtype=np.int32).reshape(1, 1, -1, 1), np.arange(number)[None] * 7 % 10
    got = launch(device, key, np.zeros((1, 1, 10, 1), np.int32), updates, indices)
    assert got.reshape(-1).tolist() == [
        max(i for i in range(number - 20, number) if i * 7 % 10 == s) for s in range(10)
    ]


@pytest.mark.parametrize("offset", [0, 1, 100, -3, 2**62, -(2**62)])
@some_key(BatchScatterFactory, *((ScatterOp.kAdd, DataType.kFloat, t) for t in INTEGERS))
def test_extreme_indices_and_offsets(device: DeviceUnderTest, key: FlatKey, offset: int) -> None:
    """Nothing wraps around: the least and the largest index of every type, with the least and largest offset."""
    info = np.iinfo(key[2].dtype)
    near = [offset - 1, offset, offset + 2, offset + 3]
    listed = [info.min, info.max, 0, *(each for each in near if info.min <= each <= info.max)]
    indices = np.array([listed], key[2].dtype)
    updates = np.arange(1, indices.size + 1).astype(key[1].dtype).reshape(1, 1, -1, 1)
    compare(device, key, np.ones((1, 1, 3, 1), key[1].dtype), updates, indices, offset)


@pytest.mark.parametrize("empty", ["batch", "outer", "places", "inner", "indices"])
@some_key(BatchScatterFactory, SOME[0], SOME[3])
def test_zero_sizes(device: DeviceUnderTest, rng: Rng, key: FlatKey, empty: Any) -> None:
    sizes = {"batch": BATCH, "outer": 3, "places": 5, "inner": 4, "indices": 6} | {empty: 0}
    *shape, number = sizes.values()
    check(device, rng, key, tuple(shape), number)


@some_key(BatchScatterFactory, *SOME)
def test_memory_that_is_not_aligned(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    op, data_type, indices_type = key
    out, updates = (drawn(rng, op, data_type, (1, 2, size, 13)) for size in (7, 19))
    indices = segments.draw_ids(rng, indices_type, (1, 19), 7, 0)
    want = scatter(op, out, updates, indices, 0)
    for begin in (1, 3):
        shifted = [device.buffer(np.concatenate([item.reshape(-1)[:begin], item.reshape(-1)])) for item in
                   (updates, indices, out)]  # fmt: skip
        first, second, third = (item[begin:] for item in shifted)
        device.require(BatchScatterFactory, *key).Launch(device.stream, 1, 2, 7, 13, first, 19, second, third)
        assert are_same(device.array(shifted[2])[begin:].reshape(out.shape), want).all()


@some_key(BatchScatterFactory, (ScatterOp.kAdd, DataType.kFloat, DataType.kInt16))
@given(
    sizes=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 7), st.integers(0, 6)),
    number=st.integers(0, 30),
    offset=st.integers(-3, 3),
)
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, sizes: Any, number: int, offset: int) -> None:
    check(device, np.random.default_rng(number), key, sizes, number, offset)


@some_key(BatchScatterFactory, SOME[0], SOME[2])
class TestRefusals(OfRows):
    factory = BatchScatterFactory
    sizes = "batch_dim_size", "outer_dim_size", "scatter_dim_size", "inner_dim_size", "num_indices"

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        _, data_type, indices_type = key
        updates, indices = device.filled(40, data_type), device.buffer(np.zeros(5, indices_type.dtype))
        sizes = dict(zip(self.sizes, (1, 2, 3, 4, 5), strict=True))
        return {**sizes, "updates": updates, "indices": indices, "out": device.filled(24, data_type)}

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(80, key[1].dtype))
        refused(ValueError, "out overlaps updates", updates=memory[:40], out=memory[39:63])
