"""Where: every pair of types, every kind of broadcast of three operands, numbers, in place, and invalid arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import WhereFactory
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import samples, sized

T = DataType
FLOAT = (T.kBool, T.kFloat)
SIZES = [(T.kBool, T.kInt8), (T.kInt32, T.kFloat16), FLOAT, (T.kInt64, T.kDouble), (T.kInt16, T.kComplex128)]

SHAPES = [
    ((), (), ()),
    ((), (3, 5), (5,)),
    ((3, 5), (), ()),
    ((3, 1), (1, 5), (3, 5)),
    ((4, 8), (4, 8), (4, 8)),
    ((4, 1), (1, 8), (1, 8)),
    ((1, 8), (4, 8), (1,)),
    ((1, 6), (2, 6), (2, 1)),
    ((3, 7), (3, 1), (1, 7)),
    ((1, 4, 8), (4, 1, 8), (1, 1, 8)),
    ((1, 4, 8), (4, 4, 8), (1,)),
    ((2, 1, 4, 8), (1, 3, 4, 1), (4, 8)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2, 1, 5), (2, 2, 3, 3, 2, 2, 3, 5)),
    ((0, 3), (1, 3), (3,)),
    ((1, 1), (4, 0), ()),
]


def conditions(rng: Rng, cond_type: DataType, dims: Any) -> Any:
    """Return zeros and other numbers: the smallest ones, and those whose low byte is 0."""
    dtype = cond_type.dtype
    choices = [0, 1] if dtype.kind == "b" else [0, 0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min]
    choices += [256] * (dtype.itemsize > 1) + [2**32] * (dtype.itemsize > 4)
    return np.array(choices, dtype)[rng.integers(0, len(choices), dims)]


def random(rng: Rng, key: FlatKey, dims: Any) -> Any:
    """Return the operands of a launch."""
    cond_type, data_type = key
    x, y = (samples(rng, data_type, max(math.prod(each), 1))[: math.prod(each)].reshape(each) for each in dims[1:])
    return conditions(rng, cond_type, dims[0]), x, y


def launch(device: DeviceUnderTest, key: FlatKey, cond: Array, x: Array, y: Array) -> Any:
    data_type, dims = key[1], np.broadcast_shapes(cond.shape, x.shape, y.shape)
    z = device.filled(math.prod(dims) + 3, data_type)
    given = [part for operand in (cond, x, y) for part in (operand.shape, device.buffer(operand))]
    device.require(WhereFactory, *key, 8).Launch(device.stream, *given, z)
    return device.written(z, dims)


def check(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any) -> None:
    cond, x, y = random(rng, key, dims)
    assert launch(device, key, cond, x, y).tobytes() == np.where(cond != 0, x, y).tobytes()


@every_key(WhereFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    count = sized(device, 331, 31)
    check(device, rng, key, [(count,)] * 3)
    check(device, rng, key, [(3, 1), (1, 5), (3, 5)])


@pytest.mark.parametrize("dims", SHAPES, ids=str)
@some_key(WhereFactory, *SIZES)
def test_every_kind_of_broadcast(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any) -> None:
    check(device, rng, key, dims)


@pytest.mark.parametrize("kinds", [*itertools.product(["all", "row", "column", "one"], repeat=3)], ids="-".join)
@some_key(WhereFactory, FLOAT, (T.kInt64, T.kInt8))
def test_rows_columns_and_single_elements(device: DeviceUnderTest, rng: Rng, key: FlatKey, kinds: Any) -> None:
    dims = {"all": (37, 61), "row": (61,), "column": (37, 1), "one": ()}
    check(device, rng, key, [dims[kind] for kind in kinds])


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 31, 33, 1023, 1024, 1025, 32769, 200_003])
@some_key(WhereFactory, *SIZES)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    check(device, rng, key, [(sized(device, count, min(count, 4099)),)] * 3)


@pytest.mark.parametrize(
    "dims",
    [
        ((1009, 1), (1, 211), (1009, 211)),
        ((1009, 211), (), (211,)),
        ((61, 1, 67, 1), (1, 53, 1, 71), (53, 67, 71)),
        ((100_003, 1), (100_003, 3), (3,)),
    ],
    ids=str,
)
@some_key(WhereFactory, FLOAT)
def test_across_the_grain(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any) -> None:
    check(device, rng, key, [tuple(sized(device, size, min(size, 11)) for size in each) for each in dims])


@those_keys(WhereFactory, FLOAT, (T.kBool, T.kFloat16), (T.kBool, T.kComplex64), (T.kBool, T.kDouble))
def test_bytes_are_moved_as_they_are(device: DeviceUnderTest, key: FlatKey) -> None:
    """Every NaN keeps its bits."""
    data_type = key[1]
    nans = np.full(16 * data_type.itemsize, 0xFF, np.uint8).view(data_type.dtype)
    bits = nans.view(f"u{min(data_type.itemsize, 4) if data_type.dtype.kind == 'c' else data_type.itemsize}")
    bits ^= (np.arange(bits.size) % 3).astype(bits.dtype)
    got = launch(device, key, np.arange(16) % 2 == 0, nans, nans[::-1].copy())
    assert got.tobytes() == np.where(np.arange(16) % 2 == 0, nans, nans[::-1]).tobytes()


@some_key(WhereFactory, FLOAT, (T.kInt32, T.kInt8), (T.kUInt8, T.kComplex64))
def test_plain_numbers(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    data_type = key[1]
    cond, x, _ = random(rng, key, [(5, 3), (3,), ()])
    primitive = device.require(WhereFactory, *key, 2)
    for number in (2, 3.0, np.float32(4), True, 2):
        z = device.filled(15, data_type)
        primitive.Launch(device.stream, (5, 3), device.buffer(cond), (3,), device.buffer(x), (), number, z)
        want = np.where(cond != 0, x, np.array(number).astype(data_type.dtype))
        assert device.array(z, (5, 3)).tobytes() == want.astype(data_type.dtype).tobytes()
    for number in (1, 0, 1.0, True):
        z = device.filled(3, data_type)
        primitive.Launch(device.stream, (), number, (3,), device.buffer(x), (), 7, z)
        assert device.array(z).tobytes() == (x if number else np.full(3, 7, data_type.dtype)).tobytes()
    z = device.filled(1, data_type)
    primitive.Launch(device.stream, (), 0, (), 1, (), 7, z)
    assert device.array(z).tolist() == [7]


@some_key(WhereFactory, (T.kInt32, T.kFloat), suits=lambda key: key[0].itemsize == key[1].itemsize)
@pytest.mark.parametrize("place", ["cond", "x", "y"])
@pytest.mark.parametrize("dims", [(7,), (100, 331)], ids=str)
def test_in_place(device: DeviceUnderTest, rng: Rng, key: FlatKey, place: Any, dims: Any) -> None:
    cond, x, y = random(rng, key, [tuple(sized(device, size, min(size, 40)) for size in dims)] * 3)
    buffers = {"cond": device.buffer(cond), "x": device.buffer(x), "y": device.buffer(y)}
    z = buffers[place].view(key[1].dtype)
    given = [part for buffer in buffers.values() for part in (cond.shape, buffer)]
    device.require(WhereFactory, *key, 2).Launch(device.stream, *given, z)
    assert device.array(z).tobytes() == np.where(cond != 0, x, y).tobytes()


@some_key(WhereFactory, FLOAT)
def test_in_place_of_one_beside_broadcast_ones(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    cond, x, y = random(rng, key, [(40, 1), (31,), (40, 31)])
    z = device.buffer(y)
    given = (40, 1), device.buffer(cond), (31,), device.buffer(x), (40, 31), z
    device.require(WhereFactory, *key, 2).Launch(device.stream, *given, z)
    assert device.array(z, (40, 31)).tobytes() == np.where(cond != 0, x, y).tobytes()


@st.composite
def broadcasts(draw: Callable[..., Any]) -> Any:
    dims = draw(st.lists(st.integers(0, 4), max_size=8))
    operands = []
    for _ in range(3):
        kept = dims[draw(st.integers(0, len(dims))) :]
        operands.append(tuple(draw(st.sampled_from([1, size])) for size in kept))
    return operands


@few_keys(WhereFactory)
@few_examples
@given(dims=broadcasts(), seed=st.integers(0, 2**32))
def test_any_dims(device: DeviceUnderTest, key: FlatKey, dims: Any, seed: int) -> None:
    check(device, np.random.default_rng(seed), key, dims)


@some_key(WhereFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, more, output, dims = WhereFactory, (3,), "z", ("cond_dims", "x_dims", "y_dims")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        cond, x, y = (device.buffer(np.ones(n, t.dtype)) for n, t in ((2, key[0]), (6, key[1]), (3, key[1])))
        given = {"cond_dims": (2, 1), "cond": cond, "x_dims": (2, 3), "x": x, "y_dims": (3,), "y": y}
        return {**given, "z": device.filled(6, key[1])}

    def test_dims(self, refused: Refused) -> None:
        refused(ValueError, r"y_dims \(4,\) do not broadcast at axis -1", y_dims=(4,))
        refused(ValueError, r"^cond_dims \(3, 1\), .* do not broadcast at axis -2", cond_dims=(3, 1))

    def test_numbers(self, refused: Refused) -> None:
        refused(ValueError, "y is 1e\\+300, which float32 cannot hold", y_dims=(), y=1e300)
        refused(TypeError, "x is the complex number 1j", x_dims=(), x=1j)
        refused(TypeError, "y must be", y_dims=(), y="1")
        for name in ("cond", "x", "y"):
            refused(TypeError, f"{name} must be", **{name: 1})

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(20, key[1].dtype))
        refused(ValueError, "z overlaps x", x=memory[:6], z=memory[1:7])
        refused(ValueError, "z overlaps y", y=memory[3:6], z=memory[:6])
