"""The 31 contracts: names, signatures, ops, and the checks of New before any look-up."""

import inspect
import json
from pathlib import Path

import pytest

import ep.include.primitive as primitives
from ep.include import DataType, DeviceType
from ep.include.primitive import (
    BinaryOp,
    BlasTransposeType,
    BroadcastElementwiseBinaryFactory,
    BroadcastElementwiseUnaryFactory,
    CastFactory,
    CopyNdFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    MatmulFactory,
    MemcpyFactory,
    MemcpyKind,
    MemsetFactory,
    NewPrimitive,
    PermuteFactory,
    ReduceFactory,
    ReduceOp,
    ScanOp,
    ScatterOp,
    SortOrder,
    UnaryOp,
    WhereFactory,
)
from ep.include.primitive.op_table import OPS, attributes_of

N, T = BlasTransposeType
_UPSTREAM = json.loads((Path(__file__).parents[1] / "data" / "upstream_keys.json").read_text())
UPSTREAM_OPS = {
    "UnaryOp": {**_UPSTREAM["ElementwiseUnary"], **_UPSTREAM["BroadcastElementwiseUnary"]},
    "BinaryOp": _UPSTREAM["BroadcastElementwiseBinary"],
}

SIGNATURES = {  # interface: parameters of New, parameters of Launch
    "Gather": (
        "params_type, indices_type",
        "stream, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, offset=0",
    ),
    "BatchGather": (
        "params_type, indices_type",
        "stream, batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, "
        "offset=0",
    ),
    "Expand": (
        "data_type, max_num_dims",
        "stream, src_dims, src, dst_dims, dst, src_strides=None, dst_strides=None",
    ),
    "ElementwiseUnary": ("op, src_type, dst_type, attr0=None, attr1=None", "stream, src, dst, count"),
    "BroadcastElementwiseBinary": (
        "op, src_type, dst_type, max_num_dims, attr0=None, attr1=None",
        "stream, src0_dims, src0, src1_dims, src1, dst",
    ),
    "BroadcastElementwiseUnary": (
        "op, src_type, dst_type, max_num_dims, attr0=None, attr1=None",
        "stream, src_dims, src, dst_dims, dst, src_strides=None, dst_strides=None",
    ),
    "Add": ("data_type", "stream, srcs, dst, count"),
    "Cast": ("src_type, dst_type", "stream, src, dst, count"),
    "ConstantPad": ("data_type", "stream, src_dims, src, padding_before, padding_after, pad_val, dst"),
    "CopyNd": ("max_num_dims", "stream, data_type, dst, dst_dims, dst_pos, src, src_dims, src_pos, extent"),
    "Fill": ("data_type", "stream, dst, value, count"),
    "TensorFill": ("data_type", "stream, src, dst, count"),
    "Memcpy": ("kind", "stream, dst, src, count"),
    "Memset": ("", "stream, dst, value, count"),
    "OneHot": (
        "indices_type, out_type",
        "stream, indices, out, on_value, off_value, num_indices, lower_bound, upper_bound",
    ),
    "Permute": ("max_num_dims", "stream, data_type, src_dims, src, permutation, dst"),
    "Softmax": ("data_type", "stream, rows, cols, x, y"),
    "LogSoftmax": ("data_type", "stream, rows, cols, x, y"),
    "SoftmaxBackward": ("data_type", "stream, rows, cols, y, dy, dx"),
    "LogSoftmaxBackward": ("data_type", "stream, rows, cols, y, dy, dx"),
    "Where": ("cond_type, data_type, max_num_dims", "stream, cond_dims, cond, x_dims, x, y_dims, y, z"),
    "Matmul": ("data_type, transpose_a, transpose_b, allow_tf32=False", "stream, m, n, k, alpha, a, b, beta, c"),
    "BatchMatmul": (
        "data_type, transpose_a, transpose_b, allow_tf32=False",
        "stream, batch_size, m, n, k, alpha, a, b, beta, c",
    ),
    "BroadcastMatmul": (
        "data_type, transpose_a, transpose_b, max_num_dims, allow_tf32=False",
        "stream, alpha, a_dims, a, b_dims, b, beta, c_dims, c",
    ),
    "Reduce": ("op, data_type, max_num_dims", "stream, src_dims, src, axes, dst"),
    "ArgSort": ("op, data_type", "stream, outer_dim_size, sort_dim_size, inner_dim_size, num_places, x, places"),
    "TreeEnsemble": (
        "op, data_type",
        "stream, num_rows, num_features, num_targets, num_words, num_trees, x, nodes, roots, out",
    ),
    "Scan": ("op, data_type", "stream, outer_dim_size, scan_dim_size, inner_dim_size, src, dst"),
    "UnsortedSegmentSum": (
        "data_type, segment_ids_type",
        "stream, outer_dim_size, num_segments, inner_dim_size, data, num_ids, segment_ids, out, offset=0",
    ),
    "BatchScatter": (
        "op, data_type, indices_type",
        "stream, batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, updates, num_indices, indices, out, "
        "offset=0",
    ),
    "BatchUnsortedSegmentSum": (
        "data_type, segment_ids_type",
        "stream, batch_dim_size, outer_dim_size, num_segments, inner_dim_size, data, num_ids, segment_ids, out, "
        "offset=0",
    ),
}

