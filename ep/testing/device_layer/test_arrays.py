"""The arrays that operators of `ep.ops` compute with: views, and memory that is given for results."""

from typing import Any

import numpy as np
import pytest

from ep import DeviceManagerRegistry
from ep.include import DataType
from ep.include.primitive import FillFactory
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import needs


@pytest.fixture
def arrays(device: DeviceUnderTest) -> Any:
    """The Arrays of the device."""
    found = DeviceManagerRegistry.GetDeviceManager(device.type).arrays()
    if found is None:
        pytest.skip(f"{device} has no arrays of operators")
    return found.on(0)


@needs(FillFactory, DataType.kFloat)
def test_an_array_in_another_shape_is_the_same_memory(device: DeviceUnderTest, arrays: Any) -> None:
    """Plans reshape memory before it is written."""
    x = arrays.copy_from_host(np.zeros((2, 3), np.float32))
    turned = x.reshape((3, 2))
    device.require(FillFactory, DataType.kFloat).Launch(arrays.stream, arrays.as_buffer(x, "x"), 5, 6)
    np.testing.assert_array_equal(arrays.copy_to_host(turned), np.full((3, 2), 5))


@needs(FillFactory, DataType.kFloat)
def test_an_array_that_is_given_for_a_result_is_written(device: DeviceUnderTest, arrays: Any) -> None:
    """Fused functions write to `out`."""
    x, dtype = arrays.copy_from_host(np.zeros((2, 3), np.float32)), np.dtype(np.float32)
    device.require(FillFactory, DataType.kFloat).Launch(arrays.stream, arrays.target((2, 3), dtype, x), 5, 6)
    np.testing.assert_array_equal(arrays.copy_to_host(x), np.full((2, 3), 5))
    with pytest.raises(ValueError, match="out"):
        arrays.target((3, 2), dtype, x)
