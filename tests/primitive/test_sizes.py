"""Sizes and dims that equal integers without being integers: the same result before and after the first launch."""

from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.include import DataType
from ep.include.primitive import (
    AddFactory,
    BatchGatherFactory,
    BroadcastElementwiseBinaryFactory,
    BroadcastElementwiseUnaryFactory,
    CastFactory,
    ConstantPadFactory,
    CopyNdFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    FillFactory,
    GatherFactory,
    MemcpyFactory,
    MemcpyKind,
    MemsetFactory,
    OneHotFactory,
    PermuteFactory,
    TensorFillFactory,
    WhereFactory,
)
from ep.testing.keys import needs_one_of

NO_INTEGERS = [2.0, np.float64(2), np.float32(2), Fraction(2), Decimal(2), 2 + 0j]
INTEGERS = [np.int64(2), np.uint8(2)]


def cases(device):
    """Return by name: a function (size, dst) that launches with the size in place of a 2, and the argument's name."""
    x, rows = device.buffer(np.arange(4, dtype=np.float32)), device.buffer(np.array([1, 0]))
    unary = device.require(ElementwiseUnaryFactory, UnaryOp.kAbs, "float32", "float32")
    binary = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2)
    expand = device.require(ExpandFactory, "float32", 2)
    gather = device.require(GatherFactory, "float32", "int64")
    batch_gather = device.require(BatchGatherFactory, "float32", "int64")
    s = device.stream
    return {
        "unary count": (lambda n, dst: unary.Launch(s, x, dst, n), "count"),
        "binary src0_dims": (lambda n, dst: binary.Launch(s, (n, 1), x, (2, 2), x, dst), r"src0_dims\[0\]"),
        "binary src1_dims": (lambda n, dst: binary.Launch(s, (2, 1), x, (2, n), x, dst), r"src1_dims\[1\]"),
        "expand src_dims": (lambda n, dst: expand.Launch(s, (n, 1), x, (2, 2), dst), r"src_dims\[0\]"),
        "expand dst_dims": (lambda n, dst: expand.Launch(s, (2, 1), x, (2, n), dst), r"dst_dims\[1\]"),
        "expand src_strides": (
            lambda n, dst: expand.Launch(s, (2, 1), x, (2, 2), dst, (n, 1), (2, 1)),
            r"src_strides\[0\]",
        ),
        "expand dst_strides": (
            lambda n, dst: expand.Launch(s, (2, 1), x, (2, 2), dst, (2, 1), (n, 1)),
            r"dst_strides\[0\]",
        ),
        "gather size": (lambda n, dst: gather.Launch(s, 1, n, 2, x, 2, rows, dst), "gather_dim_size"),
        "gather num_indices": (lambda n, dst: gather.Launch(s, 1, 2, 2, x, n, rows, dst), "num_indices"),
        "gather offset": (lambda n, dst: gather.Launch(s, 1, 2, 2, x, 2, rows, dst, n), "offset"),
        "batch gather": (lambda n, dst: batch_gather.Launch(s, n, 1, 2, 1, x, 1, rows, dst), "batch_dim_size"),
    }