VALID = {  # the arguments of New in the tests below, by parameter
    "params_type": "float32", "indices_type": "int32", "data_type": "float32", "src_type": "float32",
    "dst_type": "float32", "cond_type": "bool", "out_type": "float32", "transpose_a": N, "transpose_b": T,
    "allow_tf32": False, "kind": MemcpyKind.kAuto, "max_num_dims": 4, "attr0": None, "attr1": None,
    "segment_ids_type": "int64",
}  # fmt: skip


def factory(name):
    return getattr(primitives, f"{name}Factory")


def arguments(name):
    parameters = [part.split("=")[0] for part in SIGNATURES[name][0].split(", ") if part]
    ops = {"BroadcastElementwiseBinary": BinaryOp, "Reduce": ReduceOp, "Scan": ScanOp, "BatchScatter": ScatterOp}
    ops |= {"ArgSort": SortOrder, "TreeEnsemble": primitives.TreeAggregate}
    op = next(iter(ops[name])) if name in ops else UnaryOp.kRelu
    return {parameter: op if parameter == "op" else VALID[parameter] for parameter in parameters}


def spelled(function):
    """Return the parameters without annotations and self, as in the table."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return ", ".join(str(parameter.replace(annotation=parameter.empty)) for parameter in parameters)


def test_there_are_31_interfaces():
    assert len(SIGNATURES) == 31
    for name in SIGNATURES:
        assert factory(name).primitive is getattr(primitives, name)
        assert issubclass(factory(name).primitive, primitives.Primitive)
    contracts = {name for name in primitives.__all__ if f"{name}Factory" in primitives.__all__}
    assert contracts == {*SIGNATURES, "BroadcastBinary", "Expression"}  # OneFlow has no Expression


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    new, launch = SIGNATURES[name]
    assert spelled(factory(name).New) == new
    assert spelled(factory(name).primitive.Launch) == launch


@pytest.mark.parametrize("name", SIGNATURES)
def test_contracts_are_abstract(name):
    """A class for a device defines Launch, or what the contract's Launch hands its arguments to."""
    contract = factory(name).primitive
    request = primitives.Request(contract, None, ())
    for abstract in (contract, type("Of", (contract,), {})):
        assert abstract.__abstractmethods__ == {"Launch"}
        with pytest.raises(TypeError, match="Launch"):
            abstract(request)
    given, stream = [*range(spelled(contract.Launch).count(",") + 1)], object()
    own = type("Own", (contract,), {"Launch": lambda self, *args: args})
    assert own(request).Launch(stream, *given) == (stream, *given)
    taken = []
    handed = type("Handed", (contract,), {"_launch_with": lambda self, *args: taken.append(args)})
    handed(request).Launch(stream, *given[1:])
    assert taken[0][0] is stream
    assert spelled(handed.Launch) == spelled(contract.Launch)


@pytest.mark.parametrize("name", SIGNATURES)
def test_documented(name):
    contract = factory(name)
    for documented in (contract, contract.New, contract.primitive, contract.primitive.Launch):
        assert inspect.getdoc(documented)


def test_aliases():
    assert primitives.BroadcastBinary is primitives.BroadcastElementwiseBinary
    assert primitives.BroadcastBinaryFactory is primitives.BroadcastElementwiseBinaryFactory


def test_ops_are_upstreams():
    """Further ops follow upstream's."""
    for enum, count in ((UnaryOp, 72), (BinaryOp, 81)):
        assert [op.value for op in enum] == list(range(len(enum)))
        assert {op.name for op in [*enum][:count]} == {*UPSTREAM_OPS[enum.__name__]}
    assert (UnaryOp.kIdentity.value, UnaryOp.kTanh.value, UnaryOp.kAbs.value, UnaryOp.kCast.value) == (0, 16, 21, 61)
    assert [op.name for op in UnaryOp][67:72] == ["kConj", "kReal", "kImag", "kRealGrad", "kImagGrad"]
    assert (BinaryOp.kAdd.value, BinaryOp.kEqual.value, BinaryOp.kLogicalAnd.value) == (0, 14, 22)
    assert (BinaryOp.kIdentityBackwardWithDyX.value, BinaryOp.kTanhBackwardWithDyY.value) == (28, 45)
    assert list(BinaryOp)[80].name == "kSquareReLUBackwardWithDyX"


