"""The registry: registration, listing, look-up, and the errors for unsupported keys."""

import pytest

import ep
from ep.include import (
    DataType,
    DeviceManagerRegistry,
    DeviceType,
    DuplicateRegistrationError,
    UnsupportedPrimitiveError,
)
from ep.include.primitive import (
    BroadcastElementwiseBinaryFactory,
    CopyNd,
    CopyNdFactory,
    ElementwiseUnary,
    ElementwiseUnaryFactory,
    Entry,
    FillFactory,
    Gather,
    GatherFactory,
    Key,
    NewPrimitive,
    RequirePrimitive,
    UnaryOp,
    register_primitive_factory,
    registered,
)
from tests.include.toy import (
    SelfMadeFillFactory,
    ToyBinaryFactory,
    ToyCopyNd,
    ToyCopyNdFactory,
    ToyFill,
    ToyGather,
    ToyGatherFactory,
    ToyManager,
    ToyUnaryFactory,
)
from tests.subprocesses import run

F, D, I32, I64 = DataType.kFloat, DataType.kDouble, DataType.kInt32, DataType.kInt64


def test_a_key_is_served_once_registered(toy):
    assert NewPrimitive(GatherFactory, toy, "float32", "int64") is None
    assert register_primitive_factory(toy, GatherFactory)(ToyGatherFactory) is ToyGatherFactory
    primitive = NewPrimitive(GatherFactory, toy, "float32", "int64")
    assert isinstance(primitive, ToyGather)
    assert (primitive.request.interface, primitive.request.dtypes) == (Gather, (F, I64))
    assert "Gather(kFloat, kInt64)" in repr(primitive)
    assert NewPrimitive(GatherFactory, toy, "float16", "int64") is None
    assert NewPrimitive(GatherFactory, toy, indices_type="int32", params_type="float64").request.dtypes == (D, I32)


def test_primitives_are_prepared_by_default(toy):
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    assert NewPrimitive(GatherFactory, toy, "float32", "int64").Prepare() is None


def test_a_repeated_key_is_an_error(toy):
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    with pytest.raises(DuplicateRegistrationError, match=r"registers Gather\(\w+, \w+\) on toy, as .*ToyGatherFactory"):
        register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)

    class Twice(ToyGatherFactory):
        keys = (Key(None, (F, DataType.kInt8)),) * 2

    with pytest.raises(DuplicateRegistrationError, match=r"Gather\(kFloat, kInt8\) on toy"):
        register_primitive_factory(toy, GatherFactory)(Twice)
    assert len(registered(toy)) == 4


def test_a_repeated_key_is_an_error_for_ops_with_attributes(toy):
    register_primitive_factory(toy, ElementwiseUnaryFactory)(ToyUnaryFactory)
    with pytest.raises(DuplicateRegistrationError, match=r"registers ElementwiseUnary\(\w+, kFloat, kFloat\) on toy"):
        register_primitive_factory(toy, ElementwiseUnaryFactory)(ToyUnaryFactory)


def test_one_device_may_have_several_factories_for_an_interface(toy):
    class More(ToyGatherFactory):
        keys = frozenset({Key(None, (DataType.kInt8, I32))})

    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    register_primitive_factory(toy, GatherFactory)(More)
    assert NewPrimitive(GatherFactory, toy, "float32", "int32") is not None
    assert NewPrimitive(GatherFactory, toy, "int8", "int32") is not None


def test_what_is_registered_is_checked(toy):
    with pytest.raises(TypeError, match="must be a class that derives from FillFactory"):
        register_primitive_factory(toy, FillFactory)(ToyGatherFactory)
    with pytest.raises(TypeError, match="must be a class that derives from GatherFactory"):
        register_primitive_factory(toy, GatherFactory)(ToyGatherFactory())
    with pytest.raises(TypeError, match="interface must be a factory contract"):
        register_primitive_factory(toy, Gather)
    with pytest.raises(TypeError, match="device_type must be a DeviceType"):
        register_primitive_factory("toy", GatherFactory)


def test_keys_need_a_maker(toy):
    class NoMaker(GatherFactory):
        keys = (Key(None, (F, I32)),)

    with pytest.raises(TypeError, match="lists keys; it must define Make"):
        register_primitive_factory(toy, GatherFactory)(NoMaker)
    assert registered(toy) == []


@pytest.mark.parametrize("key", [(F, I32), (None, F), (None, ("float32", "int32")), ("kRelu", (F, I32)), None, F])
def test_keys_are_checked(toy, key):
    class Odd(ToyGatherFactory):
        keys = (Key(None, (F, I32)), key)

    with pytest.raises(TypeError, match=r"lists the key .*; it must be Key\(op or None, \(DataType, \.\.\.\)\)"):
        register_primitive_factory(toy, GatherFactory)(Odd)
    assert registered(toy) == []


