"""Permute: every data type, every kind of permutation, sizes across blocks and threads, and invalid arguments."""

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
from ep.include.primitive import PermuteFactory
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized

SIZES = [
    (data_type,)
    for data_type in (DataType.kUInt8, DataType.kInt16, DataType.kFloat, DataType.kDouble, DataType.kComplex128)
]


def bytes_of(rng: Rng, data_type: DataType, dims: Any) -> Any:
    """Return an array of random bytes, which may be no valid bools or numbers: they are copied as they are."""
    count = math.prod(dims) * data_type.itemsize
    return rng.integers(0, 256, count, dtype=np.uint8).view(data_type.dtype).reshape(dims)


def launch(device: DeviceUnderTest, data_type: DataType, src: Array, permutation: Dims, primitive: Any = None) -> Any:
    dst = device.filled(src.size + 3, data_type)
    primitive = primitive or device.require(PermuteFactory, 8)
    primitive.Launch(device.stream, data_type, src.shape, device.buffer(src), permutation, dst)
    return device.written(dst, src.size)


def check(device: DeviceUnderTest, rng: Rng, data_type: DataType, dims: Any, permutation: Dims) -> None:
    src = bytes_of(rng, data_type, dims)
    assert launch(device, data_type, src, permutation).tobytes() == src.transpose(permutation).tobytes()


SHAPES = [
    ((), ()),
    ((7,), (0,)),
    ((2, 3), (1, 0)),
    ((31, 4), (1, 0)),
    ((37, 41), (1, 0)),
    ((2, 3, 9), (0, 2, 1)),
    ((7, 9, 4), (1, 2, 0)),
    ((10, 3, 2), (1, 0, 2)),
    ((8, 2, 5), (2, 1, 0)),
    ((1, 2, 2, 1, 2), (0, 1, 3, 4, 2)),
    ((5, 6, 7, 8), (2, 3, 0, 1)),
    ((2, 3, 2, 1, 3, 2, 2, 3), (7, 2, 5, 0, 3, 6, 1, 4)),
    ((0, 3), (1, 0)),
    ((3, 5, 0), (2, 0, 1)),
]


@pytest.mark.parametrize(("dims", "permutation"), SHAPES, ids=str)
@every_key(PermuteFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, permutation: Dims) -> None:
    check(device, rng, key[0], dims, permutation)


@pytest.mark.parametrize(
    ("dims", "permutation"),
    [
        ((331, 1009), (1, 0)),
        ((1031, 67), (1, 0)),
        ((67, 1031), (1, 0)),
        ((256, 512), (1, 0)),
        ((3, 50_021), (1, 0)),
        ((50_021, 3), (1, 0)),
        ((50_021, 5), (1, 0)),
        ((5, 50_021), (1, 0)),
        ((3, 197, 13, 64), (0, 2, 1, 3)),
        ((3, 197, 13, 64), (0, 2, 3, 1)),
        ((5, 131, 157, 3), (0, 3, 1, 2)),
        ((5, 3, 131, 157), (0, 2, 3, 1)),
        ((257, 31, 61), (2, 1, 0)),
        ((3001, 4, 5), (0, 2, 1)),
    ],
    ids=str,
)
@some_key(PermuteFactory, *SIZES)
def test_across_blocks_and_threads(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, permutation: Dims
) -> None:
    dims = tuple(sized(device, size, min(size, 37 if len(dims) == 2 else 9)) for size in dims)
    check(device, rng, key[0], dims, permutation)


