"""The binary ops, directly from their formulas: integers as Python's, floating point in extended precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special

from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp
from ep.testing.arrays import Array
from ep.testing.references import slopes
from ep.testing.references.convert import convert
from ep.testing.references.unary import choose
from ep.testing.references.unary import exact as unary_exact

L = np.longdouble
_SQRT_2, _SQRT_PI = np.sqrt(L(2)), np.sqrt(L("3.14159265358979323846264338327950288"))


def binary(
    op: BinaryOp, a: np.ndarray, b: np.ndarray, dst_dtype: Any, attr0: Any = None, attr1: Any = None
) -> np.ndarray:
    """Return op(a, b) in `dst_dtype`, rounded once from `exact`. The sources broadcast and have one dtype."""
    return convert(exact(op, a, b, attr0, attr1), dst_dtype)


def exact(op: BinaryOp, a: np.ndarray, b: np.ndarray, attr0: Any = None, attr1: Any = None) -> np.ndarray:
    """Return op(a, b): floating point math in long double, comparisons in bool, integers and complex in their type.

    Ops that are one exactly rounded operation in the arithmetic of the source (float32 for the 16-bit types), or
    consist of such operations, as kFloorDiv does, are evaluated there.
    """
    a, b = np.broadcast_arrays(a, b)
    attributes = [attribute for attribute in (attr0, attr1) if attribute is not None]
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c":
            return _complex(op, a, b)
        if op in _TESTS:
            return _TESTS[op](a, b)
        if op in _IS_CLOSE:
            p, q = (a, b) if a.dtype.kind == "f" else (_arithmetic(a), _arithmetic(b))
            return np.asarray(np.isclose(p, q, attr1, attr0, equal_nan=_IS_CLOSE[op]))
        if a.dtype.kind in "biu":
            return _integers(op, a, b, *attributes)
        if op in _EXACTLY_ROUNDED:
            return _EXACTLY_ROUNDED[op](_arithmetic(a), _arithmetic(b))
        attributes = [L(_arithmetic(np.empty(0, a.dtype)).dtype.type(attribute)) for attribute in attributes]
        if op == BinaryOp.kPow:
            return np.power(a.astype(L), b.astype(L))
        return np.asarray(_with_nan(op, a, b, *attributes))


def largest_term(op: BinaryOp, a: np.ndarray, b: np.ndarray, attr0: Any = None, attr1: Any = None) -> np.ndarray:
    """Return the magnitude of the largest term of the formula of a backward op or of kZeta, in long double."""
    result: np.ndarray = np.abs(exact(op, a, b, attr0, attr1)).astype(L)
    if op == BinaryOp.kZeta:
        # For q < 0 the terms on either side of 0 may cancel.
        x, q = a.astype(L), b.astype(L)
        with np.errstate(all="ignore"):
            nearest = np.fmin(q - np.floor(q), np.ceil(q) - q)
            result = np.where((q < 0) & np.isfinite(result), np.fmax(result, nearest**-x), result)
    if op in slopes.TERMS:
        dy, x = (v.astype(L) for v in np.broadcast_arrays(a, b))
        with np.errstate(all="ignore"):
            terms = np.abs(dy) * slopes.TERMS[op](x, *(L(v) for v in (attr0, attr1) if v is not None))
        result = np.fmax(result, np.where(np.isfinite(terms), terms, 0))
    return result


def _arithmetic(values: np.ndarray) -> np.ndarray:
    """Return values in the type of the arithmetic: float32 for the 16-bit types, float64 for integers and bool."""
    if values.dtype.kind in "biu":
        return values.astype(np.float64)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)


# Integers and bool


def _integers(op: BinaryOp, a: np.ndarray, b: np.ndarray, *attributes: Any) -> np.ndarray:
    if op in _POWER_GRADS:
        return _POWER_GRADS[op](a.astype(np.float64), b.astype(np.float64), *(np.float64(v) for v in attributes))
    results = [_INTEGER[op](int(p), int(q)) for p, q in zip(a.ravel(), b.ravel(), strict=True)]
    if a.dtype == np.bool_:
        wrapped = [r != 0 for r in results]
    else:
        bits, signed = 8 * a.dtype.itemsize, a.dtype.kind == "i"
        wrapped = [r % 2**bits for r in results]
        wrapped = [r - 2**bits if signed and r >= 2 ** (bits - 1) else r for r in wrapped]
    return np.array(wrapped, a.dtype).reshape(a.shape)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


def _power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 2**64)
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)


_INTEGER: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.kAdd: lambda a, b: a + b,
    BinaryOp.kSub: lambda a, b: a - b,
    BinaryOp.kMul: lambda a, b: a * b,
    BinaryOp.kDiv: _truncated,
    BinaryOp.kTruncDiv: _truncated,
    BinaryOp.kFloorDiv: lambda a, b: a // b if b else 0,
    BinaryOp.kFmod: lambda a, b: a - b * _truncated(a, b) if b else 0,
    BinaryOp.kFloorMod: lambda a, b: a % b if b else 0,
    BinaryOp.kMax: max,
    BinaryOp.kMin: min,
    BinaryOp.kPow: _power,
    BinaryOp.kBitwiseAnd: lambda a, b: a & b,
    BinaryOp.kBitwiseOr: lambda a, b: a | b,
    BinaryOp.kBitwiseXor: lambda a, b: a ^ b,
}

# Comparisons and logic

_TESTS: dict[BinaryOp, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    BinaryOp.kEqual: lambda a, b: a == b,
    BinaryOp.kNotEqual: lambda a, b: a != b,
    BinaryOp.kLessThan: lambda a, b: a < b,
    BinaryOp.kLessEqual: lambda a, b: a <= b,
    BinaryOp.kGreaterThan: lambda a, b: a > b,
    BinaryOp.kGreaterEqual: lambda a, b: a >= b,
    BinaryOp.kLogicalAnd: lambda a, b: (a != 0) & (b != 0),
    BinaryOp.kLogicalOr: lambda a, b: (a != 0) | (b != 0),
    BinaryOp.kLogicalXor: lambda a, b: (a != 0) ^ (b != 0),
}

_IS_CLOSE = {BinaryOp.kIsClose: False, BinaryOp.kIsCloseEqualNan: True}
"""Whether NaN is close to NaN."""

# Complex numbers


def _complex(op: BinaryOp, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _COMPLEX[op](a, b)


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quotient in long double, without overflow in between; for zeros, infinities and NaN, NumPy's."""
    exactly = (a.astype(np.clongdouble) / b.astype(np.clongdouble)).astype(a.dtype)
    return np.where(np.isfinite(a) & np.isfinite(b) & (b != 0), exactly, np.divide(a, b))


