"""The ops of one operand on dense samples, at special numbers and with other attributes, in both real arithmetics."""

import numpy as np
import pytest

from ep import DeviceType, UnaryOp
from ep.include import DataType
from ep.include.number_kind import COMPLEXES
from ep.include.primitive import ElementwiseUnary, ElementwiseUnaryFactory, registered
from ep.testing import tolerances
from ep.testing.agreement import check_unary
from ep.testing.references.unary import unary
from ep.testing.samples import dense, sized
from tests.primitive.values import SEED, attribute_sets, complex_numbers

INF = np.inf
REALS = (DataType.kFloat, DataType.kDouble)
KEYS = [(one.op, *one.dtypes) for one in registered(DeviceType.kCPU) if one.interface is ElementwiseUnary]


def keys(types):
    found = [key for key in KEYS if key[1] in types and key[2] in (*types, DataType.kFloat, DataType.kDouble)]
    return pytest.mark.parametrize("key", found, ids=lambda key: "-".join(part.name for part in key))


def launch(device, key, x, attributes=()):
    dst = device.empty(x.size, key[2])
    device.require(ElementwiseUnaryFactory, *key, *attributes).Launch(device.stream, device.buffer(x), dst, x.size)
    return device.array(dst)


@keys(REALS)
def test_close_to_the_reference(device, key):
    op, src_type, _ = key
    slow = op in tolerances.SLOW_REFERENCE and src_type is DataType.kDouble
    x = dense(src_type.dtype.type, sized(device, 300 if slow else 2000, 20))
    if op is UnaryOp.kLgamma and device.library in tolerances.OF_CUDA:
        x = x[~((x > -10.001) & (x < -2.264))]  # CUDA's manual has no bound there
    for attributes in attribute_sets(op):
        check_unary(device.library, op, src_type, launch(device, key, x, attributes), x, attributes)


@pytest.mark.parametrize("data_type", REALS, ids=lambda t: t.name)
def test_signs_of_zero(device, data_type):
    zeros = np.array([0.0, -0.0], data_type.dtype)

    def launched(op, *attributes):
        return launch(device, (op, data_type, data_type), zeros, attributes)

    def signs(op, *attributes):
        return list(np.signbit(launched(op, *attributes)))

    for op in (UnaryOp.kRelu, UnaryOp.kSign, UnaryOp.kAbs, UnaryOp.kReciprocalNoNan, UnaryOp.kSquareReLU):
        assert signs(op) == [False, False], op
    for op in (UnaryOp.kIdentity, UnaryOp.kTanh, UnaryOp.kRint, UnaryOp.kRound, UnaryOp.kTrunc, UnaryOp.kSqrt):
        assert signs(op) == [False, True], op
    assert signs(UnaryOp.kElu, 1.0) == [False, True]
    assert signs(UnaryOp.kNegative) == [True, False]
    assert launched(UnaryOp.kDigamma).tolist() == [-INF, INF]
    assert launched(UnaryOp.kReciprocal).tolist() == [INF, -INF]


@keys(COMPLEXES)
def test_complex_numbers(device, key):
    op, src_type, dst_type = key
    random = np.random.default_rng(SEED)
    largest = np.finfo(src_type.dtype).max
    parts = random.permutation(dense(src_type.dtype.type(0).real.dtype.type, 6))[: sized(device, 120, 9)]
    parts = [*parts.tolist(), 0.0, -0.0, INF, -INF, np.nan, 1, -1, largest, -largest]
    x = complex_numbers(parts, (), src_type.dtype)
    got, want = launch(device, key, x), unary(op, x, dst_type.dtype)
    bound = tolerances.COMPLEX_ULPS.get(op, 0)
    for part in ("real", "imag") if got.dtype.kind == "c" else ("real",):
        one, other = getattr(got, part), getattr(want, part)
        if not bound:
            np.testing.assert_array_equal(one, other)
            continue
        finite = np.isfinite(other)
        np.testing.assert_array_equal(one[~finite], other[~finite])
        np.testing.assert_array_equal(np.signbit(one[other == 0]), np.signbit(other[other == 0]))
        worst = np.max(np.abs(one[finite] - other[finite]) / np.spacing(np.abs(other[finite])))
        assert worst <= bound, f"{op.name}, {part} part: {worst} ulp"
