"""Cast: every pair of types against the slow conversion, in place, sizes above the grain, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import CastFactory
from ep.testing.agreement import assert_same_numbers
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.references.convert import convert
from ep.testing.refusals import Refusals
from ep.testing.refused_arguments import OfTwoCounts
from ep.testing.samples import samples, sized

T = DataType
FLOAT_INT8, INT8_DOUBLE, DOUBLE_HALF = (T.kFloat, T.kInt8), (T.kInt8, T.kDouble), (T.kDouble, T.kBFloat16)
OF_ONE_SIZE = [(T.kInt32, T.kFloat), (T.kFloat, T.kInt32), (T.kDouble, T.kInt64), (T.kFloat16, T.kBFloat16)]
OF_ONE_SIZE += [(T.kUInt8, T.kBool), (T.kUInt64, T.kDouble)]
BOUNDS = [float(2**bits) for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
"""The bounds of integer types."""


def critical(rng: Rng, data_type: DataType, count: int) -> Any:
    """Return samples, and numbers at and near the bounds of the narrower types and the ties of their roundings."""
    dtype = data_type.dtype
    values = samples(rng, data_type, count)
    if dtype.kind == "b":
        return values
    if dtype.kind in "iu":
        near = [sign * 2**k + step for k in range(64) for step in (-1, 0, 1) for sign in (-1, 1)]
        ties = [2**k + 2 ** (k - bits) + step for k in range(24, 63) for bits in (8, 11, 24) for step in (-1, 0, 1)]
        info = np.iinfo(dtype)
        edges = np.array([n for n in (*near, *ties, *(-n for n in ties)) if info.min <= n <= info.max], dtype)
        return np.concatenate([values, edges])
    part = dtype if dtype.kind != "c" else np.dtype(f"f{dtype.itemsize // 2}")
    edges = np.array([0.5, 0.999, 1.5, 65504, 65519.99, 65520, 2.0**-25, 2.0**-134, 3.4028235677973366e38, 1e300])
    edges = np.concatenate(
        [edges, BOUNDS, np.nextafter(BOUNDS, 0), np.nextafter(np.array(BOUNDS, np.float32), np.float32(0))]
    )
    edges = np.concatenate(
        [edges, [1 + 2.0**-bits + step for bits in (8, 11, 24) for step in (-(2.0**-45), 0, 2.0**-45)]]
    )
    with np.errstate(over="ignore"):
        edges = np.concatenate([edges, -edges]).astype(part)
    return np.concatenate([values, edges.astype(dtype)])


def launch(device: DeviceUnderTest, key: FlatKey, src: Array) -> Any:
    src_type, dst_type = key
    dst = device.filled(src.size + 3, dst_type)
    device.require(CastFactory, src_type, dst_type).Launch(device.stream, device.buffer(src), dst, src.size)
    return device.written(dst, src.size)


@every_key(CastFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    src_type, dst_type = key
    src = critical(rng, src_type, sized(device, 1013, 61))
    assert_same_numbers(launch(device, key, src), convert(src, dst_type.dtype))


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 33, 1024, 3193, 5765, 32768, 32769, 200_003])
@some_key(CastFactory, FLOAT_INT8, INT8_DOUBLE, DOUBLE_HALF)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    src_type, dst_type = key
    src = samples(rng, src_type, sized(device, count, min(count, 4099)))
    assert_same_numbers(launch(device, key, src), convert(src, dst_type.dtype))


@pytest.mark.parametrize("count", [1, 33, 100_003])
@some_key(CastFactory, *OF_ONE_SIZE, suits=lambda key: key[0].itemsize == key[1].itemsize)
def test_in_place(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    src_type, dst_type = key
    src = samples(rng, src_type, sized(device, count, min(count, 4099)))
    memory = device.buffer(src)
    device.require(CastFactory, *key).Launch(device.stream, memory, memory.view(dst_type.dtype), src.size)
    assert_same_numbers(device.array(memory).view(dst_type.dtype), convert(src, dst_type.dtype))


@those_keys(CastFactory, (T.kDouble, T.kInt8), (T.kFloat, T.kUInt64), (T.kBFloat16, T.kInt32), (T.kFloat16, T.kUInt8))
def test_what_no_integer_is(device: DeviceUnderTest, key: FlatKey) -> None:
    """Infinities and numbers out of range saturate; NaN gives 0."""
    src_type, dst_type = key
    info = np.iinfo(dst_type.dtype)
    src = np.array([np.inf, -np.inf, np.nan, 65504, -65504, -0.0], src_type.dtype)
    got = launch(device, key, src)
    assert got[:3].tolist() == [info.max, info.min, 0]
    assert got[3:].tolist() == [max(min(int(x), info.max), info.min) for x in src[3:].astype(float)]


@those_keys(CastFactory, (T.kFloat, T.kBool), (T.kDouble, T.kBool), (T.kFloat16, T.kBool), (T.kBFloat16, T.kBool))
def test_to_bool_is_not_by_way_of_an_integer(device: DeviceUnderTest, key: FlatKey) -> None:
    src = np.array([0.0, -0.0, 0.25, -0.25, 6e-8, np.nan, np.inf, 2.0], key[0].dtype)
    assert launch(device, key, src).tolist() == [False, False, True, True, True, True, True, True]


@few_keys(CastFactory)
@few_examples
@given(count=st.integers(0, 150), before=st.integers(0, 3), after=st.integers(0, 3))
def test_any_place(device: DeviceUnderTest, key: FlatKey, count: int, before: Any, after: Any) -> None:
    """Test memory that is aligned only to its elements."""
    src_type, dst_type = key
    src = samples(np.random.default_rng(count), src_type, count) if count else np.empty(0, src_type.dtype)
    source = device.buffer(np.concatenate([np.zeros(before, src_type.dtype), src]))
    memory = device.filled(after + count + 3, dst_type)
    device.require(CastFactory, src_type, dst_type).Launch(device.stream, source[before:], memory[after:], count)
    assert_same_numbers(device.written(memory, count, after), convert(src, dst_type.dtype))


@some_key(CastFactory, FLOAT_INT8, (T.kInt64, T.kFloat))
class TestRefusals(OfTwoCounts):
    factory = CastFactory


@some_key(CastFactory, (T.kFloat, T.kInt32), suits=lambda key: key[0].itemsize == key[1].itemsize)
def test_overlap(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    src_type, dst_type = key
    memory = device.buffer(np.ones(16, src_type.dtype))
    primitive = device.require(CastFactory, *key)
    for src, dst in ((memory[:8], memory[7:15]), (memory[1:9], memory[:8])):
        with refuses.expected(primitive, ValueError, "dst overlaps src"):
            primitive.Launch(device.stream, src, dst.view(dst_type.dtype), 8)
    assert (device.array(memory) == 1).all()


@some_key(CastFactory, FLOAT_INT8, INT8_DOUBLE, suits=lambda key: key[0].itemsize != key[1].itemsize)
def test_elements_of_another_size_in_place(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    src_type, dst_type = key
    memory = device.buffer(np.ones(8 * 16, np.uint8))
    primitive = device.require(CastFactory, *key)
    with refuses.expected(primitive, ValueError, "dst overlaps src"):
        primitive.Launch(device.stream, memory.view(src_type.dtype), memory.view(dst_type.dtype), 8)
    assert (device.array(memory) == 1).all()