_COMPLEX: dict[BinaryOp, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    BinaryOp.kAdd: np.add,
    BinaryOp.kSub: np.subtract,
    BinaryOp.kMul: np.multiply,
    BinaryOp.kDiv: _quotient,
    BinaryOp.kEqual: np.equal,
    BinaryOp.kNotEqual: np.not_equal,
    # Not 2 * conj: a complex 2 would turn an infinity into NaN.
    BinaryOp.kSqrtBackwardWithDyX: lambda dy, x: _quotient(dy, np.conj(np.sqrt(x)) + np.conj(np.sqrt(x))),
}

# Floating point


def _floor_mod(a: Array, b: Array) -> Any:
    r = np.fmod(a, b)
    return np.where((r != 0) & (np.signbit(r) != np.signbit(b)), r + b, r)


_EXACTLY_ROUNDED: dict[BinaryOp, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    BinaryOp.kAdd: np.add,
    BinaryOp.kSub: np.subtract,
    BinaryOp.kMul: np.multiply,
    BinaryOp.kDiv: np.divide,
    BinaryOp.kMax: lambda a, b: choose(np.isnan(a), a, np.isnan(b), b, a > b, a, b),
    BinaryOp.kMin: lambda a, b: choose(np.isnan(a), a, np.isnan(b), b, a < b, a, b),
    BinaryOp.kFmod: np.fmod,
    BinaryOp.kFloorDiv: lambda a, b: np.floor(a / b),
    BinaryOp.kTruncDiv: lambda a, b: np.trunc(a / b),
    BinaryOp.kFloorMod: _floor_mod,
}

_POWER_GRADS: dict[BinaryOp, Callable[..., np.ndarray]] = {
    BinaryOp.kScalarBasePowerGrad: lambda x, dy, c: c * np.power(x, c - 1) * dy,
    BinaryOp.kScalarExpPowerGrad: lambda x, dy, c: np.power(c, x) * np.log(c) * dy,
}


