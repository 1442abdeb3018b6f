"""Commands on a device with a few primitives: they run these, and name the missing ones."""

import numpy as np
import pytest

from ep.bench.cases import bench_cases
from ep.cli import bench, demo
from ep.cpu.device.device import CpuDevice
from ep.cpu.device_manager import CpuDeviceManager
from ep.include import DataType, DeviceManagerRegistry
from ep.include.primitive import (
    ElementwiseUnary,
    ElementwiseUnaryFactory,
    Factory,
    Key,
    Primitive,
    Request,
    UnaryOp,
    register_primitive_factory,
)
from tests.include.conftest import toy as toy

FLOAT = DataType.kFloat


@pytest.fixture
def device_type(toy, monkeypatch):
    """A device type on the host's memory, with one device and no primitives."""

    class Device(CpuDevice):
        def device_type(self):
            return toy

    class Manager(CpuDeviceManager):
        def device_type(self):
            return toy

        def GetDevice(self, device_index):
            return Device(self)

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(demo, "_SECONDS", 0.0)
    monkeypatch.setattr(demo, "demo_cases", lambda: bench_cases(2**12))
    return toy


class Reverse(Primitive):
    """The device's own contract, which no case computes."""

    def Launch(self, stream, src, dst, count):
        raise AssertionError("never launched")


class ReverseFactory(Factory[Reverse]):
    primitive = Reverse

    def New(self):
        return self.Select(Request(Reverse, None, ()))


def add_reverse(device_type):
    @register_primitive_factory(device_type, ReverseFactory)
    class ToyReverseFactory(ReverseFactory):
        keys = (Key(None, ()),)

        def Make(self, request):
            return Reverse(request)


def add_relu(device_type, launch):
    class ToyUnary(ElementwiseUnary):
        def Launch(self, stream, src, dst, count):
            launch(src, dst)

    @register_primitive_factory(device_type, ElementwiseUnaryFactory)
    class ToyUnaryFactory(ElementwiseUnaryFactory):
        keys = (Key(UnaryOp.kRelu, (FLOAT, FLOAT)),)

        def Make(self, request):
            return ToyUnary(request)


def relu(src, dst):
    np.maximum(src, 0, out=dst)


def broken(src, dst):
    raise RuntimeError("the toy\nbroke")


COMMANDS = (["demo"], ["bench", "--size", "small"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_without_any_case(ep, device_type, command):
    """If it is the only device, this is a failure; otherwise it is named."""
    add_reverse(device_type)
    done = ep(*command, "--device", "toy")
    assert done.code == 1
    assert done.err == f"ep {command[0]}: error: nothing was run: toy:0 has Reverse; no case here covers it\n"
    assert "agree." not in done.out
    done = ep(*command)
    assert done.code == 0
    assert "toy:0 has Reverse; no case here covers it" in done.out + done.err
    assert done.out.count("  ok\n") >= 8


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_without_primitives(ep, device_type, command):
    done = ep(*command, "--device", "toy")
    assert (done.code, done.err) == (1, f"ep {command[0]}: error: nothing was run: toy:0 has no primitives\n")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_with_some_cases(ep, device_type, command):
    add_relu(device_type, relu)
    add_reverse(device_type)
    done = ep(*command, "--device", "toy")
    assert done.code == 0
    rows = [line for line in done.out.splitlines() if line.endswith("  ok")]
    assert len(rows) == 1
    assert "relu" in rows[0]
    said = " ".join((done.out + done.err).split())
    assert "toy:0 has no primitives for Gather (rows of 64, rows of 1,024, single elements), BatchGather" in said
    assert "ElementwiseUnary (exp, fast_gelu)" in said
    assert "; and Reverse, which no case here covers" in said


def test_bench_without_a_copy(ep, device_type):
    """A copy needs kIdentity, which a device may lack."""
    add_relu(device_type, relu)
    done = ep("bench", "--size", "small", "--device", "toy")
    assert done.out.splitlines()[0].endswith("; it has no copy to compare with")
    assert done.out.splitlines()[2].split()[-2:] == ["-", "ok"]
    report = ep("bench", "--size", "small", "--device", "toy", "--format", "json").json()
    (device,) = report["devices"]
    assert device["copy_gb_per_s"] is None
    assert [row["share_of_copy"] for row in device["cases"]] == [None]
    assert {"primitive": "ElementwiseUnary", "case": "exp"} in device["left_out"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_that_fails(ep, device_type, command):
    """The other devices' results are printed, and the failure is one line."""
    add_relu(device_type, broken)
    done = ep(*command)
    assert done.code == 1
    assert "ElementwiseUnary (relu): RuntimeError: the toy broke\n" in done.out + done.err
    assert "All results agree" not in done.out
    assert done.out.count("  ok\n") >= 8


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_that_cannot_be_made(ep, toy, device_type, monkeypatch, command):
    def fail(self, device_index):
        raise OSError("no power")

    monkeypatch.setattr(type(DeviceManagerRegistry.GetDeviceManager(toy)), "GetDevice", fail)
    done = ep(*command)
    assert done.code == 0
    assert "ep: note: toy is left out: OSError: no power\n" in done.err
    assert "no OSError: no power" in " ".join(ep("devices").out.split())


def test_doctor(ep, device_type):
    add_reverse(device_type)
    done = ep("doctor")
    assert done.code == 0
    row = "toy:0 computes toy:0 has Reverse; no case here covers it"
    assert row in [" ".join(line.split()) for line in done.out.splitlines()]
    add_relu(device_type, relu)
    done = ep("doctor")
    assert done.code == 0
    found = " ".join(done.out.split())
    assert "toy:0 computes pass ElementwiseUnary agrees with NumPy (" in found
    assert "; no case here fits Reverse" in found


def test_no_device_at_all(ep, monkeypatch):
    monkeypatch.setattr("ep.cli.present.device_types", lambda: [])
    for command in COMMANDS:
        done = ep(*command)
        assert done.code == 1
        assert done.err == (f"ep {command[0]}: error: nothing was run, for there is no device; 'ep devices' says why\n")
