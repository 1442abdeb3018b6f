"""The unary functors, compiled with the CPU's math library, against the naive references."""

import numpy as np
import pytest

from ep.common.functor.lookup import functor_maker
from ep.include.number_kind import Kind
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp
from ep.testing import tolerances
from ep.testing.references.unary import exact, unary
from ep.testing.samples import dense
from ep.testing.ulps import errors_in_ulps
from tests.common.functor.compiled import apply

SEED = 20240607
REAL_TYPES = (np.float32, np.float64)
COMPLEX_TYPES = (np.complex64, np.complex128)
INTEGER_TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
TO_BOOL = (UnaryOp.kLogicalNot, UnaryOp.kIsInf, UnaryOp.kIsNan, UnaryOp.kIsFinite)
TO_COMPLEX = (UnaryOp.kRealGrad, UnaryOp.kImagGrad)
# Attributes to test in addition to the defaults.
MORE_ATTRIBUTES = {
    UnaryOp.kElu: [(0.3,), (0.0,), (-2.0,)],
    UnaryOp.kCelu: [(0.3,), (2.5,)],
    UnaryOp.kHardShrink: [(0.0,), (-1.0,), (1.7,)],
    UnaryOp.kHardTanh: [(-0.3, 2.2), (0.0, 6.0), (2.0, 1.0)],
    UnaryOp.kLeakyRelu: [(0.3,), (-1.5,), (1.0,)],
    UnaryOp.kSoftShrink: [(0.0,), (1.7,), (-1.0,)],
    UnaryOp.kSoftPlus: [(2.0, 20.0), (0.25, 1.0), (-1.0, 20.0), (1.0, np.inf)],
    UnaryOp.kThreshold: [(0.5, -7.0), (-3.0, 0.1), (0.0, np.inf)],
}


def declared(kind: Kind) -> list[UnaryOp]:
    def has_functor(op: UnaryOp) -> bool:
        try:
            functor_maker(op, kind)
        except LookupError:
            return False
        return True

    return [op for op in UnaryOp if has_functor(op)]


def result_type(op: UnaryOp, scalar_type: type) -> np.dtype:
    if op in TO_BOOL:
        return np.dtype(np.bool_)
    if op in TO_COMPLEX:
        return np.result_type(scalar_type, np.complex64)
    return scalar_type(0).real.dtype if op in (UnaryOp.kReal, UnaryOp.kImag) else np.dtype(scalar_type)


def evaluate(op: UnaryOp, x: np.ndarray, attributes=()) -> np.ndarray:
    return apply(op, (x,), result_type(op, x.dtype.type), attributes)


def attribute_sets(op: UnaryOp) -> list[tuple]:
    defaults = tuple(attribute.default for attribute in attributes_of(op))
    return ([] if None in defaults else [defaults]) + MORE_ATTRIBUTES.get(op, [])


def float_ops() -> list[UnaryOp]:
    return [op for op in declared(Kind.FLOAT) if op not in TO_BOOL + TO_COMPLEX]


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", float_ops(), ids=lambda op: op.name)
def test_close_to_the_reference(op, scalar_type):
    slow_reference = op in tolerances.SLOW_REFERENCE and scalar_type is np.float64
    x = dense(scalar_type, 150 if slow_reference else 1500)
    bound = tolerances.unary_ulps(op, scalar_type, tolerances.Library.HOST)
    for attributes in attribute_sets(op):
        got = evaluate(op, x, attributes)
        want = exact(op, x, *attributes)
        with np.errstate(invalid="ignore"):
            error = errors_in_ulps(got, want, np.where(x < 0, tolerances.TERM_BELOW_ZERO.get(op, 0), 0))
        worst = int(np.argmax(error))
        assert error[worst] <= bound, (
            f"{op.name}{attributes} of {x[worst]!r}: got {got[worst]!r}, exactly {want[worst]!r}, "
            f"{error[worst]:.3g} ulp, {bound} allowed; seed {SEED}"
        )


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", float_ops(), ids=lambda op: op.name)
def test_nan_in_nan_out(op, scalar_type):
    expected = {UnaryOp.kSign: 0, UnaryOp.kNotEqualZero: 1, UnaryOp.kNanAssign: 0}.get(op, np.nan)
    x = np.full(19, np.nan, scalar_type)
    x[1::2] *= -1
    for attributes in attribute_sets(op):
        np.testing.assert_array_equal(evaluate(op, x, attributes), np.full(19, expected, scalar_type))