def _with_nan(op: BinaryOp, a: np.ndarray, b: np.ndarray, *attributes: Any) -> np.ndarray:
    if op in _SPECIAL:
        result = _SPECIAL[op](a, b)
    elif op in _POWER_GRADS:
        result = _POWER_GRADS[op](a.astype(L), b.astype(L), *attributes)
    else:
        result = slopes.times_dy(op, a.astype(L), b.astype(L), *attributes)
    unused = op == BinaryOp.kIdentityBackwardWithDyX
    return np.where(np.isnan(a.astype(L)) | (~np.array(unused) & np.isnan(b.astype(L))), L(np.nan), result)


def _gelu(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = b.astype(L)
    density = np.exp(-x * x / 2) / (_SQRT_2 * _SQRT_PI)
    factor = choose(np.isposinf(x), L(1), np.isneginf(x), L(0), _normal_cdf(b) + x * density)
    return np.asarray(a.astype(L) * factor)


def _normal_cdf(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.float64:
        return np.asarray(scipy.special.ndtr(x.astype(np.float64)), L)
    return _mapped(lambda v: mpmath.ncdf(max(min(v, 50), -50)) if math.isfinite(v) else math.nan, x)


def _mapped(function: Callable[..., mpmath.mpf], *operands: np.ndarray) -> np.ndarray:
    """Return an mpmath function of finite or infinite numbers, elementwise, in long double."""

    def one(*values: float) -> np.longdouble:
        with mpmath.workdps(40):
            result = function(*map(mpmath.mpf, values))
            # Through a decimal string: a sum of float64 parts would lose the digits of subnormal results.
            return L(mpmath.nstr(result, 25)) if abs(result) < mpmath.mpf("1e4900") else L(float(result))

    flat = zip(*(np.asarray(operand, np.float64).ravel().tolist() for operand in operands), strict=True)
    return np.array([one(*values) for values in flat], L).reshape(operands[0].shape)


def _zeta(x: mpmath.mpf, q: mpmath.mpf) -> mpmath.mpf:
    if mpmath.isnan(x) or mpmath.isnan(q) or x < 1:
        return mpmath.nan
    if x == 1 or (q <= 0 and (mpmath.isinf(q) or q == mpmath.floor(q))):
        return mpmath.inf
    if q < 0 and x != mpmath.floor(x):
        return mpmath.nan
    if mpmath.isinf(q):
        return mpmath.mpf(0)
    # The base nearest to 0 decides if the sum is out of range.
    base = q if q > 0 else min(q - mpmath.floor(q), mpmath.ceil(q) - q)
    if base == 1 and x > 1e4:
        return mpmath.mpf(1)
    if (x - 1) * abs(mpmath.log10(base)) > 4900 and (x > 1e4 or base < 1 or x > 2):
        odd_below = q < 0 and x % 2 == 1 and q - mpmath.floor(q) > 0.5
        return (-mpmath.inf if odd_below else mpmath.inf) if base < 1 else mpmath.mpf(0)
    # Terms one by one, then an integral with Euler-Maclaurin corrections, with ten times the needed number of terms.
    count = 0 if q > 10 * x + 60 else int(mpmath.ceil(min(10 * x, 2000) + 60 - q))
    total = mpmath.fsum((q + n) ** -x for n in range(count))
    if x > 2000:
        return total
    w = q + count
    total += w ** (1 - x) / (x - 1) + w**-x / 2
    return total + mpmath.fsum(
        mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k) * mpmath.rf(x, 2 * k - 1) * w ** (1 - x - 2 * k)
        for k in range(1, 16)
    )


_SPECIAL: dict[BinaryOp, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    BinaryOp.kZeta: lambda x, q: _mapped(_zeta, x, q),
    BinaryOp.kGeluBackwardWithDyX: _gelu,
    BinaryOp.kLgammaBackwardWithDyX: lambda dy, x: dy.astype(L) * unary_exact(UnaryOp.kDigamma, x),
    BinaryOp.kDigammaBackwardWithDyX: lambda dy, x: dy.astype(L) * unary_exact(UnaryOp.kTrigamma, x),
}