@some_key(PermuteFactory, (DataType.kUInt8,), (DataType.kFloat,))
def test_large_enough_to_pass_by_the_caches(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    side = sized(device, 3301, 65)
    check(device, rng, key[0], (side, side - 2), (1, 0))


EXTENTS = [*range(1, 20), 31, 32, 33, 47, 63, 64, 65, 127, 129, 255, 257]


@pytest.mark.parametrize("width", EXTENTS)
@some_key(PermuteFactory, *SIZES)
def test_every_size_of_a_block(device: DeviceUnderTest, rng: Rng, key: FlatKey, width: int) -> None:
    """Test each side of a block in turn, next to sizes below, at and above those of a vector and a tile."""
    for length in (2, 3, 4, 5, 15, 33, sized(device, 131, 17)):
        check(device, rng, key[0], (length, width), (1, 0))
        check(device, rng, key[0], (2, width, length), (0, 2, 1))


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
@some_key(PermuteFactory, (DataType.kInt16,))
def test_every_order_of_four_axes(device: DeviceUnderTest, rng: Rng, key: FlatKey, order: Any) -> None:
    """Test all orders, also those that are not their own inverse."""
    check(device, rng, key[0], (2, 3, 4, 5), order)
    check(device, rng, key[0], (17, 3, 2, 19), order)


@some_key(PermuteFactory, (DataType.kUInt8,), (DataType.kFloat,))
def test_memory_that_is_not_aligned(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test buffers that begin at any element, and rows of any length."""
    (data_type,) = key
    primitive = device.require(PermuteFactory, 3)
    for begin, dims in ((1, (5, 33)), (3, (33, 5)), (5, (sized(device, 70, 18), 67)), (7, (16, 16))):
        src = bytes_of(rng, data_type, (math.prod(dims) + 8,))
        count = math.prod(dims)
        of, to = device.buffer(src), device.filled(count + 16, data_type)
        primitive.Launch(device.stream, data_type, dims, of[begin:], (1, 0), to[begin + 1 :])
        want = src[begin : begin + count].reshape(dims).T
        assert device.written(to, count, begin + 1).tobytes() == want.tobytes()


@some_key(PermuteFactory, (DataType.kFloat,))
def test_one_primitive_for_all_data_types(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    primitive = device.require(PermuteFactory, 2)
    for _ in range(2):
        for name in ("float32", "int8", np.float64, np.dtype("float32"), DataType.kInt8, "complex64"):
            data_type = name if isinstance(name, DataType) else DataType[_NAMES[np.dtype(name).name]]
            src = bytes_of(rng, data_type, (3, 5))
            dst = device.empty(15, data_type)
            primitive.Launch(device.stream, name, (3, 5), device.buffer(src), (1, 0), dst)
            assert device.array(dst).tobytes() == src.T.tobytes()


_NAMES = {"float32": "kFloat", "int8": "kInt8", "float64": "kDouble", "complex64": "kComplex64"}


@st.composite
def permutations(draw: Callable[..., Any]) -> Any:
    dims = draw(st.lists(st.one_of(st.integers(1, 5), st.sampled_from([0, 16, 17])), max_size=8))
    while math.prod(dims) > 20_000:
        dims.pop()
    return tuple(dims), tuple(draw(st.permutations(range(len(dims)))))


@every_key(PermuteFactory)
@few_examples
@given(permutation=permutations())
def test_any_permutation(device: DeviceUnderTest, key: FlatKey, permutation: Any) -> None:
    (data_type,), (dims, axes) = key, permutation
    count = math.prod(dims) * data_type.itemsize
    src = np.arange(count, dtype=np.uint32).astype(np.uint8).view(data_type.dtype).reshape(dims)
    assert launch(device, data_type, src, axes).tobytes() == src.transpose(axes).tobytes()


@some_key(PermuteFactory, (DataType.kFloat,))
class TestRefusals(OfAnyLaunch):
    dims = ("src_dims",)

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest) -> Any:
        return device.require(PermuteFactory, 3)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src, dst = device.buffer(np.ones(6, key[0].dtype)), device.filled(6, *key)
        return {"data_type": key[0], "src_dims": (2, 3), "src": src, "permutation": (1, 0), "dst": dst}

    def test_what_is_no_permutation(self, refused: Refused) -> None:
        refused(ValueError, r"permutation \(0, 0\) must have each of 0 to 1 once", permutation=(0, 0))
        refused(ValueError, r"permutation \(0, 2\) must have", permutation=(0, 2))
        refused(ValueError, r"permutation\[1\] is -1", permutation=(0, -1))
        refused(ValueError, "permutation has 3 numbers for 2 dims", permutation=(0, 1, 2))
        refused(TypeError, r"permutation\[0\] must be an integer", permutation=(1.0, 0))
        refused(TypeError, "permutation must be a sequence", permutation=None)

    def test_data_type(self, refused: Refused) -> None:
        refused(ValueError, "data_type is 'float33'", data_type="float33")
        refused(TypeError, "data_type is float", data_type=float)

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(12, key[0].dtype))
        refused(ValueError, "dst overlaps src", src=memory[3:9], dst=memory[:6])
        refused(ValueError, "dst is the memory of src", src=memory[:6], dst=memory[:6])