def test_other_enums_are_upstreams():
    assert {kind.name: kind.value for kind in MemcpyKind} == {"kAuto": 0, "kHtoD": 1, "kDtoH": 2, "kDtoD": 3}
    assert [op.name for op in ReduceOp] == ["kSum", "kProd", "kMin", "kMax", "kMean", "kAny", "kAll"]
    assert {transpose.name: transpose.value for transpose in BlasTransposeType} == {"N": 0, "T": 1}


@pytest.mark.parametrize("name", SIGNATURES)
def test_none_where_there_is_no_factory(toy, name):
    assert NewPrimitive(factory(name), toy, **arguments(name)) is None


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name in SIGNATURES for parameter in arguments(name)]
)
def test_malformed_arguments_raise_on_every_device(toy, name, parameter):
    """Malformed arguments raise even if the device has no factory for the primitive."""
    for wrong in ([1], object(), "nonsense"):
        malformed = {**arguments(name), parameter: wrong}
        with pytest.raises((TypeError, ValueError), match=parameter):
            NewPrimitive(factory(name), toy, **malformed)


@pytest.mark.parametrize("name", SIGNATURES)
def test_argument_count(toy, name):
    with pytest.raises(TypeError, match=f"^{name}Factory takes .*: too many positional arguments$"):
        NewPrimitive(factory(name), toy, *arguments(name).values(), 1, 2, 3)


WITH_DIMS = [name for name in SIGNATURES if "max_num_dims" in arguments(name)]


@pytest.mark.parametrize("name", WITH_DIMS)
@pytest.mark.parametrize(
    ("dims", "error"), [(-1, ValueError), (True, TypeError), (2.0, TypeError), ("2", TypeError), (None, TypeError)]
)
def test_number_of_dims_is_checked(toy, name, dims, error):
    with pytest.raises(error, match="max_num_dims"):
        NewPrimitive(factory(name), toy, **{**arguments(name), "max_num_dims": dims})


@pytest.mark.parametrize("wrong", [UnaryOp.kRelu, "kAdd", 0, None])
def test_ops_are_members_of_their_enum(toy, wrong):
    with pytest.raises(TypeError, match=r"op must be a BinaryOp such as BinaryOp.kAdd"):
        NewPrimitive(BroadcastElementwiseBinaryFactory, toy, wrong, "float32", "float32", 1)


def request(contract, *args, **kwargs):
    shown = []
    made = type("Shown", (contract,), {"Select": lambda self, asked: shown.append(asked)})()
    made.New(*args, **kwargs)
    return shown[0]


def test_requests():
    F, I32, B = DataType.kFloat, DataType.kInt32, DataType.kBool
    asked = request(WhereFactory, "bool", "float32", 3)
    assert (asked.op, asked.dtypes, asked.max_num_dims) == (None, (B, F), 3)
    asked = request(CastFactory, src_type="int32", dst_type="float32")
    assert asked.dtypes == (I32, F)
    for contract in (CopyNdFactory, PermuteFactory):
        asked = request(contract, 8)
        assert (asked.dtypes, asked.max_num_dims) == (None, 8)
    asked = request(ReduceFactory, ReduceOp.kMean, "float32", 2)
    assert (asked.op, asked.dtypes, asked.max_num_dims) == (ReduceOp.kMean, (F,), 2)
    asked = request(MemcpyFactory, MemcpyKind.kDtoH)
    assert (asked.op, asked.dtypes) == (MemcpyKind.kDtoH, ())
    assert request(MemsetFactory).dtypes == ()
    asked = request(MatmulFactory, "float32", N, T)
    assert (asked.dtypes, asked.options) == ((F,), {"transpose_a": N, "transpose_b": T, "allow_tf32": False})


def test_requests_are_spelled_in_full():
    assert str(request(MemsetFactory)) == "Memset()"
    assert str(request(ExpandFactory, "int8", 3)) == "Expand(kInt8, max_num_dims=3)"
    assert str(request(MatmulFactory, "float32", N, T)) == "Matmul(kFloat, transpose_a=N, transpose_b=T)"
    asked = request(MatmulFactory, "float32", N, T, allow_tf32=True)
    assert str(asked) == "Matmul(kFloat, transpose_a=N, transpose_b=T, allow_tf32=True)"
    asked = request(BroadcastElementwiseUnaryFactory, UnaryOp.kHardTanh, "float32", "float32", 2, attr1=4)
    assert str(asked) == "BroadcastElementwiseUnary(kHardTanh, kFloat, kFloat, max_num_dims=2, min=-1, max=4)"


