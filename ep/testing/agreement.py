"""Checks that results agree with the references, bit by bit or within the tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include import DataType
from ep.testing import tolerances
from ep.testing.arrays import Array
from ep.testing.references import binary, unary
from ep.testing.references.convert import convert
from ep.testing.ulps import errors_in_ulps


def check_unary(library: Any, op: Any, src_type: DataType, got: Array, src: Array, attributes: Any) -> None:
    """Raise AssertionError if `got` is not op(src).

    library: the library whose functions computed it, one of `tolerances.Library`.
    attributes: all of the op, including defaults.
    """
    want = unary.exact(op, src, *attributes)
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, convert(want, got.dtype))
        return
    bound = tolerances.launch_ulps(tolerances.unary_ulps(op, _arithmetic(src.dtype), library), src_type, got.dtype)
    if got.dtype.kind == "c":
        want = convert(want, np.clongdouble) if want.dtype.kind == "c" else want.astype(np.clongdouble)
        bound = tolerances.COMPLEX_ULPS.get(op, bound)
        parts = [(got.real, want.real), (got.imag, want.imag)]
    else:
        parts = [(got, want)]
    for got_part, want_part in parts:
        with np.errstate(invalid="ignore"):
            floor = np.where(src < 0, tolerances.TERM_BELOW_ZERO[op], 0) if op in tolerances.TERM_BELOW_ZERO else 0
        errors = errors_in_ulps(got_part, want_part.astype(np.longdouble), floor)
        worst = int(np.argmax(errors))
        assert errors[worst] <= bound, (
            f"op({src[worst]!r}) = {got_part[worst]!r}, exactly {want_part[worst]!r}: "
            f"{errors[worst]:.3g} ulp of {bound:.3g}"
        )


def check_binary(library: Any, op: Any, src_type: DataType, got: Array, a: Array, b: Array, attributes: Any) -> None:
    """Raise AssertionError if `got` is not op(a, b); the other arguments are as in `check_unary`."""
    want = binary.exact(op, a, b, *attributes)
    if got.dtype.kind in "iu" and op in tolerances.TRUNCATED_ULPS and library is not tolerances.Library.VECTOR_MATH:
        with np.errstate(invalid="ignore", over="ignore"):
            error = tolerances.TRUNCATED_ULPS[op] * np.finfo(np.float64).eps * np.abs(want)
            low, high = convert(want - error, got.dtype), convert(want + error, got.dtype)
        wrong = np.flatnonzero((got < low) | (got > high))
        assert not wrong.size, f"op({a[wrong[0]]!r}, {b[wrong[0]]!r}) = {got[wrong[0]]!r}, exactly {want[wrong[0]]!r}"
    elif got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, convert(want, got.dtype))
    elif got.dtype.kind == "c":
        size = np.maximum(np.abs(want), np.finfo(got.dtype).tiny)
        error = np.maximum(np.abs(got.real - want.real), np.abs(got.imag - want.imag)) / size
        assert error.max() <= tolerances.COMPLEX_BINARY_EPSILONS * np.finfo(got.dtype).eps
    elif op in tolerances.EXACT_BINARY:
        np.testing.assert_array_equal(got.astype(np.float64), convert(want, got.dtype).astype(np.float64))
    else:
        bound = tolerances.launch_ulps(tolerances.binary_ulps(op, _arithmetic(a.dtype), library), src_type, got.dtype)
        errors = errors_in_ulps(got, want.astype(np.longdouble), binary.largest_term(op, a, b, *attributes))
        worst = int(np.argmax(errors))
        assert errors[worst] <= bound, (
            f"op({a[worst]!r}, {b[worst]!r}) = {got[worst]!r}, exactly {want[worst]!r}: "
            f"{errors[worst]:.3g} ulp of {bound:.3g}"
        )


def assert_same_numbers(got: Array, want: Array) -> None:
    """Raise AssertionError if elements differ in their bits, unless both are NaN, or have parts that are NaN."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    got, want = (_bits(array) for array in (got, want))
    differs = np.flatnonzero(got != want)
    assert differs.size == 0, f"{got[differs[0]]:#x} instead of {want[differs[0]]:#x} at {differs[0]}"


def _bits(array: Array) -> Any:
    """Return the bits of each real number, the same ones for every NaN."""
    flat = np.array(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    bits = flat.view(f"u{flat.itemsize}")
    return np.where(flat != flat, np.iinfo(bits.dtype).max, bits)


def _arithmetic(dtype: Any) -> Any:
    """Return the type that elements are computed in."""
    return np.float64 if dtype in (np.float64, np.complex128) else np.float32
