"""Fill: every key, the conversion of the number, every length, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.include import DataType
from ep.include.primitive import FillFactory
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, some_key, those_keys
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import samples, sized

FLOAT = (DataType.kFloat,)


def launch(device: DeviceUnderTest, key: FlatKey, value: Any, count: int) -> Any:
    (data_type,) = key
    dst = device.filled(count + 3, data_type)
    device.require(FillFactory, data_type).Launch(device.stream, dst, value, count)
    return device.written(dst, count)


@every_key(FillFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Numbers of the type itself, as Python and as NumPy numbers, are stored bit by bit."""
    (data_type,) = key
    for element in samples(rng, data_type, 11):
        want = np.full(7, element, data_type.dtype)
        got = launch(device, key, element, 7)
        assert got.tobytes() == want.tobytes(), element  # for NumPy, NaNs of bfloat16 are not equal
        if data_type is not DataType.kBFloat16:  # item() of a bfloat16 returns it unchanged
            np.testing.assert_array_equal(launch(device, key, element.item(), 7), want)


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 33, 32768, 32769, 100_003])
@some_key(FillFactory, FLOAT, (DataType.kInt8,), (DataType.kComplex128,))
def test_every_length(device: DeviceUnderTest, key: FlatKey, count: int) -> None:
    count = sized(device, count, min(count, 4099))
    got = launch(device, key, 1, count)
    assert got.size == count
    assert (got == 1).all()


@some_key(FillFactory, FLOAT)
def test_a_part_of_a_buffer(device: DeviceUnderTest, key: FlatKey) -> None:
    (data_type,) = key
    memory = device.filled(40, data_type)
    device.require(FillFactory, data_type).Launch(device.stream, memory[3:], 1, 7)
    assert (device.written(memory, 7, 3) == 1).all()


@some_key(FillFactory, (DataType.kDouble,), FLOAT)
def test_zeros_of_either_sign(device: DeviceUnderTest, key: FlatKey) -> None:
    """Test one primitive with numbers in turn that are equal but not the same."""
    if key[0].dtype.kind == "f":
        for number in (0.0, -0.0, 0, np.float32(-0.0), False):
            assert set(np.copysign(1.0, launch(device, key, number, 3))) == {np.copysign(1.0, number)}
    assert (launch(device, key, 0, 3) == 0).all()


NUMBERS = [
    (DataType.kFloat, np.float64(0.1), np.float32(0.1)),
    (DataType.kFloat, float("-inf"), -np.inf),
    (DataType.kFloat, True, 1),
    (DataType.kInt8, 15.0, 15),
    (DataType.kInt8, np.int64(-128), -128),
    (DataType.kUInt8, True, 1),
    (DataType.kInt32, np.float32(-2.0), -2),
    (DataType.kInt64, 2**63 - 1, 2**63 - 1),
    (DataType.kBool, 0.5, True),
    (DataType.kBool, float("nan"), True),
    (DataType.kUInt64, 2**64 - 1, np.uint64(2**64 - 1)),
    (DataType.kFloat16, 1 + 2**-11 + 2**-40, 1 + 2**-10),
    (DataType.kBFloat16, 1 + 2**-8 + 2**-40, 1 + 2**-7),
    (DataType.kComplex64, 2, 2),
    (DataType.kComplex128, 2j, 2j),
]
"""Types, numbers, and the elements that they become."""

NOT_HELD = [
    (DataType.kFloat, 1e300),
    (DataType.kFloat, -(10**400)),
    (DataType.kFloat16, 65520),
    (DataType.kBFloat16, np.float64(3.4e38)),
    (DataType.kInt8, 128),
    (DataType.kInt8, 0.5),
    (DataType.kUInt8, -1),
    (DataType.kInt32, float("nan")),
    (DataType.kInt64, 2.0**63),
    (DataType.kUInt64, float("inf")),
    (DataType.kComplex64, 1e300j),
]
"""Types, and numbers that they cannot hold."""


@those_keys(FillFactory, *((t,) for t in dict.fromkeys(data_type for data_type, _, _ in NUMBERS)))
def test_numbers_of_another_type(device: DeviceUnderTest, key: FlatKey) -> None:
    for number, element in [pair for data_type, *pair in NUMBERS if (data_type,) == key]:
        want = np.full(5, np.array(element).astype(key[0].dtype))
        np.testing.assert_array_equal(launch(device, key, number, 5), want, err_msg=repr(number))


@those_keys(FillFactory, *((t,) for t in dict.fromkeys(data_type for data_type, _ in NOT_HELD)))
def test_numbers_that_the_type_cannot_hold(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    (data_type,) = key
    primitive, dst = device.require(FillFactory, *key), device.filled(8, data_type)
    for number in [number for of_type, number in NOT_HELD if of_type is data_type]:
        with refuses.expected(primitive, ValueError, f"value is .*, which {data_type.dtype} cannot hold"):
            primitive.Launch(device.stream, dst, number, 8)
    assert set(device.array(dst).view(np.uint8)) == {0xA5}


@some_key(FillFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, sizes = FillFactory, ("count",)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return {"dst": device.filled(8, *key), "value": 1, "count": 8}

    def test_value(self, refused: Refused) -> None:
        for wrong in ("1", None, [1]):
            refused(TypeError, "value must be a number", value=wrong)


@some_key(FillFactory, FLOAT, suits=lambda key: key[0].dtype.kind != "c")
def test_complex_numbers_for_real_elements(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    dst = device.filled(8, *key)
    primitive = device.require(FillFactory, *key)
    with refuses.expected(primitive, TypeError, "value is the complex number"):
        primitive.Launch(device.stream, dst, 2j, 8)
    assert set(device.array(dst).view(np.uint8)) == {0xA5}
