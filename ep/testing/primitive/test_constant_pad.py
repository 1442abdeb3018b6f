"""ConstantPad: every data type, paddings of both signs, numbers, sizes across threads, and invalid arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import ConstantPadFactory
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key, those_keys
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized


def padded(src: Array, before: Any, after: Any, value: Any) -> Any:
    """Return NumPy's result: padded first, then cropped."""
    dims = tuple(size + max(a, 0) + max(b, 0) for size, a, b in zip(src.shape, before, after, strict=True))
    whole = np.full(dims, value, src.dtype)
    inside = tuple(slice(max(a, 0), max(a, 0) + size) for a, size in zip(before, src.shape, strict=True))
    whole[inside] = src
    ends = zip(before, after, whole.shape, strict=True)
    kept: list[Any] = [slice(max(-a, 0), size - max(-b, 0)) for a, b, size in ends]
    return whole[..., *kept]


def launch(
    device: DeviceUnderTest, data_type: DataType, src: Array, before: Any, after: Any, value: Any, want: Array
) -> None:
    dst = device.filled(want.size + 3, data_type)
    primitive = device.require(ConstantPadFactory, data_type)
    primitive.Launch(device.stream, src.shape, device.buffer(src), before, after, value, dst)
    assert device.written(dst, want.shape).tobytes() == want.tobytes()


def check(device: DeviceUnderTest, rng: Rng, data_type: DataType, dims: Any, before: Any, after: Any) -> None:
    """Check a pad of random bytes, which may be no valid bools or numbers: they are copied as they are."""
    count = math.prod(dims) * data_type.itemsize
    src = rng.integers(0, 256, count, dtype=np.uint8).view(data_type.dtype).reshape(dims)
    value = rng.integers(1, 100, 1).astype(data_type.dtype)[0]
    launch(device, data_type, src, before, after, value, padded(src, before, after, value))


PADDINGS = [
    ((), (), ()),
    ((7,), (2,), (3,)),
    ((4, 4), (1, 2), (3, 1)),
    ((31, 4), (0, 2), (0, 3)),
    ((10, 3), (2, 0), (1, 0)),
    ((7, 9), (-1, -2), (-3, 0)),
    ((6, 8), (-2, 3), (1, -4)),
    ((3, 5), (-4, 0), (5, 0)),
    ((3, 5), (2, -7), (0, 4)),
    ((4, 5, 3, 7), (0, 1, 0, 0), (0, 2, 0, 0)),
    ((2, 3, 5, 4), (0, 0, 1, 2), (0, 0, 2, 1)),
    ((2, 1, 2, 3, 1, 2, 2, 3), (1, 0, 0, -1, 1, 0, 1, 1), (0, 1, 0, 1, 0, 0, -1, 2)),
    ((0, 3), (2, 1), (0, 0)),
    ((3, 0), (0, 0), (1, 0)),
    ((5, 3), (0, -1), (0, -2)),
    ((1, 1), (0, 0), (0, 0)),
]


@pytest.mark.parametrize(("dims", "before", "after"), PADDINGS, ids=str)
@every_key(ConstantPadFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, before: Any, after: Any) -> None:
    check(device, rng, key[0], dims, before, after)


@pytest.mark.parametrize(
    ("dims", "before", "after"),
    [
        ((331, 1009), (3, 5), (1, 2)),
        ((331, 1009), (-3, 5), (1, -2)),
        ((100_003,), (50_021,), (7,)),
        ((100_003,), (-17,), (200_003,)),
        ((60_013, 3), (1, 1), (1, 1)),
        ((3, 5, 131, 157), (0, 0, 1, 1), (0, 0, 1, 1)),
        ((3, 131, 157, 5), (0, 2, 2, 0), (0, 2, 2, 0)),
        ((257, 31, 61), (2, 1, 40), (0, 3, 50)),
        ((1, 1), (301, 701), (11, 13)),
    ],
)
@some_key(ConstantPadFactory, (DataType.kInt8,), (DataType.kFloat,), (DataType.kComplex128,))
def test_across_threads(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, before: Any, after: Any) -> None:
    dims, before, after = (
        tuple(sized(device, size, max(min(size, 37), -37)) for size in part) for part in (dims, before, after)
    )
    check(device, rng, key[0], dims, before, after)