def move_case(device, factory, argument):
    """Return such a case for one argument of a primitive that moves data."""
    s, t, x = device.stream, "float32", device.buffer(np.arange(4, dtype=np.float32))
    key = {PermuteFactory: (3,), CopyNdFactory: (2,), ConstantPadFactory: (t,), MemcpyFactory: (MemcpyKind.kDtoD,)}
    launch = device.require(factory, *key.get(factory, ())).Launch
    launches = {
        (PermuteFactory, "src_dims"): lambda n, dst: launch(s, t, (n, 2), x, (1, 0), dst),
        (PermuteFactory, "permutation"): lambda n, dst: launch(s, t, (1, 2, 2), x, (1, n, 0), dst),
        (CopyNdFactory, "dst_dims"): lambda n, dst: launch(s, t, dst, (2, n), (0, 0), x, (2, 2), (0, 0), (1, 2)),
        (CopyNdFactory, "dst_pos"): lambda n, dst: launch(s, t, dst, (1, 4), (0, n), x, (2, 2), (0, 0), (1, 2)),
        (CopyNdFactory, "src_dims"): lambda n, dst: launch(s, t, dst, (2, 2), (0, 0), x, (n, 2), (0, 0), (1, 2)),
        (CopyNdFactory, "src_pos"): lambda n, dst: launch(s, t, dst, (2, 2), (0, 0), x, (1, 4), (0, n), (1, 2)),
        (CopyNdFactory, "extent"): lambda n, dst: launch(s, t, dst, (2, 2), (0, 0), x, (2, 2), (0, 0), (1, n)),
        (ConstantPadFactory, "src_dims"): lambda n, dst: launch(s, (n,), x, (1,), (1,), 5, dst),
        (ConstantPadFactory, "padding_before"): lambda n, dst: launch(s, (1,), x, (n,), (1,), 5, dst),
        (ConstantPadFactory, "padding_after"): lambda n, dst: launch(s, (1,), x, (1,), (n,), 5, dst),
        (MemcpyFactory, "count"): lambda n, dst: launch(s, dst, x, n),
        (MemsetFactory, "count"): lambda n, dst: launch(s, dst, 7, n),
        (MemsetFactory, "value"): lambda n, dst: launch(s, dst, n, 16),
    }
    return launches[factory, argument]


def map_case(device, factory, argument):
    """Return such a case for one argument of a primitive that computes elements."""
    s, x, i = device.stream, device.buffer(np.arange(4, dtype=np.float32)), device.buffer(np.array([1, 0]))
    key = {CastFactory: ("float32",) * 2, OneHotFactory: ("int64", "float32"), WhereFactory: ("int64", "float32", 2)}
    key[BroadcastElementwiseUnaryFactory] = UnaryOp.kAbs, "float32", "float32", 2
    primitive = device.require(factory, *key.get(factory, ("float32",)))
    launch = primitive.Launch
    launches = {
        (AddFactory, "count"): lambda n, dst: launch(s, [x, x], dst, n),
        (CastFactory, "count"): lambda n, dst: launch(s, x, dst, n),
        (FillFactory, "count"): lambda n, dst: launch(s, dst, 1, n),
        (TensorFillFactory, "count"): lambda n, dst: launch(s, x, dst, n),
        (OneHotFactory, "num_indices"): lambda n, dst: launch(s, i, dst, 1, 0, n, 0, 2),
        (OneHotFactory, "lower_bound"): lambda n, dst: launch(s, i, dst, 1, 0, 2, n, 4),
        (OneHotFactory, "upper_bound"): lambda n, dst: launch(s, i, dst, 1, 0, 2, 0, n),
        (WhereFactory, "cond_dims"): lambda n, dst: launch(s, (n,), i, (2, 1), x, (1, 2), x, dst),
        (WhereFactory, "x_dims"): lambda n, dst: launch(s, (2,), i, (n, 1), x, (1, 2), x, dst),
        (WhereFactory, "y_dims"): lambda n, dst: launch(s, (2,), i, (2, 1), x, (1, n), x, dst),
        (BroadcastElementwiseUnaryFactory, "src_dims"): lambda n, dst: launch(s, (n, 1), x, (2, 2), dst),
        (BroadcastElementwiseUnaryFactory, "dst_dims"): lambda n, dst: launch(s, (2, 1), x, (2, n), dst),
        (BroadcastElementwiseUnaryFactory, "src_strides"): lambda n, dst: launch(s, (2, 1), x, (2, 2), dst, (n, 1)),
        (BroadcastElementwiseUnaryFactory, "dst_strides"): lambda n, dst: launch(
            s, (2, 1), x, (2, 2), dst, (2, 1), (n, 1)
        ),
    }
    return launches[factory, argument]