INF = np.inf
AT_INFINITY = {
    UnaryOp.kElu: (-1, INF),
    UnaryOp.kCelu: (-1, INF),
    UnaryOp.kSelu: (-1.7580993408473766, INF),
    UnaryOp.kRelu: (0, INF),
    UnaryOp.kSquareReLU: (0, INF),
    UnaryOp.kGelu: (0, INF),
    UnaryOp.kFastGelu: (0, INF),
    UnaryOp.kQuickGelu: (0, INF),
    UnaryOp.kSilu: (0, INF),
    UnaryOp.kMish: (0, INF),
    UnaryOp.kSoftPlus: (0, INF),
    UnaryOp.kLogSigmoid: (-INF, 0),
    UnaryOp.kSigmoid: (0, 1),
    UnaryOp.kSoftSign: (-1, 1),
    UnaryOp.kTanh: (-1, 1),
    UnaryOp.kHardSwish: (0, INF),
    UnaryOp.kHardSigmoid: (0, 1),
    UnaryOp.kHardTanh: (-1, 1),
    UnaryOp.kLgamma: (INF, INF),
    UnaryOp.kDigamma: (np.nan, INF),
    UnaryOp.kTrigamma: (np.nan, 0),
    UnaryOp.kSign: (-1, 1),
    UnaryOp.kReciprocal: (0, 0),
    UnaryOp.kReciprocalNoNan: (0, 0),
}


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", AT_INFINITY, ids=lambda op: op.name)
def test_at_infinity_and_at_the_ends_of_the_range(op, scalar_type):
    at_infinity = np.array(AT_INFINITY[op], scalar_type)
    got = evaluate(op, np.array([-INF, INF], scalar_type), attribute_sets(op)[0])
    np.testing.assert_array_equal(got, at_infinity)
    largest = np.finfo(scalar_type).max
    if not np.isnan(at_infinity).any() and op not in (UnaryOp.kLogSigmoid, UnaryOp.kLgamma):
        got = evaluate(op, np.array([-largest, largest], scalar_type), attribute_sets(op)[0])
        overflows = op in (UnaryOp.kSquareReLU, UnaryOp.kSelu)
        expected = np.where(np.isinf(at_infinity) & (not overflows), largest, at_infinity)
        tiny = np.finfo(scalar_type).smallest_normal
        np.testing.assert_allclose(got, expected, rtol=np.finfo(scalar_type).eps, atol=tiny)


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_signs_of_zero(scalar_type):
    zeros = np.array([0.0, -0.0], scalar_type)

    def signs(op, attributes=()):
        return list(np.signbit(evaluate(op, zeros, attributes)))

    for op in (UnaryOp.kRelu, UnaryOp.kSign, UnaryOp.kAbs, UnaryOp.kReciprocalNoNan, UnaryOp.kSquareReLU):
        assert signs(op) == [False, False], op
    for op in (UnaryOp.kIdentity, UnaryOp.kTanh, UnaryOp.kRint, UnaryOp.kRound, UnaryOp.kTrunc, UnaryOp.kSqrt):
        assert signs(op) == [False, True], op
    assert signs(UnaryOp.kElu, (1.0,)) == [False, True]
    assert signs(UnaryOp.kNegative) == [True, False]
    np.testing.assert_array_equal(evaluate(UnaryOp.kDigamma, zeros), [-INF, INF])
    np.testing.assert_array_equal(evaluate(UnaryOp.kReciprocal, zeros), [INF, -INF])


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_rounding_takes_ties_to_even(scalar_type):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5], scalar_type)
    for op in (UnaryOp.kRint, UnaryOp.kRound):
        np.testing.assert_array_equal(evaluate(op, x), [-2, -2, 0, 0, 2, 2, 4])


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_poles_of_the_gamma_functions(scalar_type):
    x = -np.arange(1, 60).astype(scalar_type)
    assert np.isposinf(evaluate(UnaryOp.kLgamma, x)).all()
    assert np.isposinf(evaluate(UnaryOp.kTrigamma, x)).all()
    assert np.isnan(evaluate(UnaryOp.kDigamma, x)).all()
    zeros = np.array([0.0, -0.0], scalar_type)
    assert np.isposinf(evaluate(UnaryOp.kLgamma, zeros)).all()
    assert np.isposinf(evaluate(UnaryOp.kTrigamma, zeros)).all()


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", TO_BOOL + TO_COMPLEX, ids=lambda op: op.name)
def test_other_result_types_of_real_numbers(op, scalar_type):
    x = dense(scalar_type, 20)
    got = evaluate(op, x)
    np.testing.assert_array_equal(got, unary(op, x, got.dtype))


