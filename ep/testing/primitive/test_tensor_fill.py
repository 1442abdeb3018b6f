"""TensorFill: every type, every length, any place, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import TensorFillFactory
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import samples, sized

T = DataType
FLOAT = (T.kFloat,)
SIZES = [(T.kInt8,), (T.kFloat16,), FLOAT, (T.kComplex64,), (T.kComplex128,)]


def launch(device: DeviceUnderTest, key: FlatKey, element: Any, count: int) -> Any:
    (data_type,) = key
    dst = device.filled(count + 3, data_type)
    device.require(TensorFillFactory, data_type).Launch(device.stream, device.buffer(element), dst, count)
    return device.written(dst, count)


@every_key(TensorFillFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Each element is copied bit by bit, also if it is not a valid number."""
    (data_type,) = key
    nan = np.frombuffer(bytes([0xFF, 0x7F] * 8), np.uint8)[: data_type.itemsize].view(data_type.dtype)
    for element in [*samples(rng, data_type, 11).reshape(11, 1), *([nan] if data_type.dtype.kind != "b" else [])]:
        assert launch(device, key, element, 7).tobytes() == 7 * element.tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 257, 32768, 32769, 200_003])
@some_key(TensorFillFactory, *SIZES)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    count = sized(device, count, min(count, 4099))
    element = np.frombuffer(bytes(range(1, 17)), np.uint8)[: key[0].itemsize].view(key[0].dtype)
    assert launch(device, key, element, count).tobytes() == count * element.tobytes()


@some_key(TensorFillFactory, FLOAT)
def test_the_element_is_read_when_the_work_is_done(device: DeviceUnderTest, key: FlatKey) -> None:
    """Launch several times with one buffer, whose element changes between launches."""
    src, dst = device.buffer(np.ones(1, key[0].dtype)), device.filled(9, *key)
    primitive = device.require(TensorFillFactory, *key)
    for number in (1, 2, 3):
        device.write(src, np.full(1, number, key[0].dtype))
        primitive.Launch(device.stream, src, dst, 9)
        assert (device.array(dst) == number).all()


@some_key(TensorFillFactory, FLOAT)
def test_only_one_element_is_read(device: DeviceUnderTest, key: FlatKey) -> None:
    src = device.buffer(np.arange(5).astype(key[0].dtype))
    dst = device.filled(9, *key)
    device.require(TensorFillFactory, *key).Launch(device.stream, src[3:], dst, 9)
    assert (device.array(dst) == 3).all()


@every_key(TensorFillFactory)
@few_examples
@given(count=st.integers(0, 300), before=st.integers(0, 17))
def test_any_place(device: DeviceUnderTest, key: FlatKey, count: int, before: Any) -> None:
    """Test memory that is aligned only to its elements."""
    (data_type,) = key
    element = samples(np.random.default_rng(count), data_type, 8)[:1]
    memory = device.filled(before + count + 5, data_type)
    primitive = device.require(TensorFillFactory, data_type)
    primitive.Launch(device.stream, device.buffer(element), memory[before:], count)
    assert device.written(memory, count, before).tobytes() == count * element.tobytes()


@some_key(TensorFillFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, sizes = TensorFillFactory, ("count",)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return {"src": device.buffer(np.ones(1, key[0].dtype)), "dst": device.filled(8, *key), "count": 8}

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(12, key[0].dtype))
        refused(ValueError, "dst overlaps src", src=memory[3:], dst=memory[:8])
        refused(ValueError, "dst (overlaps|is the memory of) src", src=memory, dst=memory)