DEFAULTS = {
    UnaryOp.kElu: (1.0,), UnaryOp.kCelu: (1.0,), UnaryOp.kHardShrink: (0.5,), UnaryOp.kHardTanh: (-1.0, 1.0),
    UnaryOp.kLeakyRelu: (0.01,), UnaryOp.kSoftShrink: (0.5,), UnaryOp.kSoftPlus: (1.0, 20.0),
    BinaryOp.kIsClose: (1e-8, 1e-5), BinaryOp.kIsCloseEqualNan: (1e-8, 1e-5), BinaryOp.kEluBackwardWithDyX: (1.0,),
    BinaryOp.kCeluBackwardWithDyY: (1.0,), BinaryOp.kHardtanhBackwardWithDyY: (-1.0, 1.0),
    BinaryOp.kLeakyReluBackwardWithDyX: (0.01,), BinaryOp.kSoftplusBackwardWithDyX: (1.0, 20.0),
    BinaryOp.kHardshrinkBackwardWithDyY: (0.5,), BinaryOp.kSoftshrinkBackwardWithDyY: (0.5,),
}  # fmt: skip
NEEDED = {
    UnaryOp.kThreshold: 2,
    BinaryOp.kThresholdBackwardWithDyX: 1,
    BinaryOp.kScalarBasePowerGrad: 1,
    BinaryOp.kScalarExpPowerGrad: 1,
}


def attributes(op, **given):
    if isinstance(op, UnaryOp):
        return request(ElementwiseUnaryFactory, op, "float32", "float32", **given).attributes
    return request(BroadcastElementwiseBinaryFactory, op, "float32", "float32", 1, **given).attributes


def test_every_attribute_has_a_rule_here():
    assert {*DEFAULTS, *NEEDED} == {op for op in OPS if attributes_of(op)}


@pytest.mark.parametrize(("op", "defaults"), DEFAULTS.items())
def test_defaults_are_filled_in(op, defaults):
    assert attributes(op) == defaults
    assert attributes(op, attr0=3) == (3.0, *defaults[1:])
    if len(defaults) == 2:
        assert attributes(op, attr1=3) == (defaults[0], 3.0)


@pytest.mark.parametrize(("op", "count"), NEEDED.items())
def test_attributes_without_default_are_needed(op, count):
    with pytest.raises(TypeError, match=rf"attr0 \(\w+\) of {op.name} is missing"):
        attributes(op)
    given = {f"attr{position}": position + 0.5 for position in range(count)}
    assert attributes(op, **given) == tuple(given.values())
    if count == 2:
        with pytest.raises(TypeError, match=r"attr1 \(value\)"):
            attributes(op, attr0=1.0)


@pytest.mark.parametrize("op", [op for op in (*UnaryOp, *BinaryOp) if not attributes_of(op)])
def test_ops_without_attributes_take_none(op):
    assert attributes(op) == ()
    for given in ({"attr0": 1.0}, {"attr1": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(given))} is .*, but {op.name} takes no attributes"):
            attributes(op, **given)


def test_an_attribute_too_many():
    with pytest.raises(ValueError, match=r"attr1 is 2.0, but kElu takes only attr0"):
        attributes(UnaryOp.kElu, attr0=1.0, attr1=2.0)


@pytest.mark.parametrize("number", [2, 2.0, True, *(m.dtype.type(2) for m in DataType if m.dtype.kind != "c")])
def test_attributes_are_python_and_numpy_numbers(number):
    (value,) = attributes(UnaryOp.kElu, attr0=number)
    assert type(value) is float
    assert value == number


@pytest.mark.parametrize("wrong", ["1", b"1", 1j, [1.0], object()])
def test_other_attributes_are_refused(wrong):
    with pytest.raises(TypeError, match=r"attr0 \(alpha\) of kElu must be a real number"):
        attributes(UnaryOp.kElu, attr0=wrong)


@pytest.mark.parametrize("member", [DataType.kComplex64, DataType.kComplex128])
def test_numpys_complex_attributes_are_refused(member):
    with pytest.raises(TypeError, match="must be a real number"):
        attributes(UnaryOp.kElu, attr0=member.dtype.type(1))


def test_device_types_are_checked():
    for wrong in ("cpu", None, 0):
        with pytest.raises(TypeError, match=r"device_type must be a DeviceType such as DeviceType\.kCPU"):
            NewPrimitive(MemsetFactory, wrong)
    for wrong in (primitives.Memset, MemsetFactory(), "Memset", type("Own", (MemsetFactory,), {}), primitives.Factory):
        with pytest.raises(TypeError, match="interface must be a factory contract such as GatherFactory"):
            NewPrimitive(wrong, DeviceType.kCPU)