@pytest.mark.parametrize("scalar_type", INTEGER_TYPES)
@pytest.mark.parametrize("op", declared(Kind.INTEGER), ids=lambda op: op.name)
def test_integers(op, scalar_type):
    info = np.iinfo(scalar_type)
    random = np.random.default_rng(SEED)
    x = random.integers(info.min, info.max, 37, dtype=scalar_type, endpoint=True)
    x = np.concatenate([x, np.array([0, 1, info.max, info.max - 1, info.min, info.min + 1], scalar_type)])
    got = evaluate(op, x)
    np.testing.assert_array_equal(got, unary(op, x, got.dtype), err_msg=f"seed {SEED}", strict=True)


@pytest.mark.parametrize("op", declared(Kind.BOOL), ids=lambda op: op.name)
def test_bool(op):
    x = np.array([False, True, True])
    np.testing.assert_array_equal(evaluate(op, x), unary(op, x, np.bool_), strict=True)


def complex_dense(scalar_type: type) -> np.ndarray:
    parts = dense(type(scalar_type(0).real), 6)
    random = np.random.default_rng(SEED)
    parts = np.concatenate([random.permutation(parts)[:120], np.array([0.0, -0.0, INF, -INF, np.nan, 1, -1])])
    x = np.empty((parts.size, parts.size), scalar_type)
    x.real, x.imag = parts[:, None], parts[None, :]
    return x.ravel()


@pytest.mark.parametrize("scalar_type", COMPLEX_TYPES)
@pytest.mark.parametrize("op", declared(Kind.COMPLEX), ids=lambda op: op.name)
def test_complex_numbers(op, scalar_type):
    x = complex_dense(scalar_type)
    got = evaluate(op, x)
    want = unary(op, x, got.dtype)
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
        assert worst <= bound, f"{op.name}, {part} part: {worst} ulp; seed {SEED}"


@pytest.mark.parametrize("scalar_type", COMPLEX_TYPES)
def test_complex_square_root_has_numpys_special_values(scalar_type):
    parts = np.array([0.0, -0.0, 1, -1, INF, -INF, np.nan, np.finfo(scalar_type).max, -np.finfo(scalar_type).max])
    x = np.empty((9, 9), scalar_type)
    x.real, x.imag = parts[:, None], parts[None, :]
    x = x.ravel()
    with np.errstate(all="ignore"):
        want = np.sqrt(x)
    got = evaluate(UnaryOp.kSqrt, x)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(scalar_type).eps)
    for part in ("real", "imag"):
        one, other = getattr(got, part), getattr(want, part)
        keep = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(one[keep]), np.signbit(other[keep]))
