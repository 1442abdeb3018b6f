"""The ops of two operands on dense samples, at special numbers, on integers of any size and with other attributes."""

import mpmath
import numpy as np
import pytest

from ep import BinaryOp, DeviceType
from ep.include import DataType
from ep.include.number_kind import BOOL, COMPLEXES, INTEGERS
from ep.include.primitive import BroadcastElementwiseBinary, BroadcastElementwiseBinaryFactory, registered
from ep.testing import tolerances
from ep.testing.agreement import check_binary
from ep.testing.references.binary import binary, exact
from ep.testing.samples import sized
from tests.primitive import values
from tests.primitive.values import attribute_sets, check_same, crossed, gradients_and_arguments

REALS = (DataType.kFloat, DataType.kDouble)
POWER_GRADS = (BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad)
IS_CLOSE = (BinaryOp.kIsClose, BinaryOp.kIsCloseEqualNan)
KEYS = [(one.op, *one.dtypes) for one in registered(DeviceType.kCPU) if one.interface is BroadcastElementwiseBinary]
BOUNDED = (*POWER_GRADS, BinaryOp.kPow, BinaryOp.kZeta)


def is_gradient(op):
    return op in POWER_GRADS or "Backward" in op.name


def keys(types, suits):
    found = [key for key in KEYS if key[1] in types and suits(key[0])]
    return pytest.mark.parametrize("key", found, ids=lambda key: "-".join(part.name for part in key))


def launch(device, key, a, b, attributes=()):
    dst = device.empty(a.size, key[2])
    primitive = device.require(BroadcastElementwiseBinaryFactory, *key, 1, *attributes)
    primitive.Launch(device.stream, a.shape, device.buffer(a), b.shape, device.buffer(b), dst)
    return device.array(dst)


def same_key(op, data_type):
    return op, data_type, data_type