def test_a_plain_pair_is_a_key(toy):
    class Plain(ToyGatherFactory):
        keys = ((None, (F, I32)),)

    register_primitive_factory(toy, GatherFactory)(Plain)
    assert NewPrimitive(GatherFactory, toy, "float32", "int32") is not None
    assert [entry.dtypes for entry in registered(toy)] == [(F, I32)]


def test_listing(toy):
    before = registered()
    assert registered(toy) == []
    register_primitive_factory(toy, CopyNdFactory)(ToyCopyNdFactory)
    register_primitive_factory(toy, ElementwiseUnaryFactory)(ToyUnaryFactory)
    register_primitive_factory(toy, FillFactory)(SelfMadeFillFactory)
    assert registered() == before + registered(toy)
    assert registered(toy) == [
        Entry(CopyNd, None, (F,), toy),
        Entry(CopyNd, None, (DataType.kInt8,), toy),
        Entry(ElementwiseUnary, UnaryOp.kElu, (F, F), toy),
        Entry(ElementwiseUnary, UnaryOp.kRelu, (F, F), toy),
        Entry(ElementwiseUnary, UnaryOp.kThreshold, (F, F), toy),
    ]
    assert str(Entry(ElementwiseUnary, UnaryOp.kElu, (F, F), toy)) == "ElementwiseUnary(kElu, kFloat, kFloat) on toy"
    with pytest.raises(TypeError, match="device_type must be a DeviceType"):
        registered("toy")


def test_keys_with_and_without_an_op_in_one_table(toy):
    class Mixed(ToyUnaryFactory):
        keys = (Key(UnaryOp.kRelu, (F, F)), Key(None, (F, F)))

    register_primitive_factory(toy, ElementwiseUnaryFactory)(Mixed)
    assert [entry.op for entry in registered(toy)] == [None, UnaryOp.kRelu]


def test_the_listing_is_the_same_in_every_run(monkeypatch):
    """Also if one primitive has been asked for before the others."""
    listed = set()
    use = "NewPrimitive(WhereFactory, DeviceType.kCPU, 'bool', 'float32', 2)"
    for seed, code in (("1", ""), ("2", ""), ("2", use)):
        monkeypatch.setenv("PYTHONHASHSEED", seed)  # the order of sets depends on it
        names = "from ep import DeviceType\nfrom ep.include.primitive import NewPrimitive, WhereFactory, registered"
        listed.add(run(f"{names}\n{code}\nprint(*registered(), sep='\\n')"))
    assert len(listed) == 1
    assert len(listed.pop().splitlines()) > 5000


_PRIMITIVES = """
import sys, threading
from ep import DeviceType
from ep.include.primitive import Gather, GatherFactory, Key, NewPrimitive, register_primitive_factory
from ep.include import DataType, DeviceManagerRegistry, DuplicateRegistrationError

def imported():
    return [name for name in sys.modules if name in ("ep.cpu.primitive.gather", "ep.cpu.primitive.where")]

DeviceManagerRegistry.GetDeviceCount(DeviceType.kCPU)
assert not imported()
"""


def test_a_primitive_is_imported_when_it_is_asked_for():
    code = """
found = []
ask = lambda: found.append(NewPrimitive(GatherFactory, DeviceType.kCPU, "float32", "int32"))
threads = [threading.Thread(target=ask) for _ in range(4)]
for one in threads: one.start()
for one in threads: one.join()
assert len(found) == 4 and all(isinstance(one, Gather) for one in found), found
assert imported() == ["ep.cpu.primitive.gather"]
"""
    run(_PRIMITIVES + code)


def test_a_device_has_its_own_factory_before_that_of_another_package():
    code = """
class Other(GatherFactory):
    keys = {Key(None, (DataType.kFloat, DataType.kInt32))}
    Make = None

try:
    register_primitive_factory(DeviceType.kCPU, GatherFactory)(Other)
except DuplicateRegistrationError as error:
    print(error)
assert imported() == ["ep.cpu.primitive.gather"]
assert "ep.cpu" in repr(NewPrimitive(GatherFactory, DeviceType.kCPU, "float32", "int32"))
"""
    assert "registers Gather(kFloat, kInt32) on cpu, as <ep.cpu.primitive.gather" in run(_PRIMITIVES + code)


def test_a_factory_with_its_own_new(toy):
    register_primitive_factory(toy, FillFactory)(SelfMadeFillFactory)
    primitive = NewPrimitive(FillFactory, toy, "float32")
    assert isinstance(primitive, ToyFill)
    assert "ToyFill" in repr(primitive)
    assert NewPrimitive(FillFactory, toy, "int8") is None
    with pytest.raises(TypeError, match="data_type"):
        NewPrimitive(FillFactory, toy, "float")
    with pytest.raises(UnsupportedPrimitiveError, match=r"Fill\(kInt8\) on toy .* the factory on toy does not make it"):
        RequirePrimitive(FillFactory, toy, "int8")