MAPS = [
    *((factory, "count") for factory in (AddFactory, CastFactory, FillFactory, TensorFillFactory)),
    *((OneHotFactory, argument) for argument in ("num_indices", "lower_bound", "upper_bound")),
    *((WhereFactory, argument) for argument in ("cond_dims", "x_dims", "y_dims")),
    *(
        (BroadcastElementwiseUnaryFactory, argument)
        for argument in ("src_dims", "dst_dims", "src_strides", "dst_strides")
    ),
]
MOVES = [
    *((PermuteFactory, argument) for argument in ("src_dims", "permutation")),
    *((CopyNdFactory, argument) for argument in ("dst_dims", "dst_pos", "src_dims", "src_pos", "extent")),
    *((ConstantPadFactory, argument) for argument in ("src_dims", "padding_before", "padding_after")),
    *((factory, "count") for factory in (MemcpyFactory, MemsetFactory)),
    (MemsetFactory, "value"),
]
each_argument = pytest.mark.parametrize(
    ("make", "factory", "argument"),
    [
        pytest.param(make, *of, marks=needs_one_of(of[0]), id=f"{of[0].primitive.__name__} {of[1]}")
        for make, cases_of in ((map_case, MAPS), (move_case, MOVES))
        for of in cases_of
    ],
)


@each_argument
def test_maps_and_moves_refuse_what_is_no_integer_cold_and_warm(device, make, factory, argument):
    launch = make(device, factory, argument)
    for _ in range(3):
        dst = device.filled(4, DataType.kFloat)
        for wrong in NO_INTEGERS:
            with pytest.raises(TypeError, match=rf"{argument}.* must be an integer, not"):
                launch(wrong, dst)
        assert set(device.array(dst).view(np.uint8)) == {0xA5}
        launch(2, dst)


@each_argument
def test_maps_and_moves_take_integers_of_any_type_cold_and_warm(device, make, factory, argument):
    launch = make(device, factory, argument)
    for _ in range(2):
        results = set()
        for number in (*INTEGERS, 2):
            dst = device.filled(4, DataType.kFloat)
            launch(number, dst)
            results.add(device.array(dst).tobytes())
        assert len(results) == 1


NAMES = [
    *("unary count", "binary src0_dims", "binary src1_dims", "expand src_dims", "expand dst_dims"),
    *("expand src_strides", "expand dst_strides", "gather size", "gather num_indices", "gather offset", "batch gather"),
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_integer_is_refused_cold_and_warm(device, name):
    launch, argument = cases(device)[name]
    for _ in range(3):  # before a launch, after one, and after another one that follows refused launches
        dst = device.filled(4, DataType.kFloat)
        for wrong in NO_INTEGERS:
            with pytest.raises(TypeError, match=f"{argument} must be an integer, not"):
                launch(wrong, dst)
        assert set(device.array(dst).view(np.uint8)) == {0xA5}
        launch(2, dst)


@pytest.mark.parametrize("name", NAMES)
def test_integers_of_any_type_are_taken_cold_and_warm(device, name):
    launch, _ = cases(device)[name]
    for _ in range(2):
        results = []
        for number in (*INTEGERS, 2):
            dst = device.filled(4, DataType.kFloat)
            launch(number, dst)
            results.append(device.array(dst).tobytes())
        assert len(set(results)) == 1


def test_true_is_one_cold_and_warm(device):
    binary = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2)
    x = device.buffer(np.arange(4, dtype=np.float32))
    for one in (True, 1, True, 1):
        dst = device.filled(4, DataType.kFloat)
        binary.Launch(device.stream, (4, one), x, (one, one), x, dst)
        assert device.array(dst).tolist() == [0, 1, 2, 3]


def test_dims_of_other_types(device):
    """Test named tuples, of the kind of `torch.Size`, lists and arrays."""
    pair = namedtuple("pair", "rows columns")
    binary = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2)
    x = device.buffer(np.arange(4, dtype=np.float32))
    for dims in ((2, 2), pair(2, 2), [2, 2], np.array([2, 2]), pair(2, 2)):
        dst = device.filled(4, DataType.kFloat)
        binary.Launch(device.stream, dims, x, dims, x, dst)
        assert device.array(dst).tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"src0_dims\[1\] must be an integer, not 2\.0"):
        binary.Launch(device.stream, pair(2, 2.0), x, (2, 2), x, dst)