@pytest.mark.parametrize("row", [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 129, 257])
@some_key(ConstantPadFactory, (DataType.kUInt8,), (DataType.kInt16,), (DataType.kDouble,))
def test_every_size_of_a_row_and_of_a_border(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    check(device, rng, key[0], (3, row), (1, 2), (0, 1))
    check(device, rng, key[0], (3, 5), (0, row), (1, 0))


@some_key(ConstantPadFactory, (DataType.kFloat,))
def test_one_shape_and_many_numbers(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test zeros of either sign, and numbers that are equal but not the same."""
    (data_type,) = key
    src = rng.standard_normal((3, 5)).astype(data_type.dtype)
    for value in (0, 0.0, -0.0, False, 1, True, 1.5, np.float32(2), -3, math.inf, math.nan, 0):
        launch(device, data_type, src, (1, 0), (0, 2), value, padded(src, (1, 0), (0, 2), value))


@those_keys(ConstantPadFactory, (DataType.kInt8,))
def test_numbers_that_an_integer_type_cannot_hold(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    (data_type,) = key
    primitive = device.require(ConstantPadFactory, data_type)
    src, dst = device.buffer(np.ones(3, np.int8)), device.filled(4, data_type)
    for value, error in (
        (128, ValueError),
        (1.5, ValueError),
        (math.nan, ValueError),
        (1j, TypeError),
        ("1", TypeError),
    ):
        with refuses.expected(primitive, error, "pad_val"):
            primitive.Launch(device.stream, (3,), src, (1,), (0,), value, dst)
    assert set(device.array(dst).view(np.uint8)) == {0xA5}
    primitive.Launch(device.stream, (3,), src, (1,), (0,), 15.0, dst)
    assert device.array(dst).tolist() == [15, 1, 1, 1]


@st.composite
def paddings(draw: Callable[..., Any]) -> Any:
    axes = []
    for _ in range(draw(st.integers(0, 5))):
        size, before, pads = draw(st.integers(0, 4)), draw(st.integers(-6, 3)), draw(st.booleans())
        after = draw(st.integers(-size - before, max(3, 1 - size - before)))
        axes.append((size, before, after) if pads else (size, 0, 0))
    return tuple(zip(*axes, strict=True)) if axes else ((), (), ())


@every_key(ConstantPadFactory)
@few_examples
@given(padding=paddings())
def test_any_padding(device: DeviceUnderTest, key: FlatKey, padding: Any) -> None:
    check(device, np.random.default_rng(1), *key, *padding)


@some_key(ConstantPadFactory, (DataType.kFloat,))
class TestRefusals(OfAnyLaunch):
    factory, dims, most_dims, numbers = ConstantPadFactory, ("src_dims",), 8, ("pad_val",)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src, paddings = device.buffer(np.ones(6, key[0].dtype)), {"padding_before": (1, -1), "padding_after": (0, 2)}
        return {"src_dims": (2, 3), "src": src, **paddings, "pad_val": 7, "dst": device.filled(12, *key)}

    def test_paddings(self, refused: Refused) -> None:
        refused(ValueError, r"padding_before \(-3, 0\) and padding_after .* leave -1", padding_before=(-3, 0))
        refused(ValueError, "padding_after has 1 numbers for 2 dims", padding_after=(0,))
        refused(TypeError, r"padding_before\[1\] must be an integer", padding_before=(1, 0.5))
        refused(TypeError, "padding_after must be a sequence", padding_after=0)

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(20, key[0].dtype))
        refused(ValueError, "dst overlaps src", src=memory[3:], dst=memory)
