"""Exhaustive tests of the signatures of all operators: every combination of placements on 2 and 3 ranks, in one
process.
"""

import itertools

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.include.data_type import as_data_type
from ep.include.primitive.op_table import OPS, function_name
from ep.ops.names import parameter_name
from tests.sbp.exhaustion import Case, check


def normal(rng, shape):
    return rng.normal(0, 2, shape)


def small(rng, shape):
    return rng.uniform(0.1, 0.9, shape)


def large(rng, shape):
    return rng.uniform(1.1, 3, shape)


def negative(rng, shape):
    return -rng.uniform(0.1, 3, shape)


def integers(rng, shape):
    return rng.integers(-4, 5, shape)


def signs(rng, shape):
    return rng.integers(-1, 2, shape)


def many(rng, shape):
    return rng.integers(-30, 31, shape)


def wide(rng, shape):
    """Return numbers whose sums wrap around in int32."""
    return rng.integers(-(2**31), 2**31, shape)


def complexes(rng, shape):
    return rng.normal(0, 2, shape) + 1j * rng.normal(0, 2, shape)


def below(end):
    return lambda rng, shape: rng.integers(0, end, shape)


def stumps(rng, shape):
    """Return the words of two trees of one comparison each."""
    numbers = (rng.normal(size=6) * [1, 5, 5, 1, 5, 5]).astype(np.float32).view(np.int32).tolist()
    found = []
    for k, feature in ((0, 3), (3, 1)):
        found += [numbers[k], feature, 5, 10, 10, numbers[k + 1], 0, 0, 0, 0, numbers[k + 2], 0, 0, 0, 0]
    return np.int32(found)


def roots(rng, shape):
    return rng.choice(np.int32([0, 15]), 2)


def around(end):
    """Return indices, some of them out of range."""
    return lambda rng, shape: rng.integers(-2, end + 2, shape)


def any_byte(rng, shape):
    return rng.integers(-128, 128, shape)


def rarely(rng, shape):
    """Return numbers that are mostly 0."""
    return rng.integers(-1, 2, shape) * (rng.random(shape) < 0.2)


def mostly(rng, shape):
    """Return values that are mostly true."""
    return rng.random(shape) < 0.9


OF_KIND = {
    "f": [normal, small, large, negative, integers, signs],
    "i": [integers, signs, many],
    "b": [below(2)],
    "c": [complexes, signs],
}
REQUIRED = {"threshold": 1.0, "value": -1.0, "exponent": 2.5, "base": 0.5}
ALSO = {
    "threshold": {"threshold": 1.0, "value": 2.5},
    "elu": {"alpha": -2.0},
    "leaky_relu": {"alpha": -2.0},
    "hard_tanh": {"min": 1.0, "max": -1.0},
    "scalar_base_power_grad": {"exponent": 4.0},
    "scalar_exp_power_grad": {"base": 2.0},
    "elu_backward_with_dy_x": {"alpha": -2.0},
}
"""Other values of attributes, with which an op becomes monotonic, or is no longer monotonic."""


def name_of(case):
    """Return a unique name of a case."""
    dtypes = "-".join(str(np.dtype(dtype)) for dtype in case.dtypes)
    given = "-".join(map(str, [*case.args, *case.kwargs.values()]))
    return f"{case.name}-{case.shapes}-{dtypes}-{given}".replace(" ", "")


def elementwise():
    for op, dtype in itertools.product((*UnaryOp, *BinaryOp), (np.float64, np.int32, np.bool_, np.complex128)):
        if op is UnaryOp.kCast or as_data_type(dtype) not in OPS[op].takes:
            continue
        name = function_name(op)
        given = {parameter_name(one): REQUIRED[one.name] for one in OPS[op].attributes if one.default is None}
        draws = list(itertools.product(OF_KIND[np.dtype(dtype).kind], repeat=len(OPS[op].operands)))
        for attributes in [given, *([ALSO[name]] if name in ALSO else [])]:
            shapes = [(11,)] * len(OPS[op].operands)
            yield Case(name, shapes, [dtype] * len(shapes), kwargs=attributes, draws=draws)


