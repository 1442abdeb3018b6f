"""The binary functors, compiled with the CPU's math library, against the naive references."""

import itertools
from functools import cache

import mpmath
import numpy as np
import pytest
from numba import float32, from_dtype

from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.references.binary import binary, exact, largest_term
from ep.testing.references.convert import convert
from ep.testing.ulps import errors_in_ulps
from tests.common.functor.compiled import apply, functor

SEED = 20240611
REAL_TYPES = (np.float32, np.float64)
COMPLEX_TYPES = (np.complex64, np.complex128)
INTEGER_TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)

OPS = list(BinaryOp)
MATH = OPS[: BinaryOp.kZeta.value]
COMPARISONS = OPS[BinaryOp.kEqual.value : BinaryOp.kIsClose.value]
IS_CLOSE = [BinaryOp.kIsClose, BinaryOp.kIsCloseEqualNan]
LOGIC = [BinaryOp.kLogicalAnd, BinaryOp.kLogicalOr, BinaryOp.kLogicalXor]
BITWISE = [BinaryOp.kBitwiseAnd, BinaryOp.kBitwiseOr, BinaryOp.kBitwiseXor]
BACKWARD = [op for op in OPS if "Backward" in op.name]
POWER_GRADS = [BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad]
COMPLEX = [BinaryOp.kAdd, BinaryOp.kSub, BinaryOp.kMul, BinaryOp.kDiv, BinaryOp.kSqrtBackwardWithDyX]
TO_BOOL = COMPARISONS + IS_CLOSE + LOGIC

# Attributes to test in addition to the defaults.
MORE_ATTRIBUTES = {
    BinaryOp.kScalarBasePowerGrad: [(c,) for c in (2.0, 3.0, 0.5, 1.0, 0.0, -1.0, -2.0, 0.1, -3.3, 2.5)],
    BinaryOp.kScalarExpPowerGrad: [(c,) for c in (2.0, 10.0, 0.3, 1.0, 1.001, 0.0, -2.0, np.inf)],
    BinaryOp.kEluBackwardWithDyX: [(0.3,), (0.0,), (-2.5,)],
    BinaryOp.kCeluBackwardWithDyY: [(0.3,), (2.5,)],
    BinaryOp.kHardtanhBackwardWithDyY: [(-0.3, 2.2), (0.0, 6.0)],
    BinaryOp.kLeakyReluBackwardWithDyX: [(0.3,), (-1.5,)],
    BinaryOp.kSoftplusBackwardWithDyX: [(2.0, 5.0), (0.3, 20.0), (1.7, np.inf), (-0.7, 1.0)],
    BinaryOp.kThresholdBackwardWithDyX: [(0.0,), (0.1,), (-3.0,)],
}
CORNERS = [0.5, 1, 1.5, 2, 2.2, 3, 0.1, 0.3, 6, 8, 9, 10, 13, 14.5, 16, 20, 38.5, 40, 66.7, 80, 88.37, 88.72, 87.34]
CORNERS += [103.97, 110, 128, 149, 200, 220, 700, 708.4, 709.78, 745.2, 1022, 1024, 1074, 1500]


def evaluate(op: BinaryOp, a: np.ndarray, b: np.ndarray, attributes=()) -> np.ndarray:
    """Return op(a, b) in the source's type or bool; for power gradients of integers in float64, not yet converted."""
    result = a.dtype
    if op in TO_BOOL or (op in COMPARISONS and a.dtype.kind == "c"):
        result = np.bool_
    elif op in POWER_GRADS and a.dtype.kind in "biu":
        result = np.float64
    return apply(op, (a, b), np.dtype(result), attributes)


def attribute_sets(op: BinaryOp) -> list[tuple]:
    defaults = tuple(attribute.default for attribute in attributes_of(op))
    return ([] if None in defaults else [defaults]) + MORE_ATTRIBUTES.get(op, [])


