"""Add: every type, any number of operands, in place of any of them, sizes above the grain, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import AddFactory
from ep.testing.agreement import assert_same_numbers
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key, those_keys
from ep.testing.references.add import total
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import samples, sized

T = DataType
FLOAT = (T.kFloat,)
SIZES = [(T.kInt8,), (T.kBFloat16,), FLOAT, (T.kComplex64,), (T.kComplex128,)]


def launch(device: DeviceUnderTest, data_type: DataType, srcs: Any, kind: Any = list) -> Any:
    count = srcs[0].size
    dst = device.filled(count + 3, data_type)
    device.require(AddFactory, data_type).Launch(device.stream, kind(map(device.buffer, srcs)), dst, count)
    return device.written(dst, count)


@pytest.mark.parametrize("num_srcs", [1, 2, 3, 4, 5, 8, 9, 17])
@every_key(AddFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, num_srcs: int) -> None:
    srcs = [samples(rng, key[0], sized(device, 1013, 71)) for _ in range(num_srcs)]
    assert_same_numbers(launch(device, key[0], srcs), total(srcs))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1024, 32769, 100_003])
@some_key(AddFactory, *SIZES)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    count = sized(device, count, min(count, 4099))
    srcs = [samples(rng, key[0], max(count, 1))[:count] for _ in range(3)]
    assert_same_numbers(launch(device, key[0], srcs), total(srcs))


@pytest.mark.parametrize("num_srcs", [6, 7, 10, 15, 16, 18, 33, 100])
@some_key(AddFactory, FLOAT)
def test_any_number_of_operands(device: DeviceUnderTest, rng: Rng, key: FlatKey, num_srcs: int) -> None:
    srcs = [samples(rng, key[0], 37) for _ in range(num_srcs)]
    assert_same_numbers(launch(device, key[0], srcs, kind=tuple), total(srcs))


@pytest.mark.parametrize("num_srcs", [5, 9, 12, 40])
@those_keys(AddFactory, (T.kFloat16,), (T.kBFloat16,))
def test_narrow_floats_are_rounded_once(device: DeviceUnderTest, key: FlatKey, num_srcs: int) -> None:
    """Each term alone is too small to change the first one; their sum does, for any number of terms."""
    (data_type,) = key
    small = data_type.dtype.type(2.0**-9 if data_type is T.kBFloat16 else 2.0**-12)
    srcs = [np.full(300, 1, data_type.dtype), *(np.full(300, small) for _ in range(num_srcs - 1))]
    got, want = launch(device, data_type, srcs), total(srcs)
    assert_same_numbers(got, want)
    assert (got > 1).all()


@pytest.mark.parametrize("num_srcs", range(2, 12))
@those_keys(AddFactory, (T.kFloat,), (T.kDouble,))
def test_the_order_is_from_the_left(device: DeviceUnderTest, key: FlatKey, num_srcs: int) -> None:
    (data_type,) = key
    big = data_type.dtype.type(2.0**60)
    terms = [big, 1, -big, 1, big, -big, 1, 1, -big, big, 3]
    srcs = [np.full(70, term, data_type.dtype) for term in terms[:num_srcs]]
    assert_same_numbers(launch(device, data_type, srcs), total(srcs))


@those_keys(AddFactory, *((t,) for t in (T.kInt8, T.kUInt8, T.kChar, T.kInt16, T.kInt32, T.kInt64, T.kUInt64)))
def test_integers_wrap(device: DeviceUnderTest, key: FlatKey) -> None:
    (data_type,) = key
    info = np.iinfo(data_type.dtype)
    for num_srcs in (2, 9):
        srcs = [np.full(5, info.max, data_type.dtype)] * num_srcs
        want = (num_srcs * int(info.max) - int(info.min)) % 2**info.bits + int(info.min)
        assert launch(device, data_type, srcs).tolist() == [want] * 5


@those_keys(AddFactory, (T.kBool,))
def test_bool_is_or(device: DeviceUnderTest, key: FlatKey) -> None:
    srcs = [np.array(bits) for bits in ([True, True, False, False] * 20, [True, False, True, False] * 20)]
    got = launch(device, key[0], srcs)
    assert set(got.view(np.uint8)) == {0, 1}
    assert got.tolist() == [True, True, True, False] * 20


@pytest.mark.parametrize("num_srcs", [1, 2, 3, 8, 9, 12, 20])
@some_key(AddFactory, FLOAT, (T.kFloat16,), (T.kInt8,))
def test_in_place_of_any(device: DeviceUnderTest, rng: Rng, key: FlatKey, num_srcs: int) -> None:
    (data_type,) = key
    srcs = [samples(rng, data_type, sized(device, 1009, 67)) for _ in range(num_srcs)]
    primitive = device.require(AddFactory, data_type)
    for place in range(num_srcs):
        buffers = [device.buffer(src) for src in srcs]
        primitive.Launch(device.stream, buffers, buffers[place], srcs[0].size)
        assert_same_numbers(device.array(buffers[place]), total(srcs))


@some_key(AddFactory, FLOAT)
def test_one_buffer_many_times(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    values = samples(rng, key[0], 100)
    memory = device.buffer(values)
    device.require(AddFactory, *key).Launch(device.stream, [memory] * 3, memory, 100)
    assert_same_numbers(device.array(memory), total([values] * 3))


@every_key(AddFactory)
@few_examples
@given(count=st.integers(0, 150), offsets=st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_any_places(device: DeviceUnderTest, key: FlatKey, count: int, offsets: Any) -> None:
    """Test memory that is aligned only to its elements."""
    (data_type,), random = key, np.random.default_rng(count)
    wholes = [samples(random, data_type, offset + count + 1) for offset in offsets]
    memory = device.filled(offsets[0] + count + 3, data_type)
    srcs = [device.buffer(whole)[offset:] for whole, offset in zip(wholes, offsets, strict=True)]
    device.require(AddFactory, data_type).Launch(device.stream, srcs, memory[offsets[0] :], count)
    want = total([whole[offset : offset + count] for whole, offset in zip(wholes, offsets, strict=True)])
    assert_same_numbers(device.written(memory, count, offsets[0]), want)


@some_key(AddFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, sizes = AddFactory, ("count",)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        srcs = [device.buffer(np.ones(8, key[0].dtype)) for _ in range(3)]
        return {"srcs": srcs, "dst": device.filled(8, *key), "count": 8}

    def test_srcs(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        one, short = (device.buffer(np.ones(count, key[0].dtype)) for count in (8, 7))
        nothing: Any
        for nothing in ([], ()):
            refused(ValueError, "srcs is empty; at least one buffer is needed", srcs=nothing)
        for wrong in (one, None):
            refused(TypeError, "srcs must be a sequence of buffers", srcs=wrong)
        refused(TypeError, r"srcs\[1\] must be", srcs=[one, None])
        refused(ValueError, r"srcs\[2\] has 7 elements; at least 8", srcs=(one, one, short))
        refused(ValueError, r"srcs\[30\] has 7 elements", srcs=[*[one] * 30, short])

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory, one = (device.buffer(np.ones(count, key[0].dtype)) for count in (20, 8))
        refused(ValueError, r"dst overlaps srcs\[1\]", srcs=[one, memory[4:12]], dst=memory[:8])
        refused(ValueError, r"dst overlaps srcs\[0\]", srcs=[memory[:8]], dst=memory[1:9])
