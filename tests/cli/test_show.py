"""`ep show`: the contract, the attributes, and the matrix of data types."""

import inspect

import pytest

from ep.cli.names import INTERFACES, factory_of
from ep.include.device_type import DeviceType
from ep.include.primitive import Key, Memcpy, MemcpyFactory, MemcpyKind, register_primitive_factory, registered
from tests.include.conftest import toy as toy


@pytest.mark.parametrize("name", INTERFACES)
def test_contract_of_every_interface(ep, name):
    done = ep("show", name)
    interface = INTERFACES[name]
    assert (done.code, done.err) == (0, "")
    for documented in (interface, interface.Launch, factory_of(interface).New):
        for line in inspect.getdoc(documented).splitlines():
            assert line in done.out
    implemented = any(entry.interface is interface for entry in registered())
    assert (f"No device implements {interface.__name__} yet" in done.out) is not implemented
    assert (f"{interface.__name__} on cpu" in done.out) is implemented


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


def matrix(out, title):
    """The matrix under `title` as {row: {data type: mark}}."""
    lines = out.partition(title)[2].partition("\n\n")[0].splitlines()[1:]
    heading = lines[0]
    groups = [group for group in heading.split("  ") if group.strip()]
    starts = [heading.index(group) for group in groups]
    return {
        line[: starts[0]].strip(): {
            data_type: line[start] for start, group in zip(starts, groups, strict=True) for data_type in group.split()
        }
        for line in lines[1:]
    }


@pytest.mark.parametrize("tag", ["cpu", "cuda"])
def test_matrix(ep, tag):
    marks = matrix(ep("show", "ElementwiseUnary").out, f"ElementwiseUnary on {tag}, by src_type")
    assert marks["kRelu"]["i8"] == marks["kRelu"]["bf16"] == marks["kRelu"]["char"] == "x"
    assert marks["kRelu"]["c64"] == "."
    assert marks["kExp"]["f32"] == "x"
    assert marks["kExp"]["i32"] == "."
    assert marks["kIsNan -> kBool"]["f16"] == "x"
    assert marks["kReal -> kFloat"]["c128"] == "x"
    assert marks["kRealGrad -> kComplex64"]["f64"] == "x"
    here = registered(DeviceType.FromTag(tag))
    rows = [entry for entry in here if entry.interface is INTERFACES["ElementwiseUnary"]]
    assert sum(mark == "x" for row in marks.values() for mark in row.values()) == len(rows)


def test_matrix_of_index_types(ep):
    marks = matrix(ep("show", "Gather").out, "Gather on cpu, by params_type")
    assert set(marks) == {f"indices_type k{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
    assert all(set(row.values()) == {"x"} and len(row) == 16 for row in marks.values())


def test_keys_without_data_types(ep, toy: DeviceType):
    @register_primitive_factory(toy, MemcpyFactory)
    class ToyMemcpyFactory(MemcpyFactory):
        keys = (Key(MemcpyKind.kHtoD, ()), Key(MemcpyKind.kDtoH, ()))

        def Make(self, request: object) -> Memcpy:
            raise NotImplementedError

    assert "Memcpy on toy: kHtoD, kDtoH\n" in ep("show", "memcpy").out
    assert [row["dtypes"] for row in ep("list", "--device", "toy", "--format", "json").json()] == [[], []]
    assert "kDtoH" in ep("list", "--device", "toy").out
