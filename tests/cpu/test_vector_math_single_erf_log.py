"""The error function and its complement, gelu and the logarithms in float32 arithmetic."""

import mpmath
import numpy as np
import pytest

from ep.testing.ulps import errors_in_ulps
from tests.cpu.single_functions import WITHOUT_TABLES, apply, both_forms, bound, loop

LOGARITHMS = {name: getattr(np, name) for name in ("log", "log2", "log10", "log1p")}

NAMES = both_forms(dict.fromkeys((*LOGARITHMS, "erf", "erfc", "gelu")))


def _samples(count: int) -> np.ndarray:
    """Return float32 numbers of any exponent, around 0, near 1, near the cuts, and up to the ends of the tails."""
    rng = np.random.default_rng(8)
    signs = rng.choice([-1.0, 1.0], count)
    any_exponent = signs * np.exp2(rng.uniform(-149, 128, count))
    near_one = 1 + signs * np.exp2(rng.uniform(-24, 0, count))
    near = [cut * (1 + rng.uniform(-1e-5, 1e-5, count // 20)) for cut in (0.5, 0.7071, 0.75, 1.25, 1.09375, 1.4142, 4)]
    spread = [rng.uniform(-1.5, 1.5, count), rng.uniform(-4, 4, count), rng.uniform(-14.5, 10.5, count)]
    return np.concatenate([any_exponent, near_one, *near, *spread]).astype(np.float32)


def _exact(name: str, x: np.ndarray) -> np.ndarray:
    if name in LOGARITHMS:
        with np.errstate(all="ignore"):
            return LOGARITHMS[name](x.astype(np.longdouble))

    def erf(v: mpmath.mpf) -> mpmath.mpf:
        return mpmath.erf(v)

    def erfc(v: mpmath.mpf) -> mpmath.mpf:
        return mpmath.erfc(v)

    def gelu(v: mpmath.mpf) -> mpmath.mpf:
        return v / 2 * mpmath.erfc(-v / mpmath.sqrt(2))

    function = {"erf": erf, "erfc": erfc, "gelu": gelu}[name.removesuffix(WITHOUT_TABLES)]
    with mpmath.workprec(100):
        return np.array([float(function(mpmath.mpf(float(v)))) for v in x], np.longdouble)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_within_its_bound(name: str) -> None:
    x = _samples(200_000 if name in LOGARITHMS else 2000)
    errors = errors_in_ulps(apply(name, x), _exact(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]


@pytest.mark.parametrize(
    ("name", "arguments", "results"),
    [
        *((name, [-np.inf, -1, -1e-45, -0.0, 0, 1, np.inf], [np.nan] * 3 + [-np.inf] * 2 + [0.0, np.inf])
          for name in ("log", "log2", "log10")),
        ("log1p", [-np.inf, -2, -1, -0.0, 0, 1e-45, np.inf], [np.nan, np.nan, -np.inf, -0.0, 0, 1e-45, np.inf]),
        ("erf", [-np.inf, -4, -0.0, 0, 4, np.inf], [-1, -1, -0.0, 0, 1, 1]),
        ("erfc", [-np.inf, -4, -0.0, 0, 10.1, np.inf], [2, 2, 1, 1, 0, 0]),
        ("gelu", [-np.inf, -15, -1e-45, -0.0, 0, 20, np.inf], [-0.0, -0.0, -0.0, -0.0, 0, 20, np.inf]),
    ],
)  # fmt: skip
def test_special_values(name: str, arguments: list[float], results: list[float]) -> None:
    x, want = np.array([*arguments, np.nan], np.float32), np.array([*results, np.nan], np.float32)
    kept = ~np.isnan(want)
    for form in both_forms({name: None}):
        got = apply(form, x)
        np.testing.assert_array_equal(got, want, err_msg=form)
        np.testing.assert_array_equal(np.signbit(got[kept]), np.signbit(want[kept]), err_msg=form)


@pytest.mark.parametrize("name", both_forms(dict.fromkeys(("erf", "erfc", "gelu"))))
def test_neighbours_of_the_ends_of_pieces(name: str) -> None:
    """A number may belong to either piece, but only to one."""
    ends = [n / 64 for n in range(16, 16 * 64, 16)] + [
        (n + 0.5) * width for width in (0.53125, 1 / 7) for n in range(9)
    ]
    x = np.array([[*ends, *(-end for end in ends)]] * 9, np.float32)
    x.view(np.int32)[:] += np.arange(-4, 5, dtype=np.int32)[:, None]
    x = x[np.abs(x) < 10.0]
    assert errors_in_ulps(apply(name, x), _exact(name, x)).max() <= bound(name)


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_powers_are_exact(name: str) -> None:
    exponents = np.arange(-149, 128) if name == "log2" else np.arange(11)
    x = np.exp2(exponents).astype(np.float32) if name == "log2" else (10.0**exponents).astype(np.float32)
    np.testing.assert_array_equal(apply(name, x), exponents)


@pytest.mark.parametrize("name", NAMES)
def test_loops_vectorise(name: str) -> None:
    (code,) = loop(name).inspect_llvm().values()
    assert "@llvm.fma.v" in code
