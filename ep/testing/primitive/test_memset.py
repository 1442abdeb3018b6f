"""Memset: every value, every length, elements of any type, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.include import DataType
from ep.include.primitive import MemsetFactory
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, needs_one_of
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized

LENGTHS = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 129, 4095, 4097, 100_003, 1 << 20]


@pytest.mark.parametrize("count", LENGTHS)
@needs_one_of(MemsetFactory)
def test_every_length(device: DeviceUnderTest, count: int) -> None:
    """Set a megabyte to 0x55, then to 0; the bytes around it stay unchanged."""
    count = sized(device, count, min(count, 4097))
    memory = device.filled(count + 9, DataType.kUInt8)
    primitive = device.require(MemsetFactory)
    for value in (0x55, 0):
        primitive.Launch(device.stream, memory[3:], value, count)
        assert set(device.written(memory, count, 3)) <= {value}


@every_key(MemsetFactory)
def test_every_value(device: DeviceUnderTest, key: FlatKey) -> None:
    memory = device.empty(17, DataType.kUInt8)
    primitive = device.require(MemsetFactory, *key)
    for value in [*range(256), np.uint8(7), True]:
        primitive.Launch(device.stream, memory, value, 17)
        assert device.array(memory).tolist() == [int(value)] * 17


@pytest.mark.parametrize("data_type", DataType, ids=lambda data_type: data_type.name)
@needs_one_of(MemsetFactory)
def test_elements_of_any_type(device: DeviceUnderTest, data_type: DataType) -> None:
    dst = device.filled(48 // data_type.itemsize, data_type)
    device.require(MemsetFactory).Launch(device.stream, dst, 1, 29)
    result = device.array(dst).view(np.uint8)
    assert (result[:29] == 1).all()
    assert set(result[29:]) == {0xA5}


@every_key(MemsetFactory)
class TestRefusals(OfAnyLaunch):
    factory, sizes, unit = MemsetFactory, ("count",), "bytes"

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return {"dst": device.filled(20, DataType.kUInt8), "value": 7, "count": 20}

    def test_values(self, device: DeviceUnderTest, refused: Refused) -> None:
        for wrong in (256, -1):
            refused(ValueError, f"value is {wrong}; a byte is from 0 to 255", value=wrong)
        refused(TypeError, "value must be an integer", value=7.0)
        refused(ValueError, "dst has 16 bytes; at least 20", dst=device.filled(4, DataType.kFloat))