def some(device, pairs):
    """Return pairs of operands, fewer of many if the device is simulated."""
    step = sized(device, 1, -(-pairs[0].size // 1000))
    return tuple(operand[::step] for operand in pairs)


@keys(REALS, lambda op: not is_gradient(op) and op not in (*BOUNDED, *IS_CLOSE))
def test_arithmetic_and_comparisons_have_the_bits_of_the_reference(device, key):
    op, src_type, dst_type = key
    scalar_type = src_type.dtype.type
    for pairs in (gradients_and_arguments(scalar_type, 400), crossed(values.special(scalar_type))):
        a, b = some(device, pairs)
        check_same(op, launch(device, key, a, b), exact(op, a, b).astype(dst_type.dtype), a, b)


@keys(REALS, is_gradient)
def test_gradients_are_close_to_the_reference(device, key):
    op, src_type, _ = key
    scalar_type = src_type.dtype.type
    pairs = gradients_and_arguments(scalar_type, 50 if op in tolerances.SLOW_BINARY_REFERENCE else 200)
    for number, (dy, x) in enumerate((pairs, crossed(values.special(scalar_type)))):
        dy, x = some(device, (dy, x))
        if op is BinaryOp.kCeluBackwardWithDyY:
            x = np.maximum(x, scalar_type(-1e4))  # y is -alpha at the least; y / alpha may overflow far below
        a, b = (x, dy) if op in POWER_GRADS else (dy, x)
        for attributes in attribute_sets(op):
            got = launch(device, key, a, b, attributes)
            kept = np.full(dy.shape, True)
            if number:  # where a factor is rounded to 0 or infinity, the product with its opposite is left open
                ones = np.ones_like(x)
                factor = binary(op, *((x, ones) if op in POWER_GRADS else (ones, x)), x.dtype, *attributes)
                with np.errstate(all="ignore"):
                    left_open = np.isnan(dy * factor) & ~np.isnan(dy)
                kept = ~(left_open & (np.isinf(dy) | np.isnan(got) | (got == 0)))
            check_binary(device.library, op, src_type, got[kept], a[kept], b[kept], attributes)


@keys(REALS, lambda op: op is BinaryOp.kPow)
def test_power_follows_c(device, key):
    op, src_type, _ = key
    scalar_type = src_type.dtype.type
    for pairs in (gradients_and_arguments(scalar_type, 300)[::-1], crossed(values.special(scalar_type))):
        a, b = some(device, pairs)
        check_binary(device.library, op, src_type, launch(device, key, a, b), a, b, ())


@keys(REALS, lambda op: op is BinaryOp.kZeta)
def test_zeta(device, key):
    op, src_type, _ = key
    random, scalar_type = np.random.default_rng(values.SEED), src_type.dtype.type
    count = sized(device, 60, 11)
    x = [random.uniform(1, 4, count), random.uniform(1, 40, count), 1 + 2.0 ** random.uniform(-20, 8, count)]
    q = [random.uniform(0, 4, count), random.uniform(0, 60, count), 2.0 ** random.uniform(-30, 60, count)]
    negative_q, integer_x = random.uniform(-30, 0, count), random.integers(2, 12, count)
    pairs = [(np.concatenate(x), np.concatenate(q)), (integer_x, negative_q), crossed(values.special(scalar_type))]
    if src_type is DataType.kDouble:  # in the power of a base, the rounding error of the base is x times as large
        large_x, large_q = random.uniform(70, 120, count), random.uniform(128, 400, count)
        pairs.append((np.append(large_x, 78.19563364492623), np.append(large_q, 254.67178963054093)))
    for a, b in pairs:
        a, b = a.astype(scalar_type), b.astype(scalar_type)
        check_binary(device.library, op, src_type, launch(device, key, a, b), a, b, ())
    # far on the left it takes no longer: nearly the sum over all integers, pi^2 / sin^2(pi / 2)
    far = np.array([-(2.0 ** (np.finfo(scalar_type).nmant - 1)) + 0.5], scalar_type)
    np.testing.assert_allclose(launch(device, key, np.array([2], scalar_type), far), np.pi**2, rtol=1e-5)


@keys((*REALS, *INTEGERS, *BOOL), lambda op: op in IS_CLOSE)
def test_is_close(device, key):
    op, src_type, _ = key
    if src_type in REALS:
        random, scalar_type = np.random.default_rng(values.SEED), src_type.dtype.type
        near = random.standard_normal(2000).astype(scalar_type)
        far = (near * (1 + 2e-5 * random.standard_normal(2000))).astype(scalar_type)
        pairs = [crossed(values.special(scalar_type)), (near, far)]
    else:
        pairs = [crossed(np.array([False, True])) if src_type in BOOL else values.integers(src_type)]
    for attributes in ((1e-8, 1e-5), (0.0, 0.0), (0.5, 0.0), (1.5, 0.0), (0.0, 0.5)):
        for a, b in (some(device, each) for each in pairs):
            check_same(op, launch(device, key, a, b, attributes), exact(op, a, b, *attributes), a, b)


@keys(INTEGERS, lambda op: op not in IS_CLOSE and op not in POWER_GRADS)
def test_integers(device, key):
    op, src_type, dst_type = key
    a, b = some(device, values.integers(src_type))
    check_same(op, launch(device, key, a, b), exact(op, a, b).astype(dst_type.dtype), a, b)


@keys((*INTEGERS, *BOOL), lambda op: op in POWER_GRADS)
def test_power_gradients_of_integers(device, key):
    op, src_type, _ = key
    least = 0 if np.dtype(src_type.dtype).kind in "bu" else -9
    x, dy = crossed(np.arange(least, 2 if src_type in BOOL else 10).astype(src_type.dtype))
    for c in (2.0, 3.0, 1.0, 0.0, 0.5, 2.5):
        check_binary(device.library, op, src_type, launch(device, key, x, dy, (c,)), x, dy, (c,))


@pytest.mark.parametrize("data_type", [t for t in INTEGERS if t.dtype.kind == "i"], ids=lambda t: t.name)
def test_division_of_the_most_negative_number_wraps(device, data_type):
    dtype = data_type.dtype
    low = np.iinfo(dtype).min
    a, b = np.array([low, low, 7, -7, -7, 7], dtype), np.array([-1, 0, 0, 2, -2, -2], dtype)
    table = {
        BinaryOp.kDiv: [low, 0, 0, -3, 3, -3],
        BinaryOp.kTruncDiv: [low, 0, 0, -3, 3, -3],
        BinaryOp.kFloorDiv: [low, 0, 0, -4, 3, -4],
        BinaryOp.kFmod: [0, 0, 0, -1, -1, 1],
        BinaryOp.kFloorMod: [0, 0, 0, 1, -1, -1],
    }
    for op, want in table.items():
        check_same(op, launch(device, same_key(op, data_type), a, b), np.array(want, dtype), a, b)


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda t: t.name)
def test_integer_power(device, data_type):
    info = np.iinfo(data_type.dtype)
    cases = [(0, 0, 1), (0, 3, 0), (1, 100, 1), (3, 4, 81), (2, 6, 64), (2, info.bits, 0)]
    if info.min < 0:
        cases += [(-1, 3, -1), (-2, 3, -8), (1, -5, 1), (-1, -5, -1), (-1, -4, 1), (2, -1, 0), (-7, -2, 0), (0, -1, 0)]
    a, b, want = np.array(cases, data_type.dtype).T.copy()
    check_same(BinaryOp.kPow, launch(device, same_key(BinaryOp.kPow, data_type), a, b), want, a, b)


def test_bool_tables(device):
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
        check_same(op, launch(device, same_key(op, DataType.kBool), a, b), want, a, b)
        check_same(op, exact(op, a, b), want, a, b)


@keys(COMPLEXES, lambda op: True)
def test_complex_numbers(device, key):
    op, src_type, _ = key
    dtype, random = src_type.dtype, np.random.default_rng(values.SEED)
    info = np.finfo(dtype)
    parts = [0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, float(info.max) / 4, float(info.tiny) * 8]
    others = random.standard_normal(20) + 1j * random.standard_normal(20)
    a, b = some(device, crossed(values.complex_numbers(parts, others, dtype)))
    # if a product of two parts overflows and is added to an infinity, the result depends on NumPy's fused multiply-add
    huge = [np.fmax(np.abs(v.real), np.abs(v.imag)) > info.max / 16 for v in (a, b)]
    kept = ~(huge[0] & huge[1]) | (op is not BinaryOp.kMul)
    a, b = a[kept], b[kept]
    got, want = launch(device, key, a, b), exact(op, a, b)
    if got.dtype.kind == "b":
        return check_same(op, got, want, a, b)
    tolerance = tolerances.COMPLEX_BINARY_EPSILONS * info.eps
    with np.errstate(all="ignore"):
        # the rounding error of a part is relative to the products that are added in it
        size = np.maximum(np.abs(want.real), np.abs(want.imag))
        size = np.where(np.isfinite(size), np.maximum(size, info.tiny), np.inf)
        for p, q in ((got.real, want.real), (got.imag, want.imag)):
            good = (p == q) | (np.isnan(p) & np.isnan(q)) | (np.isfinite(q) & (np.abs(p - q) <= tolerance * size))
            wrong = np.flatnonzero(~good)
            assert wrong.size == 0, (op, a[wrong[:3]], b[wrong[:3]], got[wrong[:3]], want[wrong[:3]])


QUOTIENT = 4  # in ulps of the larger part of the quotient


@keys(COMPLEXES, lambda op: op is BinaryOp.kDiv)
def test_quotients_of_complex_numbers_of_any_size(device, rng, key):
    """Of normal and subnormal numbers; in half of them, both parts are about equally large."""
    info, count = np.finfo(key[1].dtype), sized(device, 2003, 101)
    low, high = info.minexp - info.nmant, info.maxexp - 2

    def numbers():
        exponents = rng.integers(low, high, (2, count))
        exponents[1, ::2] = np.clip(exponents[0, ::2] + rng.integers(-3, 4, exponents[0, ::2].size), low, high)
        parts = np.ldexp(rng.uniform(1, 2, (2, count)) * rng.choice([-1, 1], (2, count)), exponents)
        return (parts[0] + 1j * parts[1]).astype(key[1].dtype)

    a, b = numbers(), numbers()
    # where a compiler fuses products with sums, what is left of the imaginary part is far below an ulp of 1
    left = float(info.eps) / 1000 if device.library in tolerances.OF_CUDA else 0
    assert np.abs(launch(device, key, a, a) - 1).max() <= left
    for x, y, z in zip(a.tolist(), b.tolist(), launch(device, key, a, b).tolist(), strict=True):
        with mpmath.workdps(60):
            want = mpmath.mpc(x) / mpmath.mpc(y)
            longest = max(abs(want.real), abs(want.imag))
            if longest >= float(info.max):
                assert not np.isfinite(z), (x, y, z)
                continue
            spacing = mpmath.ldexp(float(info.eps), int(mpmath.floor(mpmath.log(max(longest, float(info.tiny)), 2))))
            error = max(abs(z.real - want.real), abs(z.imag - want.imag)) / spacing
        assert error <= QUOTIENT, (x, y, z, float(error))