def crossed(values: np.ndarray, others: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(values, values if others is None else others)
    return a.ravel(), b.ravel()


@cache
def special(scalar_type: type) -> np.ndarray:
    info = np.finfo(scalar_type)
    positive = [0, np.inf, 1, info.max, info.tiny, info.smallest_subnormal, 1 - info.epsneg, 1 + info.eps]
    positive += [0.5, 2, 3, 7.25, 100, 1e4]
    return np.array([*positive, *(-v for v in positive), np.nan], scalar_type)


@cache
def sample(scalar_type: type, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dy, normal numbers of any size and near 1; and x, numbers of any size, near 0, at corners, next to 1."""
    random = np.random.default_rng(SEED)
    info = np.finfo(scalar_type)
    low, high = np.log2(float(info.smallest_subnormal)), info.maxexp - 1e-3
    corners = np.array(CORNERS, scalar_type)
    magnitudes = np.concatenate(
        [
            2.0 ** np.linspace(low, high, count),
            2.0 ** random.uniform(-12, 12, count),
            random.uniform(0, 6, count),
            random.uniform(0, 40, count),
            random.uniform(0, 2.2 * np.log(float(info.max)), count),
            1 - 2.0 ** -np.arange(1, info.nmant + 2),
            1 + 2.0 ** -np.arange(1, info.nmant + 1),
            *(corners, np.nextafter(corners, scalar_type(0)), np.nextafter(corners, scalar_type(np.inf))),
        ]
    ).astype(scalar_type)
    x = np.tile(np.concatenate([magnitudes, -magnitudes]), 2)
    around_1 = random.standard_normal(x.size // 2)
    anywhere = 2.0 ** random.uniform(info.minexp, high, x.size // 2) * random.choice([-1, 1], x.size // 2)
    return np.concatenate([around_1, anywhere]).astype(scalar_type), x


def operands(op: BinaryOp, dy: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if op == BinaryOp.kCeluBackwardWithDyY:
        # y is -alpha at the least; y / alpha may overflow far below.
        x = np.maximum(x, x.dtype.type(-1e4))
    return (x, dy) if op in POWER_GRADS else (dy, x)


def is_indeterminate(op: BinaryOp, dy: np.ndarray, x: np.ndarray, attributes: tuple) -> np.ndarray:
    """Return where dy is 0 or infinite and its factor, rounded to the type, infinite or 0: the product is NaN or 0."""
    factor = binary(op, *operands(op, np.ones_like(dy), x), x.dtype, *attributes)
    with np.errstate(all="ignore"):
        return np.isnan(dy * factor) & ~np.isnan(dy)


def check(op: BinaryOp, a: np.ndarray, b: np.ndarray, attributes: tuple, skipped: np.ndarray | None = None) -> None:
    bound = tolerances.binary_ulps(op, a.dtype.type, tolerances.Library.HOST)
    got, want = evaluate(op, a, b, attributes), exact(op, a, b, *attributes)
    error = errors_in_ulps(got, want, largest_term(op, a, b, *attributes))
    if skipped is not None:
        error[skipped & (np.isnan(got) | ((got == 0) & np.isfinite(a) & np.isfinite(b)))] = 0
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (
        f"{op.name}{attributes} of {a[worst]!r}, {b[worst]!r}: got {got[worst]!r}, exactly {want[worst]!r}, "
        f"{error[worst]:.3g} ulp, {bound} allowed; seed {SEED}"
    )


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return where bits are equal, or both are NaN."""
    bits = f"u{got.dtype.itemsize}"
    if got.dtype.kind == "c":
        return same(got.real.copy(), want.real.copy()) & same(got.imag.copy(), want.imag.copy())
    if got.dtype.kind != "f":
        return got == want
    return (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))


def check_same(op: BinaryOp, a: np.ndarray, b: np.ndarray, got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    wrong = np.flatnonzero(~same(got, want))
    assert wrong.size == 0, (
        f"{op.name} of {a[wrong[0]]!r}, {b[wrong[0]]!r}: got {got[wrong[0]]!r}, want {want[wrong[0]]!r}; "
        f"{wrong.size} of {got.size} differ; seed {SEED}"
    )


# Floating point

EXACTLY_ROUNDED = [op for op in MATH if op not in (*POWER_GRADS, BinaryOp.kPow)]
ROUNDED_MORE_THAN_ONCE = [*POWER_GRADS, *BACKWARD]


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", EXACTLY_ROUNDED, ids=lambda op: op.name)
def test_arithmetic_is_exactly_rounded(op, scalar_type):
    for a, b in (sample(scalar_type, 400), crossed(special(scalar_type))):
        check_same(op, a, b, evaluate(op, a, b), exact(op, a, b))


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", ROUNDED_MORE_THAN_ONCE, ids=lambda op: op.name)
def test_gradients_are_close_to_the_reference(op, scalar_type):
    slow_reference = op in tolerances.SLOW_BINARY_REFERENCE
    dy, x = sample(scalar_type, 50 if slow_reference else 200)
    for attributes in attribute_sets(op):
        check(op, *operands(op, dy, x), attributes)


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", ROUNDED_MORE_THAN_ONCE, ids=lambda op: op.name)
def test_gradients_of_special_values(op, scalar_type):
    dy, x = crossed(special(scalar_type))
    for attributes in attribute_sets(op):
        check(op, *operands(op, dy, x), attributes, is_indeterminate(op, dy, x, attributes))


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", [*MATH, BinaryOp.kZeta, *BACKWARD], ids=lambda op: op.name)
def test_nan_in_nan_out(op, scalar_type):
    values, nan = special(scalar_type), np.full(special(scalar_type).size, np.nan, scalar_type)
    for attributes in attribute_sets(op):
        first, second = evaluate(op, nan, values, attributes), evaluate(op, values, nan, attributes)
        if op == BinaryOp.kPow:
            assert (np.isnan(first) == (values != 0)).all()
            assert (np.isnan(second) == (values != 1)).all()
            continue
        assert np.isnan(first).all(), (op, attributes, values[~np.isnan(first)])
        if op != BinaryOp.kIdentityBackwardWithDyX:
            assert np.isnan(second).all(), (op, attributes, values[~np.isnan(second)])


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize(
    "op",
    [getattr(BinaryOp, f"k{name}BackwardWithDyX") for name in ("Gelu", "FastGelu", "QuickGelu", "Silu", "Mish")]
    + [getattr(BinaryOp, f"k{name}BackwardWithDyX") for name in ("Elu", "Softplus", "Relu", "Hardswish")],
    ids=lambda op: op.name,
)
def test_gradients_at_infinity_are_the_limits(op, scalar_type):
    dy = np.array([2.5, -3, np.finfo(scalar_type).max, 0], scalar_type)
    attributes = attribute_sets(op)[0] if attributes_of(op) else ()
    infinity = np.full(dy.size, np.inf, scalar_type)
    assert (evaluate(op, dy, infinity, attributes) == dy).all()
    assert (evaluate(op, dy, -infinity, attributes) == 0).all()


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_power_follows_c(scalar_type):
    for a, b in (sample(scalar_type, 300)[::-1], crossed(special(scalar_type))):
        want = exact(BinaryOp.kPow, a, b)
        error = errors_in_ulps(evaluate(BinaryOp.kPow, a, b), want)
        bound = tolerances.binary_ulps(BinaryOp.kPow, scalar_type, tolerances.Library.HOST)
        assert error.max() <= bound, (a[error.argmax()], b[error.argmax()])


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_zeta(scalar_type):
    random = np.random.default_rng(SEED)
    count = 60
    x = np.concatenate(
        [random.uniform(1, 4, count), random.uniform(1, 40, count), 1 + 2.0 ** random.uniform(-20, 8, count)]
    )
    q = np.concatenate(
        [random.uniform(0, 4, count), random.uniform(0, 60, count), 2.0 ** random.uniform(-30, 60, count)]
    )
    negative_q, integer_x = random.uniform(-30, 0, count), random.integers(2, 12, count)
    for a, b in ((x, q), (integer_x, negative_q), crossed(special(scalar_type))):
        check(BinaryOp.kZeta, a.astype(scalar_type), b.astype(scalar_type), ())


def test_zeta_of_large_exponents():
    """In the power of a base, the rounding error of the base is x times as large."""
    random = np.random.default_rng(SEED)
    x, q = random.uniform(70, 120, 60), random.uniform(128, 400, 60)
    check(BinaryOp.kZeta, np.append(x, 78.19563364492623), np.append(q, 254.67178963054093), ())


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
def test_zeta_far_left_takes_no_longer(scalar_type):
    q = np.array([-(2.0 ** (np.finfo(scalar_type).nmant - 1)) + 0.5], scalar_type)
    x = np.array([2], scalar_type)
    # Nearly the sum over all integers: pi^2 / sin^2(pi / 2).
    np.testing.assert_allclose(evaluate(BinaryOp.kZeta, x, q), np.pi**2, rtol=1e-5)


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", COMPARISONS + LOGIC, ids=lambda op: op.name)
def test_float_comparisons(op, scalar_type):
    a, b = crossed(special(scalar_type))
    check_same(op, a, b, evaluate(op, a, b), exact(op, a, b))


@pytest.mark.parametrize("scalar_type", REAL_TYPES)
@pytest.mark.parametrize("op", IS_CLOSE, ids=lambda op: op.name)
def test_float_is_close(op, scalar_type):
    random = np.random.default_rng(SEED)
    near = random.standard_normal(2000).astype(scalar_type)
    far = (near * (1 + 2e-5 * random.standard_normal(2000))).astype(scalar_type)
    for attributes in ((1e-8, 1e-5), (0.0, 0.0), (0.5, 0.0), (0.0, 0.5)):
        for a, b in (crossed(special(scalar_type)), (near, far)):
            check_same(op, a, b, evaluate(op, a, b, attributes), exact(op, a, b, *attributes))


@pytest.mark.parametrize("op", [*MATH, BinaryOp.kZeta, *BACKWARD], ids=lambda op: op.name)
def test_float32_stays_float32(op):
    f = functor(op, np.float32)
    arguments = (float32,) * (2 + len(attributes_of(op)))
    f.compiled.compile(arguments)
    compiled = f.compiled.overloads[arguments]
    assert str(compiled.signature.return_type) == "float32"
    # A constant of the wrong type would widen its operands. Only the wrappers for Python's floats may do so.
    for function in compiled.library.get_llvm_str().split("define ")[1:]:
        assert "@Py" in function or " fpext float" not in function


# Integers


@cache
def integers(scalar_type: type) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of 8-bit numbers; of wider ones the extremes, the small ones and a random choice."""
    info = np.iinfo(scalar_type)
    if info.bits == 8:
        return crossed(np.arange(info.min, info.max + 1).astype(scalar_type))
    random = np.random.default_rng(SEED)
    middle = 2 ** (info.bits // 2)
    values = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, middle, middle - 1, 46341, *range(12)]
    values += [-v for v in values if -v >= info.min]
    values = [v for v in values if info.min <= v <= info.max]
    chosen = random.integers(info.min, info.max, 15, scalar_type, endpoint=True)
    return crossed(np.concatenate([np.array(values, scalar_type), chosen]))


@pytest.mark.parametrize("scalar_type", INTEGER_TYPES)
@pytest.mark.parametrize("op", [op for op in MATH if op not in POWER_GRADS] + BITWISE, ids=lambda op: op.name)
def test_integer_arithmetic(op, scalar_type):
    a, b = integers(scalar_type)
    check_same(op, a, b, evaluate(op, a, b), exact(op, a, b))


@pytest.mark.parametrize("scalar_type", [t for t in INTEGER_TYPES if np.iinfo(t).min < 0])
def test_division_of_the_most_negative_number_wraps(scalar_type):
    low = np.iinfo(scalar_type).min
    a, b = np.array([low, low, 7, -7, -7, 7], scalar_type), np.array([-1, 0, 0, 2, -2, -2], scalar_type)
    table = {
        BinaryOp.kDiv: [low, 0, 0, -3, 3, -3],
        BinaryOp.kTruncDiv: [low, 0, 0, -3, 3, -3],
        BinaryOp.kFloorDiv: [low, 0, 0, -4, 3, -4],
        BinaryOp.kFmod: [0, 0, 0, -1, -1, 1],
        BinaryOp.kFloorMod: [0, 0, 0, 1, -1, -1],
    }
    for op, want in table.items():
        check_same(op, a, b, evaluate(op, a, b), np.array(want, scalar_type))


@pytest.mark.parametrize("scalar_type", INTEGER_TYPES)
def test_integer_power(scalar_type):
    cases = [(0, 0, 1), (0, 3, 0), (1, 100, 1), (3, 4, 81), (2, 6, 64), (2, np.iinfo(scalar_type).bits, 0)]
    if np.iinfo(scalar_type).min < 0:
        cases += [(-1, 3, -1), (-2, 3, -8), (1, -5, 1), (-1, -5, -1), (-1, -4, 1), (2, -1, 0), (-7, -2, 0), (0, -1, 0)]
    a, b, want = np.array(cases, scalar_type).T.copy()
    check_same(BinaryOp.kPow, a, b, evaluate(BinaryOp.kPow, a, b), want)


@pytest.mark.parametrize("scalar_type", INTEGER_TYPES)
@pytest.mark.parametrize("op", COMPARISONS + LOGIC, ids=lambda op: op.name)
def test_integer_comparisons(op, scalar_type):
    a, b = integers(scalar_type)
    check_same(op, a, b, evaluate(op, a, b), exact(op, a, b))


@pytest.mark.parametrize("scalar_type", [*INTEGER_TYPES, np.bool_])
@pytest.mark.parametrize("op", IS_CLOSE, ids=lambda op: op.name)
def test_integer_is_close(op, scalar_type):
    a, b = integers(scalar_type) if scalar_type is not np.bool_ else crossed(np.array([False, True]))
    for attributes in ((1e-8, 1e-5), (0.0, 0.0), (1.5, 0.0), (0.0, 0.25)):
        check_same(op, a, b, evaluate(op, a, b, attributes), exact(op, a, b, *attributes))


@pytest.mark.parametrize("scalar_type", [*INTEGER_TYPES, np.bool_])
@pytest.mark.parametrize("op", POWER_GRADS, ids=lambda op: op.name)
def test_integer_power_gradients(op, scalar_type):
    signed = np.dtype(scalar_type).kind == "i"
    values = np.arange(-9 if signed else 0, 10) if scalar_type is not np.bool_ else np.array([0, 1])
    x, dy = crossed(values.astype(scalar_type))
    for c in (2.0, 3.0, 1.0, 0.0, 0.5, 2.5):
        check_same(op, x, dy, convert(evaluate(op, x, dy, (c,)), scalar_type), binary(op, x, dy, scalar_type, c))


# Bool


def test_bool_tables():
    a, b = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    table = {
        BinaryOp.kAdd: [0, 1, 1, 1],
        BinaryOp.kSub: [0, 1, 1, 0],
        BinaryOp.kMul: [0, 0, 0, 1],
        BinaryOp.kDiv: [0, 0, 0, 1],
        BinaryOp.kMax: [0, 1, 1, 1],
        BinaryOp.kMin: [0, 0, 0, 1],
        BinaryOp.kPow: [1, 0, 1, 1],
        BinaryOp.kFmod: [0, 0, 0, 0],
        BinaryOp.kFloorDiv: [0, 0, 0, 1],
        BinaryOp.kTruncDiv: [0, 0, 0, 1],
        BinaryOp.kFloorMod: [0, 0, 0, 0],
        BinaryOp.kBitwiseAnd: [0, 0, 0, 1],
        BinaryOp.kBitwiseOr: [0, 1, 1, 1],
        BinaryOp.kBitwiseXor: [0, 1, 1, 0],
        BinaryOp.kLogicalAnd: [0, 0, 0, 1],
        BinaryOp.kLogicalOr: [0, 1, 1, 1],
        BinaryOp.kLogicalXor: [0, 1, 1, 0],
        BinaryOp.kEqual: [1, 0, 0, 1],
        BinaryOp.kNotEqual: [0, 1, 1, 0],
        BinaryOp.kLessThan: [0, 1, 0, 0],
        BinaryOp.kLessEqual: [1, 1, 0, 1],
        BinaryOp.kGreaterThan: [0, 0, 1, 0],
        BinaryOp.kGreaterEqual: [1, 0, 1, 1],
    }
    for op, want in table.items():
        want = np.array(want, np.bool_)
        check_same(op, a, b, evaluate(op, a, b), want)
        check_same(op, a, b, exact(op, a, b), want)


# Complex numbers


@cache
def complex_numbers(scalar_type: type) -> np.ndarray:
    random = np.random.default_rng(SEED)
    real_type = scalar_type(0).real.dtype.type
    info = np.finfo(real_type)
    parts = [0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, float(info.max) / 4, float(info.tiny) * 8]
    chosen = random.standard_normal(20) + 1j * random.standard_normal(20)
    # complex(a, b) keeps the signs of zeros, where a + 1j * b would not.
    return np.array([complex(a, b) for a, b in itertools.product(parts, parts)] + chosen.tolist(), scalar_type)


@pytest.mark.parametrize("scalar_type", COMPLEX_TYPES)
@pytest.mark.parametrize("op", COMPLEX, ids=lambda op: op.name)
def test_complex_is_what_numpy_does(op, scalar_type):
    a, b = crossed(complex_numbers(scalar_type))
    # If a product of two parts overflows and is added to an infinity, the result depends on NumPy's fused multiply-add.
    huge = [np.fmax(np.abs(v.real), np.abs(v.imag)) > np.finfo(scalar_type).max / 16 for v in (a, b)]
    kept = ~(huge[0] & huge[1]) | (op != BinaryOp.kMul)
    a, b = a[kept], b[kept]
    got, want = evaluate(op, a, b), exact(op, a, b)
    f = functor(op, scalar_type)
    arguments = (from_dtype(np.dtype(scalar_type)),) * 2
    f.compiled.compile(arguments)
    assert f.compiled.overloads[arguments].signature.return_type == from_dtype(np.dtype(scalar_type))
    tolerance = tolerances.COMPLEX_BINARY_EPSILONS * np.finfo(scalar_type).eps
    with np.errstate(all="ignore"):
        # The rounding error of a part is relative to the products that are added in it.
        size = np.maximum(np.abs(want.real), np.abs(want.imag))
        size = np.where(np.isfinite(size), np.maximum(size, np.finfo(scalar_type).tiny), np.inf)
        for p, q in ((got.real, want.real), (got.imag, want.imag)):
            good = (p == q) | (np.isnan(p) & np.isnan(q)) | (np.isfinite(q) & (np.abs(p - q) <= tolerance * size))
            wrong = np.flatnonzero(~good)
            assert wrong.size == 0, (op, a[wrong[:3]], b[wrong[:3]], got[wrong[:3]], want[wrong[:3]])


@pytest.mark.parametrize("scalar_type", COMPLEX_TYPES)
@pytest.mark.parametrize("op", [BinaryOp.kEqual, BinaryOp.kNotEqual], ids=lambda op: op.name)
def test_complex_comparisons(op, scalar_type):
    a, b = crossed(complex_numbers(scalar_type))
    check_same(op, a, b, evaluate(op, a, b), exact(op, a, b))


@pytest.mark.parametrize(
    ("scalar_type", "dy", "points"),
    [(np.float32, 1e37, [-8.9, -9.1, -14, -15, -17.55]), (np.float64, 1e300, [-29.9, -30.1, -37, -39, -45])],
    ids=["float32", "float64"],
)
def test_gelu_gradient_far_on_the_left(scalar_type, dy, points):
    """e^(-x^2 / 2) rounds to 0 there, but dy times it does not; the result has a small relative error."""
    for point in points:
        x = mpmath.mpf(float(scalar_type(point)))
        slope = mpmath.ncdf(x) + x * mpmath.npdf(x)
        want = float(mpmath.mpf(float(scalar_type(dy))) * slope)
        (got,) = evaluate(BinaryOp.kGeluBackwardWithDyX, np.array([dy], scalar_type), np.array([point], scalar_type))
        assert abs(float(got) - want) <= 16 * np.finfo(scalar_type).eps * abs(want), (point, got, want)
