"""OneHot: every pair of types, every shape, shards of the classes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import OneHotFactory
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.references.one_hot import one_hot
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized

T = DataType
FLOAT = (T.kInt64, T.kFloat)
SIZES = [(T.kInt32, T.kInt8), (T.kUInt8, T.kFloat16), FLOAT, (T.kInt16, T.kComplex64), (T.kUInt64, T.kComplex128)]


def launch(
    device: DeviceUnderTest, key: FlatKey, indices: Array, lower: Any, upper: Any, on: Any = 1, off: Any = 0
) -> Any:
    dims = indices.size, upper - lower
    out = device.filled(dims[0] * dims[1] + 3, key[1])
    device.require(OneHotFactory, *key).Launch(
        device.stream, device.buffer(indices), out, on, off, indices.size, lower, upper
    )
    return device.written(out, dims)


def check(
    device: DeviceUnderTest, key: FlatKey, indices: Array, lower: Any, upper: Any, on: Any = 1, off: Any = 0
) -> None:
    got = launch(device, key, indices, lower, upper, on, off)
    assert got.tobytes() == one_hot(indices, lower, upper, on, off, key[1].dtype).tobytes()


def indices_of(rng: Rng, indices_type: DataType, count: int, lower: Any, upper: Any) -> Any:
    """Return indices of the classes and of those next to them, as far as the type can hold them."""
    info = np.iinfo(indices_type.dtype)
    return rng.integers(max(lower - 3, info.min), min(upper + 3, info.max + 1), count).astype(indices_type.dtype)


@every_key(OneHotFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    indices = indices_of(rng, key[0], 53, 0, 11)
    check(device, key, indices, 0, 11)
    check(device, key, indices, 3, 8, on=True, off=1 if key[1] is not T.kBool else False)


@pytest.mark.parametrize("depth", [*range(1, 10), 15, 16, 17, 31, 63, 64, 65, 255, 257, 1000, 1024, 4099])
@some_key(OneHotFactory, *SIZES)
def test_every_depth(device: DeviceUnderTest, rng: Rng, key: FlatKey, depth: int) -> None:
    check(device, key, indices_of(rng, key[0], 9, 0, depth), 0, depth, on=3, off=2)


@pytest.mark.parametrize(("count", "depth"), [(100_003, 1), (50_021, 3), (2003, 101), (37, 10_007), (1, 200_003)])
@some_key(OneHotFactory, FLOAT, (T.kInt32, T.kInt8))
def test_across_the_grain(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int, depth: int) -> None:
    count, depth = (sized(device, size, min(size, 67)) for size in (count, depth))
    check(device, key, indices_of(rng, key[0], count, 0, depth), 0, depth)


@some_key(OneHotFactory, FLOAT)
def test_shards_of_the_classes_are_the_whole(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Each rank has its classes; an index of another rank gives a row of off_value."""
    indices = indices_of(rng, key[0], 101, 0, 30)
    whole = launch(device, key, indices, 0, 30, on=5, off=-1)
    parts = [launch(device, key, indices, low, high, on=5, off=-1) for low, high in ((0, 7), (7, 8), (8, 8), (8, 30))]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


@those_keys(OneHotFactory, *((t, T.kFloat) for t in (T.kInt8, T.kUInt8, T.kInt32, T.kUInt32, T.kInt64, T.kUInt64)))
def test_indices_at_the_ends_of_their_type(device: DeviceUnderTest, key: FlatKey) -> None:
    """No index wraps, or is mistaken for another one with the same low bits."""
    info = np.iinfo(key[0].dtype)
    indices = np.array([info.min, info.max, 0, 1, info.max - 1, info.max // 2 + 1], key[0].dtype)
    for lower, upper in ((-5, 3), (-1, 0), (0, 3), (2**31 - 1, 2**31 + 2), (2**61, 2**61 + 3), (-(2**62), 4 - 2**62)):
        check(device, key, indices, lower, upper)
    for lower in (int(info.max) - 2, int(info.min)):
        if abs(lower) < 2**61:
            check(device, key, indices, lower, lower + 5)


@some_key(OneHotFactory, FLOAT)
@pytest.mark.parametrize(("count", "upper"), [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_write(device: DeviceUnderTest, key: FlatKey, count: int, upper: Any) -> None:
    assert launch(device, key, np.zeros(count, key[0].dtype), 0, upper).size == 0


@some_key(OneHotFactory, FLOAT)
def test_numbers(device: DeviceUnderTest, key: FlatKey) -> None:
    """Test numbers in turn that are equal but not the same."""
    indices = np.array([0], key[0].dtype)
    for on, off in ((1, 0), (1.0, -0.0), (np.float32(2), True), (float("inf"), -0.0), (0.5, 0)):
        got = launch(device, key, indices, 0, 2, on, off)
        assert got.tobytes() == np.array([on, off], key[1].dtype).tobytes()
    got = launch(device, key, indices, 0, 2, float("nan"), 1)
    assert np.isnan(got[0, 0])
    assert got[0, 1] == 1


@few_keys(OneHotFactory)
@few_examples
@given(count=st.integers(0, 40), lower=st.integers(-9, 9), depth=st.integers(0, 40))
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, count: int, lower: Any, depth: int) -> None:
    check(
        device,
        key,
        indices_of(np.random.default_rng(count), key[0], count, max(lower, 0), lower + depth + 10),
        lower,
        lower + depth,
    )


@some_key(OneHotFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, output, sizes, numbers = OneHotFactory, "out", ("num_indices",), ("on_value", "off_value")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        operands = {"indices": device.buffer(np.zeros(2, key[0].dtype)), "out": device.filled(6, key[1])}
        numbers = {"on_value": 1, "off_value": 0, "num_indices": 2, "lower_bound": 0, "upper_bound": 3}
        return {**operands, **numbers}

    def test_bounds(self, refused: Refused) -> None:
        refused(ValueError, "upper_bound is -1; it must not be below lower_bound 0", upper_bound=-1)
        refused(TypeError, "lower_bound must be an integer, not 0.0", lower_bound=0.0)
        refused(TypeError, "upper_bound must be an integer, not None", upper_bound=None)
        refused(
            ValueError, r"lower_bound is .*; it must be within 2\*\*62 of 0", lower_bound=2**70, upper_bound=2**70 + 3
        )
        refused(ValueError, r"upper_bound is .*; it must be within 2\*\*62 of 0", upper_bound=2**63)
        refused(ValueError, "out has 6 elements; at least 8", upper_bound=4)

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.filled(16, T.kFloat)
        refused(ValueError, "out overlaps indices", indices=memory[:4].view(key[0].dtype), out=memory[2:8])
