"""Add on the CPU: the types that its sequence of operands may have, and when the sequence is read."""

from collections import UserList, namedtuple

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import AddFactory


@pytest.fixture
def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


class Memory(np.ndarray):
    """An array of another class."""


@pytest.mark.parametrize("kind", [list, tuple, namedtuple("pair", "a b")._make, UserList])
def test_sequences(stream, kind):
    add = RequirePrimitive(AddFactory, DeviceType.kCPU, "float32")
    a, b, dst = np.arange(9, dtype=np.float32), np.full(9, 2, np.float32), np.empty(9, np.float32)
    for _ in range(2):  # at the first launch and at a later one
        dst[:] = 0
        add.Launch(stream, kind([a, b]), dst, 9)
        assert dst.tolist() == (a + b).tolist()


def test_arrays_of_other_classes(stream):
    add = RequirePrimitive(AddFactory, DeviceType.kCPU, "float32")
    a, b = np.arange(9, dtype=np.float32), np.full(9, 2, np.float32)
    dst = np.empty(9, np.float32).view(Memory)
    for srcs in ([a, b.view(Memory)], [a.view(Memory), b], [a, b]):
        dst[:] = 0
        add.Launch(stream, srcs, dst, 9)
        assert dst.tolist() == (a + b).tolist()


def test_the_list_is_left_as_it_is(stream):
    add = RequirePrimitive(AddFactory, DeviceType.kCPU, "float32")
    srcs = [np.ones(3, np.float32), np.ones(3, np.float32).view(Memory)]
    before = list(srcs)
    add.Launch(stream, srcs, np.empty(3, np.float32), 3)
    assert all(a is b for a, b in zip(srcs, before, strict=True))
