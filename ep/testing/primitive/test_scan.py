"""Scan: every key, rows and columns, sizes across threads and blocks, special values, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import ScanFactory, ScanOp
from ep.testing.arrays import Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.references.scan import scan
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized
from ep.testing.scans import check, draw, launch

T = DataType
SUM, PRODUCT = (ScanOp.kSum, T.kFloat), (ScanOp.kProd, T.kDouble)
SOME = [SUM, (ScanOp.kSumToEnd, T.kBFloat16), (ScanOp.kSum, T.kInt8), (ScanOp.kProdToEnd, T.kComplex64)]


@every_key(ScanFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for shape in ((3, 19, 1), (2, 7, 11), (2, 5, 3)):
        check(device, key, draw(rng, key, shape))


@pytest.mark.parametrize("size", [*range(1, 10), 15, 17, 31, 33, 64, 1023, 1025, 4099])
@some_key(ScanFactory, *SOME)
def test_every_size(device: DeviceUnderTest, rng: Rng, key: FlatKey, size: int) -> None:
    for shape in ((1, size, 1), (3, size, 2), (1, 3, size)):
        check(device, key, draw(rng, key, shape))


@pytest.mark.parametrize(
    "shape",
    [(1, 400_009, 1), (5, 100_003, 1), (20_011, 31, 1), (1, 1009, 311), (1, 50_021, 9), (101, 67, 30), (3, 7, 20_011)],
    ids=str,
)
@some_key(ScanFactory, *SOME)
def test_across_threads_and_blocks(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims) -> None:
    shape = tuple(sized(device, size, min(size, 4200 if shape[2] == 1 and shape[0] == 1 else 73)) for size in shape)
    check(device, key, draw(rng, key, shape))


@some_key(ScanFactory, *SOME)
def test_in_place(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for shape in ((1, sized(device, 100_003, 4501), 1), (3, 11, 37)):
        check(device, key, draw(rng, key, shape), in_place=True)


@some_key(ScanFactory, SUM, (ScanOp.kSumToEnd, T.kDouble))
def test_the_same_bits_in_every_run(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    src = draw(rng, key, (1, sized(device, 700_001, 5001), 1))
    first = launch(device, key, src)
    assert all(launch(device, key, src).tobytes() == first.tobytes() for _ in range(sized(device, 5, 1)))


@those_keys(ScanFactory, *((op, t) for op in ScanOp for t in (T.kFloat16, T.kFloat, T.kDouble)))
def test_special_values(device: DeviceUnderTest, key: FlatKey) -> None:
    """NaN and infinity reach the results after them alone, 0 makes products 0, and -0 stays -0."""
    op, data_type = key
    inf, nan = np.inf, np.nan
    rows = [1, inf, 2, 3, 5], [1, -inf, 2, inf, 5], [1, 2, nan, 3, 4, 5], [-0.0], [-0.0, -0.0, 0, -0.0], [3, 0, 2, 0]
    for row in rows:
        src = np.array(row * 3, data_type.dtype).reshape(1, -1, 1)
        got, want = launch(device, key, src).astype(np.float64), scan(op, src).astype(np.float64)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@those_keys(ScanFactory, *((op, t) for op in (ScanOp.kProd, ScanOp.kProdToEnd) for t in (T.kFloat16, T.kDouble)))
def test_nothing_overflows_after_0(device: DeviceUnderTest, key: FlatKey) -> None:
    """Each element is multiplied by the product of those before it, and not by products of others."""
    most = 65504 if key[1] is T.kFloat16 else np.finfo(np.float64).max
    src = np.full((1, sized(device, 50_003, 5003), 1), most, key[1].dtype)
    src[0, 0 if key[0] is ScanOp.kProd else -1] = 0
    assert not launch(device, key, src).any()


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)], ids=str)
@some_key(ScanFactory, SUM)
def test_nothing_to_write(device: DeviceUnderTest, key: FlatKey, shape: Dims) -> None:
    assert launch(device, key, np.zeros(shape, key[1].dtype)).size == 0


@few_keys(ScanFactory)
@few_examples
@given(shape=st.tuples(st.integers(1, 4), st.integers(1, 70), st.integers(1, 20)))
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, shape: Dims) -> None:
    check(device, key, draw(np.random.default_rng(shape), key, shape))


@some_key(ScanFactory, SUM)
class TestRefusals(OfAnyLaunch):
    factory, sizes = ScanFactory, ("outer_dim_size", "scan_dim_size", "inner_dim_size")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src, dst = device.buffer(np.ones(6, key[1].dtype)), device.filled(6, key[1])
        return {**dict(zip(self.sizes, (2, 3, 1), strict=True)), "src": src, "dst": dst}

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.filled(16, key[1])
        refused(ValueError, "dst overlaps src", src=memory[:6], dst=memory[2:8])
