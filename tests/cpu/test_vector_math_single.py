"""The elementary functions of one operand in float32 arithmetic, against higher precision over the whole domain.

Those of sin, cos and tan are in `test_vector_math_single_trig.py`.
"""

import numpy as np
import pytest

from ep import UnaryOp
from ep.cpu.vector_math.sets.names import FLOAT32
from ep.testing.references.unary import exact
from ep.testing.ulps import errors_in_ulps
from tests.cpu.single_functions import WITHOUT_TABLES, apply, both_forms, bound, loop, nan_of_any_payload

OPS = {op.name[1:].lower(): op for op in UnaryOp}
NAMES = both_forms({name: None for name, forms in FLOAT32.items() if forms.test == "test_vector_math_single.py"})
GATED = ("gelu", "fast_gelu", "quick_gelu", "silu", "mish")
SPECIAL = (0.0, np.inf, np.nan, 1.0, 1e-45, 88.722839, 89.415985, 89.415993, 103.97, 103.98, 128, 149, 150, 10.1, 20)
CUTS = (2.0**-126, 1 / 3, 0.5, 0.6, 0.7071, 0.75, 1.0, 1.09375, 1.25, 1.4142, 2.0, 4.0, 4096.0, 2.0**64, 2.0**127)
ENDS = (*(n / 64 for n in range(16, 16 * 64, 16)), *((n + 0.5) * width for width in (0.53125, 1 / 7) for n in range(9)))


def _samples() -> np.ndarray:
    """Return numbers of every exponent, in many ranges, near 1, next to cuts and ends of pieces, and special ones."""
    rng = np.random.default_rng(7)
    near_one = 1 + np.exp2(rng.uniform(-25, 0, 60_000)) * rng.choice([-1.0, 1.0], 60_000)
    ranges = [rng.uniform(0, end, 60_000) for end in (1, 1.5, 3, 4, 10.5, 14.5, 20, 100, 130, 152)]
    next_to = [
        np.array(numbers, np.float32).view(np.int32)[:, None] + np.arange(-near, near, dtype=np.int32)
        for numbers, near in ((CUTS, 300), (ENDS, 5))
    ]
    every = np.arange(0, 2**31, 9973, np.uint32).view(np.float32)
    parts = [near_one, *ranges, *(numbers.ravel().view(np.float32) for numbers in next_to), every, SPECIAL]
    x = np.concatenate([np.asarray(part, np.float32) for part in parts])
    return np.concatenate([x, -x])


def _exact(name: str, x: np.ndarray) -> np.ndarray:
    name = name.removesuffix(WITHOUT_TABLES)
    want = exact(OPS[name.replace("_", "")], x)
    return np.where(x == -np.inf, np.longdouble(-0.0), want) if name in GATED else want


@pytest.mark.parametrize("name", NAMES)
def test_it_is_within_its_bound(name: str) -> None:
    x = _samples()
    errors = errors_in_ulps(apply(name, x), _exact(name, x), signed_zeros=True)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]


@pytest.mark.parametrize("name", NAMES)
def test_nan_whatever_its_payload(name: str) -> None:
    assert np.isnan(apply(name, nan_of_any_payload())).all()


@pytest.mark.parametrize("name", ["asin", "atan", "asinh", "atanh"])
def test_the_smallest_numbers_are_kept(name: str) -> None:
    x = np.concatenate([np.arange(1, 2**10), np.arange(2**23 - 500, 2**23 + 500)]).astype(np.int32).view(np.float32)
    x = np.concatenate([x, -x])
    np.testing.assert_array_equal(apply(name, x), x)


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_powers_are_exact(name: str) -> None:
    exponents = np.arange(-149, 128) if name == "log2" else np.arange(11)
    x = np.exp2(exponents).astype(np.float32) if name == "log2" else (10.0**exponents).astype(np.float32)
    np.testing.assert_array_equal(apply(name, x), exponents)


@pytest.mark.parametrize("name", NAMES)
def test_loops_are_packed_and_single(name: str) -> None:
    (code,) = loop(name).inspect_llvm().values()
    assert "x float> @llvm.fma.v" in code
    assert "double" not in code.partition("define")[2].partition("\n}\n")[0]
