"""Memcpy: every kind, every length, elements of any type, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.include import DataType
from ep.include.primitive import MemcpyFactory, MemcpyKind
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, needs, those_keys
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized


def side(device: DeviceUnderTest, on_device: Any, array: Array) -> Any:
    """Return a buffer with a copy of `array`, on the device or on the host."""
    return device.buffer(array) if on_device else array.copy()


def contents(device: DeviceUnderTest, buffer: Any) -> Any:
    return buffer if isinstance(buffer, np.ndarray) else device.array(buffer)


SIDES = {
    MemcpyKind.kHtoD: [(True, False)],
    MemcpyKind.kDtoH: [(False, True)],
    MemcpyKind.kDtoD: [(True, True)],
    MemcpyKind.kAuto: [(True, False), (False, True), (True, True)],
}
"""Whether dst and src are on the device, for each kind."""
LENGTHS = [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 4095, 4097, 8191, 8192, 100_003]


@pytest.mark.parametrize("count", [*LENGTHS, 4 << 20])
@every_key(MemcpyFactory)
def test_every_kind_and_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    (kind,) = key
    count = sized(device, count, min(count, 4097))
    primitive = device.require(MemcpyFactory, kind)
    for to_device, from_device in SIDES[kind]:
        values = rng.integers(0, 256, count + 5, dtype=np.uint8)
        dst = side(device, to_device, np.full(count + 9, 0xA5, np.uint8))
        src = side(device, from_device, values)
        primitive.Launch(device.stream, dst[3:], src[1:], count)
        device.stream.Sync()
        result = contents(device, dst)
        assert result[3 : 3 + count].tobytes() == values[1 : 1 + count].tobytes()
        assert set(np.concatenate([result[:3], result[3 + count :]])) == {0xA5}, "bytes around dst were written"


@pytest.mark.parametrize("data_type", DataType, ids=lambda data_type: data_type.name)
@needs(MemcpyFactory, MemcpyKind.kDtoD)
def test_elements_of_any_type(device: DeviceUnderTest, rng: Rng, data_type: DataType) -> None:
    """The types of the two sides may differ, and a count need not be a multiple of the element size."""
    values = rng.integers(0, 256, 48, dtype=np.uint8)
    dst = device.filled(40 // data_type.itemsize, data_type)
    device.require(MemcpyFactory, MemcpyKind.kDtoD).Launch(
        device.stream, dst, device.buffer(values.view(np.int16)), 29 if data_type.itemsize < 16 else 32
    )
    result = device.array(dst).view(np.uint8)
    count = 29 if data_type.itemsize < 16 else 32
    assert result[:count].tobytes() == values[:count].tobytes()
    assert set(result[count:]) <= {0xA5}


@needs(MemcpyFactory, MemcpyKind.kDtoD)
def test_memory_onto_itself_is_no_work(device: DeviceUnderTest, rng: Rng) -> None:
    values = rng.integers(0, 256, 1000, dtype=np.uint8)
    memory = device.buffer(values)
    device.require(MemcpyFactory, MemcpyKind.kDtoD).Launch(device.stream, memory, memory, 1000)
    assert device.array(memory).tobytes() == values.tobytes()


@those_keys(MemcpyFactory, (MemcpyKind.kDtoD,))
class TestRefusals(OfAnyLaunch):
    factory, sizes, unit = MemcpyFactory, ("count",), "bytes"

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src = device.buffer(np.ones(20, np.uint8))
        return {"dst": device.filled(20, DataType.kUInt8), "src": src, "count": 20}

    def test_elements_of_other_types(self, device: DeviceUnderTest, refused: Refused) -> None:
        refused(ValueError, "src has 16 bytes; at least 20", src=device.buffer(np.ones(4, np.float32)))
        refused(ValueError, "dst has 8 bytes; at least 20", dst=device.filled(1, DataType.kDouble))

    def test_overlap(self, device: DeviceUnderTest, refused: Refused) -> None:
        memory = device.buffer(np.ones(30, np.uint8))
        refused(ValueError, "dst overlaps src", src=memory[3:], dst=memory)