ELEMENTWISE = [*elementwise()]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("case", ELEMENTWISE, ids=name_of)
def test_ops(case, ranks, rng):
    check(case, ranks, rng, tries=40 if case.dtypes[0] is np.bool_ else 8)


def case(name, shapes, *args, draws=None, dtypes=None, **options):
    """Return a case of float64, unless `dtypes` says otherwise."""
    dtypes = dtypes or [np.float64] * len(shapes)
    kwargs = options.pop("kwargs", {})
    return Case(name, shapes, dtypes, args, kwargs, draws or [[normal] * len(shapes)], **options)


TABLE = [np.float64, np.int64]
RESAMPLED = [np.float64, np.int64, np.float64]
OTHERS = [
    case("gather", [(6, 5), (4, 3)], 0, 0, "zero", dtypes=TABLE, draws=[[normal, around(6)]]),
    case("gather", [(4, 7, 5), (5,)], 1, 0, "zero", dtypes=TABLE, draws=[[normal, around(7)]]),
    case("gather", [(5, 7, 4), (5, 3)], 1, 1, "clip", dtypes=TABLE, draws=[[normal, around(7)]]),
    case("gather", [(5, 4, 7), (5, 3)], 2, 1, "raise", dtypes=TABLE, draws=[[normal, below(2)]]),
    case("gather", [(5, 7), (5, 7)], 1, 1, "wrap_negative", dtypes=TABLE, draws=[[normal, below(2)]]),
    case("gather", [(4, 5), ()], 1, 0, "zero", dtypes=[np.bool_, np.int8], draws=[[below(2), around(5)]]),
    case("gather", [(4, 5), (4,)], 0, 0, "zero", dtypes=[np.complex128, np.int64], draws=[[complexes, around(4)]]),
    case("expand", [(5, 1, 4)], 6, 5, 7, 4),
    case("expand", [(5, 4)], 5, 4, dtypes=[np.int32], draws=[[many]]),
    case("expand", [(1,)], 4, 5, dtypes=[np.bool_], draws=[[below(2)]]),
    case("repeat", [(5, 4, 1)], 3, 1, 6, 7),
    case("permute", [(5, 4, 3)], (2, 0, 1)),
    case("pad", [(5, 4)], ((1, 2), (0, 0)), kwargs={"constant_values": 2.5}),
    case("pad", [(5, 6)], ((0, 1), (-1, -2)), kwargs={"constant_values": -2.5}),
    case("pad", [(4, 6)], ((1, 1), (-2, 2))),
    case("where", [(5, 4), (5, 4), (4,)], dtypes=[np.bool_, *TABLE[:1] * 2], draws=[[below(2), normal, normal]]),
    case("where", [(4,), (5, 1), (5, 4)], dtypes=[np.int8, *TABLE[:1] * 2], draws=[[below(2), normal, normal]]),
    case("where", [(7,)] * 3, dtypes=[np.bool_] * 3, draws=[[below(2)] * 3]),
    case("one_hot", [(5, 4)], 7, 2.5, -1, dtypes=[np.int64], draws=[[around(7)]]),
    case("slice", [(6, 5)], slice(1, 5), slice(None, None, 2)),
    case("slice", [(7, 5)], slice(None), slice(1, 4)),
    case("concat", [(5, 4), (5, 3)], 1, sequence=True),
    case("concat", [(5, 4), (4,)], None, sequence=True),
    case("stack", [(5, 4), (5, 4)], 1, sequence=True),
    case("split", [(5, 4)], 2, 1),
    case("gather_grad", [(4, 3, 5), (4, 3)], (6, 5), 0, 0, "zero", dtypes=TABLE, draws=[[normal, around(6)]]),
    case("gather_grad", [(4, 6, 5), (6,)], (4, 7, 5), 1, 0, "raise", dtypes=TABLE, draws=[[normal, below(2)]]),
    case("gather_grad", [(5, 6, 4), (5, 6)], (5, 7, 4), 1, 1, "clip", dtypes=TABLE, draws=[[normal, around(7)]]),
    case("expand_grad", [(6, 5, 7, 4)], (5, 1, 4)),
    case("expand_grad", [(5, 4)], (5, 4)),
    case("repeat_grad", [(3, 5, 24, 14)], (5, 4, 2), (3, 1, 6, 7)),
    case("slice_grad", [(4, 3)], (6, 5), (1, 5), (0, 5, 2)),
    case("slice_grad", [(7, 3)], (7, 5), None, (1, 4), dtypes=[np.int32], draws=[[many]]),
    case("slice_grad", [(3, 4)], (6, 4), (0, 6, 2), dtypes=[np.bool_], draws=[[below(2)]]),
    case("sum", [(5, 4, 6)], (0, 2)),
    case("sum", [(5, 4)], 1, dtypes=[np.bool_], draws=[[below(2)]]),
    case("sum", [(5, 4)], 0, None, True, dtypes=[np.int32], draws=[[many]]),
    case("mean", [(5, 4)], 1),
    case("mean", [(5, 4, 2)], (0, 2), None, True),
    case("mean", [(5, 4)], 0, dtypes=[np.int32], draws=[[many], [wide]]),
    case("mean", [(5, 4)], 1, dtypes=[np.bool_], draws=[[below(2)]]),
    case("prod", [(5, 4)], 1, draws=[[normal], [integers]]),
    case("max", [(5, 4)], 0, True),
    case("min", [(5, 4, 6)], (1, 2)),
    case("any", [(5, 4)], 1, dtypes=[np.bool_], draws=[[below(2)], [rarely]]),
    case("all", [(5, 4)], 0, dtypes=[np.bool_], draws=[[below(2)], [mostly]]),
    case("any", [(5, 4)], 1, draws=[[signs], [rarely]]),
    case("argmax", [(5, 4, 3)], 1, draws=[[integers]] * 4),
    case("argmax", [(5, 4)], draws=[[integers]] * 4),
    case("argmin", [(4, 5)], 0, True, dtypes=[np.int32], draws=[[many]] * 4),
    case("argsort", [(5, 4)], 0, True, draws=[[integers]] * 4),
    case("argtopk", [(5, 4, 3)], 2, 1, draws=[[integers]] * 4),
    case(
        *("tree_ensemble", [(5, 4), (30,), (2,)]),
        dtypes=[np.float32, np.int32, np.int32],
        draws=[[normal, stumps, roots]] * 4,
    ),
    case("cumulative_sum", [(5, 4, 3)], 1),
    case("cumulative_sum", [(5, 4)], 0, None, True, dtypes=[np.int32], draws=[[many]]),
    case("cumulative_sum", [(5, 4)], 1, dtypes=[np.bool_], draws=[[below(2)]]),
    case("cumulative_sum", [(4, 5)], 1, np.float32, kwargs={"reverse": True}, tolerance=1e-5),
    case("cumulative_prod", [(5, 4)], 0, kwargs={"reverse": True}),
    case("softmax", [(5, 4)], 1),
    case("log_softmax", [(5, 4, 3)], 1),
    case("softmax_grad", [(5, 4), (5, 4)], 1),
    case("log_softmax_grad", [(5, 4), (5, 4)], 0),
    case("segment_sum", [(4, 6), (6,)], 5, 1, dtypes=TABLE, draws=[[normal, around(5)]]),
    *(
        case(
            "scatter_rows",
            [(6, 5), (4, 3), (4, 3, 5)],
            kwargs={"reduction": reduction, "mode": "zero"},
            dtypes=[dtype, np.int64, dtype],
            draws=[[draw, around(6), draw] for draw in OF_KIND[np.dtype(dtype).kind]],
        )
        for reduction in ("none", "add", "mul", "max", "min")
        for dtype in (np.float64, np.int32, np.bool_)
    ),
    case(
        "scatter_rows",
        [(4, 7, 5), (5,), (4, 5, 5)],
        1,
        dtypes=[np.float64, np.int64, np.float64],
        draws=[[normal, below(2), normal]],
    ),
    case(
        "scatter_rows",
        [(5, 4, 7), (5, 3), (5, 4, 3)],
        2,
        1,
        "add",
        "clip",
        dtypes=[np.float64, np.int64, np.float64],
        draws=[[normal, around(7), normal]],
    ),
    *(
        case(
            "scatter_rows",
            [(5, 7), (5, 6), (5, 6)],
            1,
            1,
            reduction,
            "zero",
            dtypes=[np.complex128, np.int64, np.complex128],
            draws=[[complexes, around(7), complexes]],
        )
        for reduction in ("none", "add", "mul")
    ),
    case(
        "ravel_multi_index",
        [(5, 4), (4,)],
        (7, 6),
        "clip",
        sequence=True,
        dtypes=[np.int64] * 2,
        draws=[[around(6), around(6)]],
    ),
    case("matmul", [(5, 4), (4, 6)]),
    case("matmul", [(4, 5), (6, 4)], True, True),
    case("matmul", [(5, 4), (4, 6)], dtypes=[np.int32, np.int32], draws=[[wide, wide]]),
    case("matmul", [(4,), (4, 5)]),
    case("matmul", [(5, 4), (4,)]),
    case("matmul", [(4, 1, 5, 6), (5, 6, 7)]),
    case("matmul", [(5, 4), (4, 6)], dtypes=[np.complex128] * 2, draws=[[complexes, complexes]]),
    case("matmul_integer", [(5, 4), (4, 6)], dtypes=[np.uint8, np.int8], draws=[[below(256), any_byte]]),
    case("matmul_integer", [(4, 1, 5, 6), (5, 6, 7)], dtypes=[np.int8, np.int8], draws=[[any_byte, any_byte]]),
    case("matmul_integer", [(4,), (4, 5)], dtypes=[np.int8, np.uint8], draws=[[any_byte, below(256)]]),
    case(
        "conv_integer",
        [(4, 3, 7), (5, 3, 3)],
        kwargs={"strides": 2, "pads": (1, 2)},
        dtypes=[np.uint8, np.int8],
        draws=[[below(256), any_byte]],
    ),
    case(
        "conv_integer",
        [(2, 4, 7), (8, 2, 1)],
        kwargs={"strides": 2, "groups": 2},
        dtypes=[np.int8, np.int8],
        draws=[[any_byte, any_byte]],
    ),
    case("conv", [(4, 3, 7), (5, 3, 3)], kwargs={"strides": 2, "pads": (1, 2)}),
    case("conv", [(3, 4, 5, 4), (6, 4, 1, 2)], kwargs={"dilations": (1, 2)}),
    case("conv", [(3, 6, 5), (6, 1, 2)], kwargs={"groups": 6}),
    case("conv", [(2, 4, 7), (8, 2, 1)], kwargs={"strides": 2, "groups": 2}),
    case("conv", [(2, 5, 8, 4), (3, 5, 1, 1)], kwargs={"strides": (2, 3)}),
    case("conv", [(2, 2, 12), (3, 2, 2)], kwargs={"strides": 2}),
    case("conv", [(2, 3, 6), (3, 3, 2)], kwargs={"strides": 3, "pads": (1, 0)}),
    case("conv_x_grad", [(4, 5, 4), (5, 3, 3)], (4, 3, 7), kwargs={"strides": 2, "pads": (1, 2)}),
    case("conv_x_grad", [(3, 6, 4, 5), (6, 4, 2, 2)], (3, 4, 5, 7), kwargs={"dilations": (1, 2)}),
    case("conv_x_grad", [(3, 12, 4), (12, 2, 2)], (3, 12, 5), kwargs={"groups": 6}),
    case("conv_w_grad", [(4, 5, 4), (4, 3, 7)], (5, 3, 3), kwargs={"strides": 2, "pads": (1, 2)}),
    case("conv_w_grad", [(3, 6, 4, 5), (3, 4, 5, 7)], (6, 4, 2, 2), kwargs={"dilations": (1, 2)}),
    case("conv_w_grad", [(3, 12, 4), (3, 12, 5)], (12, 2, 2), kwargs={"groups": 6}),
    case("max_pool", [(4, 3, 7)], 3, 2, (1, 2)),
    case("max_pool", [(3, 2, 5, 12)], (1, 2), 2, kwargs={"ceil_mode": True}),
    case("max_pool", [(3, 2, 12)], 3, 2, dtypes=[np.int32], draws=[[many]]),
    case("max_pool_labels", [(4, 3, 7), (7,)], 3, 2, (3, 2), dtypes=TABLE, draws=[[normal, below(99)]]),
    case("max_pool_labels", [(3, 2, 5, 12), (5, 12)], (1, 2), 2, dtypes=TABLE, draws=[[normal, below(99)]]),
    case("average_pool", [(4, 3, 7)], 3, 2, (1, 2)),
    case("average_pool", [(3, 2, 12, 5)], 2, 2, kwargs={"ceil_mode": True, "count_include_pad": True}),
    case("average_pool", [(2, 3, 6)], 2, 1, 1, kwargs={"count_include_pad": True}),
    case("average_pool", [(3, 2, 12)], 3, 2, 1, kwargs={"divisor": 2}),
    case("average_pool_grad", [(4, 3, 4)], (4, 3, 7), 3, 2, (1, 2)),
    case("average_pool_grad", [(3, 2, 6, 2)], (3, 2, 12, 5), 2, 2, kwargs={"count_include_pad": True}),
    case("average_pool_grad", [(2, 3, 7)], (2, 3, 6), 2, 1, 1, kwargs={"count_include_pad": True}),
    case("resample", [(4, 5, 3), (2, 6), (2, 6)], 1, dtypes=RESAMPLED, draws=[[normal, around(5), normal]]),
    case("unfold", [(4, 3, 7)], 3, 2, (1, 2)),
    case("unfold", [(3, 2, 12, 5)], (2, 3), 2, dtypes=[np.int32], draws=[[many]]),
    case("unfold", [(2, 3, 6)], 4, 2, 1, dtypes=[np.bool_], draws=[[below(2)]]),
    case("fold", [(4, 3, 3, 4)], 7, 2, (1, 2)),
    case("fold", [(3, 2, 2, 1, 6, 5)], (12, 5), (2, 1)),
    case("fold", [(2, 3, 2, 4)], 6, 1, 0, 2),
    case("fold", [(2, 3, 2, 2)], 4, 1, 0, 2),
    case("fold", [(2, 3, 4, 6)], 7, 1, 1, dtypes=[np.bool_], draws=[[below(2)]]),
    case("add", [(5, 4), (4,)]),
    case("sub", [(5, 1), (6, 1, 4)]),
    case("mul", [(), (5, 4)]),
]
CASTS = [
    *((np.float64, to) for to in ("float32", "int32", "bool", "complex128")),
    *((np.int32, to) for to in ("int8", "int64", "uint32", "float64", "bool")),
    *((np.uint8, to) for to in ("int16", "bool", "int8")),
    *((np.bool_, to) for to in ("int32", "float32", "bool")),
    *((np.int8, to) for to in ("uint8", "complex64")),
    (np.float32, "float64"),
    (np.complex128, "complex64"),
]
DRAWS_OF = {"f": [[normal], [integers], [signs]], "i": [[many], [signs]], "u": [[below(60)], [below(3)]]}
WRAPPING = {(np.int32, "int8"): [[many], [lambda rng, shape: rng.integers(-1000, 1000, shape)]]}
WRAPPING |= {(np.uint8, "int8"): [[below(256)]]}
OTHERS += [
    case(
        *("cast", [(7,)], to),
        dtypes=[source],
        draws=WRAPPING.get((source, to)) or DRAWS_OF.get(kind) or [[one] for one in OF_KIND[kind]],
        tolerance=1e-5,
    )
    for source, to in CASTS
    for kind in np.dtype(source).kind
]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("case", OTHERS, ids=name_of)
def test_operators(case, ranks, rng):
    check(case, ranks, rng, tries=30 if np.bool_ in case.dtypes or case.name == "any" else 8)
