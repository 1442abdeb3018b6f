"""`ep show`: the contract, the attributes, and the data types in words."""

import inspect
import math

import pytest

from ep.cli.names import INTERFACES, factory_of
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive import (
    GatherFactory,
    Key,
    Memcpy,
    MemcpyFactory,
    MemcpyKind,
    register_primitive_factory,
    registered,
)
from ep.include.primitive import (
    implemented as factories_on,
)
from tests.include.conftest import toy as toy


@pytest.mark.parametrize("name", INTERFACES)
def test_contract_of_every_interface(ep, name):
    done = ep("show", name)
    interface = INTERFACES[name]
    assert (done.code, done.err) == (0, "")
    for documented in (interface, interface.Launch, factory_of(interface).New):
        for line in inspect.getdoc(documented).splitlines():
            assert line in done.out
    implemented = factory_of(interface) in factories_on(DeviceType.kCPU)
    assert (f"No device implements {interface.__name__} yet" in done.out) is not implemented
    assert (f"{interface.__name__} on cpu" in done.out) is implemented
    assert ("NewPrimitive returns None" in done.out) is not implemented


def test_signatures(ep):
    out = ep("show", "gather").out
    assert "NewPrimitive(GatherFactory, device_type, params_type, indices_type)" in out
    assert "Launch(stream, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out" in out
    assert "offset=0)" in out
    assert "NewPrimitive(MemsetFactory, device_type)" in ep("show", "memset").out


def test_attributes(ep):
    lines = [" ".join(line.split()) for line in ep("show", "ElementwiseUnary").out.splitlines()]
    assert "kElu alpha = 1" in lines
    assert "kSoftPlus beta = 1 threshold = 20" in lines
    assert "kThreshold threshold = (required) value = (required)" in lines


GROUPS = {"all 16 types": 16, "8 integer types": 8, "4 floating types": 4, "2 complex types": 2, "bool": 1, "char": 1}


def support(out, title):
    """Return the table under `title` as {op: data types}."""
    heading, *lines = out.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()
    start = heading.index("ops")
    return {op: line[:start].strip() for line in lines for op in line[start:].split(", ")}


def number_of_keys(types):
    return math.prod(sum(GROUPS[name] for name in side.split(", ")) for side in types.split(" -> "))


@pytest.mark.parametrize("name", ["ElementwiseUnary", "BroadcastElementwiseBinary"])
def test_support(ep, name):
    types = support(ep("show", name).out, f"{name} on cpu and cuda")
    for op, words in types.items():
        entries = [entry for entry in registered(DeviceType.kCPU) if entry.op and entry.op.name == op]
        entries = [entry for entry in entries if entry.interface is INTERFACES[name]]
        assert number_of_keys(words) == len(entries), op
    ops = {entry.op.name for entry in registered(DeviceType.kCPU) if entry.interface is INTERFACES[name]}
    assert set(types) == ops


def test_support_in_words(ep):
    out = ep("show", "ElementwiseUnary").out
    types = support(out, "ElementwiseUnary on cpu and cuda")
    assert types["kRelu"] == "bool, char, 8 integer types, 4 floating types"
    assert types["kIsNan"] == "8 integer types, 4 floating types -> bool"
    assert types["kReal"] == "2 complex types -> 4 floating types"
    assert "\n4 floating types  kFloat16 kBFloat16 kFloat kDouble\n" in out


def test_support_without_ops(ep):
    out = ep("show", "Gather").out
    assert "\nGather on cpu and cuda\nparams_type by indices_type\nall 16 types by 8 integer types\n" in out


def test_devices_that_differ(ep, toy):
    class ToyGatherFactory(GatherFactory):
        keys = (Key(None, (DataType.kFloat, DataType.kInt32)), Key(None, (DataType.kDouble, DataType.kInt64)))

        def Make(self, request):
            raise AssertionError("never made")

    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    out = ep("show", "Gather").out
    assert "\nGather on cpu and cuda\n" in out
    assert "\nGather on toy\nparams_type by indices_type\nkFloat by kInt32; kDouble by kInt64\n" in out


def test_keys_without_data_types(ep, toy: DeviceType):
    @register_primitive_factory(toy, MemcpyFactory)
    class ToyMemcpyFactory(MemcpyFactory):
        keys = (Key(MemcpyKind.kHtoD, ()), Key(MemcpyKind.kDtoH, ()))

        def Make(self, request: object) -> Memcpy:
            raise NotImplementedError

    assert "\nMemcpy on toy\nops\nkHtoD, kDtoH\n" in ep("show", "memcpy").out
    assert [row["dtypes"] for row in ep("list", "--device", "toy", "--format", "json").json()] == [[], []]
    assert "kDtoH" in ep("list", "--device", "toy").out