def test_too_many_dims(toy):
    register_primitive_factory(toy, CopyNdFactory)(ToyCopyNdFactory)
    register_primitive_factory(toy, BroadcastElementwiseBinaryFactory)(ToyBinaryFactory)
    for dims in (0, 1, 8):
        assert isinstance(NewPrimitive(CopyNdFactory, toy, dims), ToyCopyNd)
    assert NewPrimitive(CopyNdFactory, toy, 9) is None
    binary = (BroadcastElementwiseBinaryFactory, toy, ep.BinaryOp.kAdd, "float32", "float32")
    assert NewPrimitive(*binary, 8) is not None
    assert NewPrimitive(*binary, 9) is None
    with pytest.raises(UnsupportedPrimitiveError, match="max_num_dims is 9, and at most 8 dims are possible"):
        RequirePrimitive(*binary, 9)


@pytest.mark.parametrize("new", [NewPrimitive, RequirePrimitive])
def test_too_few_or_too_many_arguments_are_counted_by_name(toy, new):
    takes = "ElementwiseUnaryFactory takes op, src_type, dst_type, attr0, attr1: "
    for given, words in (
        ((), "missing a required argument: 'op'"),
        ((UnaryOp.kRelu, "float32"), "missing a required argument: 'dst_type'"),
        ((UnaryOp.kRelu, "float32", "float32", 1, 2, 3), "too many positional arguments"),
    ):
        with pytest.raises(TypeError, match=f"^{takes}{words}$"):
            new(ElementwiseUnaryFactory, toy, *given)
    with pytest.raises(TypeError, match=f"^{takes}got an unexpected keyword argument 'out_type'$"):
        new(ElementwiseUnaryFactory, toy, UnaryOp.kRelu, "float32", "float32", out_type="float32")


def test_required_primitive(toy):
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    assert isinstance(RequirePrimitive(GatherFactory, toy, "float32", "int32"), ToyGather)
    with pytest.raises(TypeError, match="params_type"):
        RequirePrimitive(GatherFactory, toy, "float", "int32")


def test_near_miss_of_data_types(toy):
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    with pytest.raises(UnsupportedPrimitiveError) as caught:
        RequirePrimitive(GatherFactory, toy, "float64", "int8")
    assert str(caught.value).startswith(
        "Gather(kDouble, kInt8) on toy is not supported: its data types are not registered on toy; "
        "nearest: Gather(kDouble, kInt32) on toy, Gather(kDouble, kInt64) on toy, Gather("
    )


def test_near_miss_of_the_op(toy):
    register_primitive_factory(toy, ElementwiseUnaryFactory)(ToyUnaryFactory)
    with pytest.raises(UnsupportedPrimitiveError) as caught:
        RequirePrimitive(ElementwiseUnaryFactory, toy, UnaryOp.kCelu, "float32", "float32")
    assert str(caught.value).startswith(
        "ElementwiseUnary(kCelu, kFloat, kFloat, alpha=1) on toy is not supported: "
        "ElementwiseUnary has no kCelu on toy; nearest: ElementwiseUnary(kElu, kFloat, kFloat) on toy, "
    )


def test_primitive_without_a_factory(toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, type("Present", (ToyManager,), {"count": 1}))
    with pytest.raises(UnsupportedPrimitiveError, match="no factory on toy makes Gather"):
        RequirePrimitive(GatherFactory, toy, "float32", "int32")


def test_device_type_without_a_provider(toy):
    with pytest.raises(UnsupportedPrimitiveError, match="no installed package provides 'toy' devices"):
        RequirePrimitive(GatherFactory, toy, "float32", "int32")


def test_absent_device(toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, ToyManager)
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    assert NewPrimitive(GatherFactory, toy, "float32", "int32") is None
    assert len(registered(toy)) == 4
    with pytest.raises(UnsupportedPrimitiveError, match="the device is absent: no toy device was found"):
        RequirePrimitive(GatherFactory, toy, "float32", "int32")


def test_other_devices_that_serve_the_key_are_named(toy, monkeypatch):
    register_primitive_factory(toy, GatherFactory)(ToyGatherFactory)
    monkeypatch.setattr(DeviceType, "kOther", None, raising=False)
    other = DeviceType.Register("kOther", "other")
    with pytest.raises(UnsupportedPrimitiveError, match=r"; it is registered on .*toy"):
        RequirePrimitive(GatherFactory, other, "float32", "int32")
