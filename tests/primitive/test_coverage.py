"""Every key that upstream registers is registered, and the same keys with data types that upstream lacks."""

import itertools
import json
from pathlib import Path

import pytest

import ep
from ep import BinaryOp, NewPrimitive, UnaryOp
from ep.include import DataType
from ep.include import primitive as p
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, INTEGERS
from ep.include.primitive import registered
from ep.include.primitive.primitive import Key
from ep.testing.keys import needs_one_of

UPSTREAM = json.loads((Path(__file__).parents[1] / "data" / "upstream_keys.json").read_text())
OPS = {
    "ElementwiseUnary": UnaryOp,
    "BroadcastElementwiseUnary": UnaryOp,
    "BroadcastElementwiseBinary": BinaryOp,
}
TYPED = (
    *("Gather", "BatchGather", "Expand", "Add", "Cast", "Fill", "TensorFill", "Where"),
    *("Permute", "CopyNd", "ConstantPad", *OPS),
)
"""The primitives whose keys have data types."""
OPS_OR_KINDS = OPS | {"Memcpy": p.MemcpyKind}
PRODUCTS = "Matmul", "BatchMatmul", "BroadcastMatmul"
PRIMITIVES = (*TYPED, "Memcpy", "Memset", *PRODUCTS)


def where_registered(primitives):
    """Mark a test of `primitive`: it is left out if the device registers no key of it."""
    return pytest.mark.parametrize(
        "primitive", [pytest.param(name, marks=needs_one_of(getattr(p, f"{name}Factory"))) for name in primitives]
    )


each_primitive = where_registered(PRIMITIVES)
each_typed = where_registered(TYPED)


def upstream_keys(primitive):
    """Return the keys that upstream registers on any device."""
    groups = UPSTREAM[primitive] if primitive in OPS_OR_KINDS else {None: UPSTREAM[primitive]}
    return {
        Key(op and OPS_OR_KINDS[primitive][op], tuple(DataType[name] for name in dtypes.split()))
        for op, keys in groups.items()
        for dtypes in keys
    }


def own_keys(device, primitive):
    """Return the keys that the device registers."""
    interface = getattr(p, primitive)
    return {Key(entry.op, entry.dtypes) for entry in registered(device.type) if entry.interface is interface}


def missing(device, primitive, keys):
    """Return those of `keys` that the device does not register, as text."""
    absent = keys - own_keys(device, primitive)
    return sorted(f"{key.op and key.op.name} {[t.name for t in key.dtypes]}" for key in absent)


def like(keys, data_type, others):
    """Return those of `keys` that have `data_type`, with each of `others` in its place."""
    with_it = [key for key in keys if data_type in key.dtypes]
    return {
        Key(key.op, tuple(other if dtype is data_type else dtype for dtype in key.dtypes))
        for key, other in itertools.product(with_it, others)
    }


def test_the_list_of_upstreams_keys_is_whole():
    assert [len(upstream_keys(primitive)) for primitive in PRIMITIVES] == [
        16,
        4,
        14,
        14,
        144,
        15,
        14,
        45,
        16,
        16,
        14,
        343,
        213,
        485,
        4,
        1,
        6,
        6,
        6,
    ]


@each_primitive
def test_upstreams_keys(device, primitive):
    assert not missing(device, primitive, upstream_keys(primitive))


@where_registered([*TYPED, *PRODUCTS])
def test_16_bit_floats_wherever_float_is(device, primitive):
    keys = upstream_keys(primitive) | own_keys(device, primitive)
    keys = like(keys, DataType.kFloat, (DataType.kFloat16, DataType.kBFloat16))
    assert keys
    assert not missing(device, primitive, keys)


@each_typed
def test_every_integer_type_wherever_int32_is(device, primitive):
    keys = like(upstream_keys(primitive) | own_keys(device, primitive), DataType.kInt32, INTEGERS)
    assert keys
    assert not missing(device, primitive, keys)


@pytest.mark.parametrize("primitive", ["Gather", "BatchGather"])
def test_gathers_take_every_data_type_by_every_integer_type(device, primitive):
    assert len(ALL) == 16
    assert not missing(device, primitive, {Key(None, pair) for pair in itertools.product(ALL, INTEGERS)})


@where_registered(["Expand", "Add", "Fill", "TensorFill", "Permute", "CopyNd", "ConstantPad"])
def test_every_data_type(device, primitive):
    assert not missing(device, primitive, {Key(None, (data_type,)) for data_type in ALL})


@where_registered(["Cast"])
def test_casts_between_all_types_but_from_complex_to_real_ones(device, primitive):
    pairs = [pair for pair in itertools.product(ALL, ALL) if pair[0] not in COMPLEXES or pair[1] in COMPLEXES]
    assert len(pairs) == 228
    assert own_keys(device, primitive) == {Key(None, pair) for pair in pairs}


@where_registered(["BroadcastElementwiseUnary"])
def test_broadcast_unary_has_the_keys_of_the_others(device, primitive):
    casts = {Key(UnaryOp.kCast, key.dtypes) for key in own_keys(device, "Cast")}
    assert own_keys(device, primitive) == own_keys(device, "ElementwiseUnary") | casts


@where_registered(["Where"])
def test_where_takes_every_data_type_by_bools_and_integers(device, primitive):
    assert own_keys(device, primitive) == {Key(None, pair) for pair in itertools.product(BOOL + CHAR + INTEGERS, ALL)}


@where_registered(["OneHot"])
def test_one_hot_takes_every_data_type_by_every_integer_type(device, primitive):
    assert own_keys(device, primitive) == {Key(None, pair) for pair in itertools.product(INTEGERS, ALL)}


@where_registered(OPS)
def test_every_op_is_registered(device, primitive):
    of_other_primitives = {UnaryOp.kCast} if primitive == "ElementwiseUnary" else set()
    assert {key.op for key in own_keys(device, primitive)} == set(OPS[primitive]) - of_other_primitives


@where_registered(["Memcpy"])
def test_memcpy_goes_every_way(device, primitive):
    assert own_keys(device, primitive) == {Key(kind, ()) for kind in p.MemcpyKind}


@where_registered(["Memset"])
def test_memset_has_one_key(device, primitive):
    assert own_keys(device, primitive) == {Key(None, ())}


@where_registered([name for name in TYPED if name not in ("Add", "Fill", "TensorFill", "ConstantPad")])
def test_a_key_beyond_the_table_is_none(device, primitive):
    """Keys of more than 8 dims, or of data types that the op does not have, are not registered."""
    factory = getattr(p, f"{primitive}Factory")
    arguments = {
        "Gather": (DataType.kFloat, DataType.kFloat),
        "BatchGather": (DataType.kFloat, DataType.kBool),
        "Expand": (DataType.kFloat, 9),
        "Where": (DataType.kBool, DataType.kFloat, 9),
        "Permute": (9,),
        "CopyNd": (9,),
        "Cast": (DataType.kComplex64, DataType.kFloat),
        "BroadcastElementwiseUnary": (UnaryOp.kCast, DataType.kFloat, DataType.kInt8, 9),
        "ElementwiseUnary": (UnaryOp.kTanh, DataType.kInt32, DataType.kInt32),
        "BroadcastElementwiseBinary": (BinaryOp.kAdd, DataType.kFloat, DataType.kFloat, 9),
    }[primitive]
    assert NewPrimitive(factory, device.type, *arguments) is None
    with pytest.raises(ep.UnsupportedPrimitiveError):
        ep.RequirePrimitive(factory, device.type, *arguments)
