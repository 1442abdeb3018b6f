"""rsqrt and the inverses of the trigonometric and hyperbolic functions in float32 arithmetic."""

from typing import Any

import numpy as np
import pytest

from ep.testing.ulps import errors_in_ulps
from tests.cpu.single_functions import apply, both_forms, bound, loop, nan_of_any_payload

# in long double
REFERENCES: dict[str, Any] = both_forms(
    {
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
    }
)


def _exact(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return REFERENCES[name](x.astype(np.longdouble))


def _check(name: str, x: np.ndarray) -> None:
    got, want = apply(name, x), _exact(name, x)
    errors = errors_in_ulps(got, want)
    errors[(want == 0) & (np.signbit(got) != np.signbit(want))] = np.inf
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]


@pytest.mark.parametrize("name", REFERENCES)
def test_every_exponent_and_sign(name: str) -> None:
    _check(name, np.arange(0, 2**32, 9973, np.uint64).astype(np.uint32).view(np.float32))


@pytest.mark.parametrize("name", REFERENCES)
def test_where_most_of_the_numbers_are(name: str) -> None:
    rng = np.random.default_rng(10)
    near_one = 1 + np.exp2(rng.uniform(-25, 0, 50_000)) * rng.choice([-1.0, 1.0], 50_000)
    parts = [rng.uniform(-1, 1, 100_000), rng.uniform(0.3, 3, 100_000), rng.uniform(-100, 100, 50_000)]
    _check(name, np.concatenate([*parts, near_one, -near_one]).astype(np.float32))


@pytest.mark.parametrize("name", REFERENCES)
def test_next_to_the_cuts(name: str) -> None:
    cuts = [2.0**-126, 1 / 3, 0.5, 0.6, 0.75, 1.0, 1.25, 2.0, 4.0, 4096.0, 2.0**64, 2.0**127]
    near = np.array(cuts, np.float32).view(np.int32)[:, None] + np.arange(-300, 300, dtype=np.int32)
    x = near.ravel().view(np.float32)
    _check(name, np.concatenate([x, -x]))


@pytest.mark.parametrize(
    ("name", "minus_infinity", "below", "zero", "one", "above", "infinity"),
    [
        ("rsqrt", np.nan, np.nan, np.inf, 1.0, None, 0.0),
        ("asin", np.nan, np.nan, 0.0, np.pi / 2, np.nan, np.nan),
        ("acos", np.nan, np.nan, None, 0.0, np.nan, np.nan),
        ("atan", -np.pi / 2, None, 0.0, np.pi / 4, None, np.pi / 2),
        ("asinh", -np.inf, None, 0.0, None, None, np.inf),
        ("acosh", np.nan, np.nan, np.nan, 0.0, None, np.inf),
        ("atanh", np.nan, np.nan, 0.0, np.inf, np.nan, np.nan),
    ],
)
def test_special_values(name, minus_infinity, below, zero, one, above, infinity):
    """Test special values; None: there is none. below, above: at the numbers beyond -1 and 1; -0 gives -`zero`."""
    one_and_more = np.nextafter(np.float32(1), np.float32(2))
    arguments = [-np.inf, -one_and_more, 0.0, 1.0, one_and_more, np.inf]
    values = [minus_infinity, below, zero, one, above, infinity]
    pairs = [(x, value) for x, value in zip(arguments, values, strict=True) if value is not None]
    pairs += [(np.nan, np.nan)] + ([] if zero is None else [(-0.0, -zero)])
    x, want = np.array(pairs, np.float32).T
    got = apply(name, np.ascontiguousarray(x))
    np.testing.assert_array_equal(got, want)
    kept = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[kept]), np.signbit(want[kept]))


@pytest.mark.parametrize("name", ["asin", "atan", "asinh", "atanh"])
def test_the_smallest_numbers_are_kept(name: str) -> None:
    x = np.concatenate([np.arange(1, 2**10), np.arange(2**23 - 500, 2**23 + 500)]).astype(np.int32).view(np.float32)
    x = np.concatenate([x, -x])
    np.testing.assert_array_equal(apply(name, x), x)


@pytest.mark.parametrize("name", REFERENCES)
def test_nan_whatever_its_payload(name: str) -> None:
    assert np.isnan(apply(name, nan_of_any_payload())).all()


@pytest.mark.parametrize("name", REFERENCES)
def test_loops_are_packed_and_single(name: str) -> None:
    (code,) = loop(name).inspect_llvm().values()
    assert "x float> @llvm.fma.v" in code
    assert "double" not in code.partition("define")[2].partition("\n}\n")[0]
