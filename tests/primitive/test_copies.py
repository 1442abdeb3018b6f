"""Copies and pickles of primitives: new primitives of the same request, in this process and in others."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from ep import BinaryOp, DeviceType, UnaryOp
from ep.include import DataType
from ep.include.primitive import (
    BatchGatherFactory,
    BroadcastElementwiseBinaryFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    GatherFactory,
    Key,
)
from ep.testing.device_under_test import DeviceUnderTest
from tests.devices import prepare
from tests.subprocesses import run

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
        for protocol in (2, 5)
    },
}


def launched(device, primitive):
    """Launch a primitive of any kind on a small case, and check it."""
    interface = primitive.request.interface.__name__
    x = np.arange(1, 1 + 20 * 3, dtype=np.float32)
    column = np.arange(20, dtype=np.float32)
    out, rows = device.empty(60, DataType.kFloat), np.array([19, 0, 7], np.int64)
    if interface == "ElementwiseUnary":
        primitive.Launch(device.stream, device.buffer(-x), out, 60)
        expected = np.maximum(-x, -x / 4)
    elif interface == "BroadcastElementwiseBinary":  # rows so short that other plans write out the column
        primitive.Launch(device.stream, (20, 3), device.buffer(x), (20, 1), device.buffer(column), out)
        expected = x.reshape(20, 3) + column[:, None]
    elif interface == "Expand":
        primitive.Launch(device.stream, (20, 1), device.buffer(column), (20, 3), out)
        expected = np.repeat(column, 3)
    else:
        batch = (1,) if interface == "BatchGather" else ()
        primitive.Launch(device.stream, *batch, 1, 20, 3, device.buffer(x), 3, device.buffer(rows), out)
        out, expected = out[:9], x.reshape(20, 3)[rows]
    assert device.array(out).tolist() == expected.reshape(-1).tolist()


def primitives(device):
    return [
        device.require(ElementwiseUnaryFactory, UnaryOp.kLeakyRelu, "float32", "float32", 0.25),
        device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2),
        device.require(ExpandFactory, "float32", 2),
        device.require(GatherFactory, "float32", "int64"),
        device.require(BatchGatherFactory, "float32", "int64"),
    ]


def launched_in_another_process(tag, several, connection=None):
    """Launch the primitives that another process receives, in that process."""
    prepare(tag)
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    for primitive in several:
        launched(device, primitive)
    if connection is not None:
        connection.send("launched")


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_a_primitive_of_its_own(device, way):
    for original in primitives(device):
        for _ in range(2):  # before and after the first launch
            other = WAYS[way](original)
            assert type(other) is type(original)
            assert other is not original
            assert other.request == original.request
            assert repr(other) == repr(original)
            launched(device, original)
        shared = {name for name, value in vars(original).items() if isinstance(value, dict | np.ndarray)}
        assert not any(getattr(original, name) is getattr(other, name) for name in shared), shared
        del original
        launched(device, other)


def test_a_copy_outlives_its_original(device):
    """A plan of short rows holds the addresses of other plans, which are freed with the original."""
    original = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2)
    x, column = np.ones((1000, 3), np.float32), np.arange(1000, dtype=np.float32)
    arguments = (1000, 3), device.buffer(x), (1000, 1), device.buffer(column), device.empty(3000, DataType.kFloat)
    original.Launch(device.stream, *arguments)
    other = copy.deepcopy(original)
    del original
    rubbish = [np.full(64, -1, np.int64) for _ in range(1000)]
    for _ in range(3):
        other.Launch(device.stream, *arguments)
    assert device.array(arguments[-1], (1000, 3)).tolist() == (x + column[:, None]).tolist()
    del rubbish


@pytest.mark.parametrize("is_launched", [False, True])
def test_another_process_launches_what_was_pickled(device, is_launched):
    several = primitives(device)
    if is_launched:
        for primitive in several:
            launched(device, primitive)
    data, tag = pickle.dumps(several), device.type.tag
    run(
        "import pickle\n"
        "from tests.primitive.test_copies import launched_in_another_process\n"
        f"launched_in_another_process({tag!r}, pickle.loads({data!r}))"
    )


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_of_every_start_method(device, method):
    run(
        f"""
import multiprocessing
from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.devices import prepare
from tests.primitive.test_copies import launched, launched_in_another_process, primitives

if __name__ == "__main__":
    prepare({device.type.tag!r})
    device = DeviceUnderTest(DeviceType.FromTag({device.type.tag!r}))
    several = primitives(device)
    launched(device, several[1])
    context = multiprocessing.get_context({method!r})
    ours, theirs = context.Pipe()
    process = context.Process(target=launched_in_another_process, args=({device.type.tag!r}, several, theirs))
    process.start()
    theirs.close()
    assert ours.recv() == "launched"
    process.join()
    assert process.exitcode == 0
"""
    )


def test_what_a_primitive_is_asked_with(device):
    for value in (device.type, DataType.kBFloat16, UnaryOp.kGelu, Key(UnaryOp.kGelu, (DataType.kFloat,))):
        for way in WAYS.values():
            assert way(value) == value


@pytest.mark.parametrize("way", WAYS)
def test_devices_are_themselves_and_streams_and_events_are_not_copied(device, way):
    assert WAYS[way](device.device) is device.device
    assert WAYS[way](device.device.device_manager()) is device.device.device_manager()
    for bound in (device.stream, device.device.CreateEvent()):
        with pytest.raises(TypeError, match=r"<.*> can be neither copied nor pickled: it is bound to its process"):
            WAYS[way](bound)


def test_what_is_made_without_a_request():
    from tests.include.toy import ToyFill

    with pytest.raises(TypeError, match="can be neither copied nor pickled: it was not made of a Request"):
        copy.copy(ToyFill("float32"))
