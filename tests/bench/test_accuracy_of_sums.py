"""The accuracy of softmaxes and sums: the exact references, and the command."""

import json
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from benchmarks.accuracy import sums
from ep.include import DataType
from ep.testing import softmaxes
from ep.testing.references import softmax as references
from ep.testing.ulps import errors_in_ulps


@pytest.mark.parametrize("dtype", sums.DTYPES, ids=str)
def test_exact_sums(rng, monkeypatch, dtype):
    monkeypatch.setattr(sums, "_PIECE", 100)
    x = (rng.random(1013) * 2.0 ** rng.integers(-30, 30, 1013)).astype(dtype)
    exact = sum(map(Fraction, x.tolist()))
    found = sums.exact_sum(x)
    high = float(found)
    rest = Fraction(high) + Fraction(float(found - np.longdouble(high))) - exact
    assert abs(rest) <= exact * Fraction(1, 2**63)


def _row(name, x, dy):
    """Return one exact row, computed number by number from logits or outputs x."""
    numbers, slopes = ([mpmath.mpf(float(value)) for value in row] for row in (x, dy))
    if name == "softmax_backward":
        dot = mpmath.fsum(y * slope for y, slope in zip(numbers, slopes, strict=True))
        return [y * (slope - dot) for y, slope in zip(numbers, slopes, strict=True)]
    if name == "log_softmax_backward":
        total = mpmath.fsum(slopes)
        return [slope - mpmath.exp(y) * total for y, slope in zip(numbers, slopes, strict=True)]
    whole = mpmath.fsum(map(mpmath.exp, numbers))
    shares = [mpmath.exp(value) / whole for value in numbers]
    return shares if name == "softmax" else list(map(mpmath.log, shares))


@pytest.mark.parametrize("spread", sums.SPREADS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"])
def test_long_double_is_exact_enough(rng, name, spread):
    """Its error is below a hundredth of an ulp of float64, also in a row of which one element has the whole sum."""
    (x,) = softmaxes.logits(rng, DataType.kDouble, 1, 67, spread)
    x[0, 5] = x.max() + 30
    dy = rng.normal(0, 1, x.shape)
    sources = [x]
    if name.endswith("backward"):
        y = (references.log_softmax if name.startswith("log") else references.softmax)(x)[0]
        sources = [y.astype(np.float64), dy]
    want, term = getattr(references, name)(*sources)
    with mpmath.workdps(60):
        exact = _row(name, sources[0][0], dy[0])
        found = np.array([np.longdouble(mpmath.nstr(value, 30)) for value in exact])
    # errors in units of the distance between neighbours in float64
    high = want[0].astype(np.float64)
    errors = errors_in_ulps(high, found, term[0]) - errors_in_ulps(high, want[0], term[0])
    assert np.abs(errors).max() < 0.01


def test_a_wrong_result_shows(monkeypatch):
    off = lambda x: np.nextafter(np.nextafter(np.sum(x, keepdims=True), x.dtype.type(9)), x.dtype.type(9))  # noqa: E731
    monkeypatch.setattr(sums, "_sum_functions", lambda device, op, dtype: [("off", off)])
    found = next(iter(sums.measure_sums(None, np.dtype(np.float32), (3,))))
    assert 1.5 <= found["errors"]["off"]["maximum"] <= 3


@pytest.mark.ep_long
def test_the_command(tmp_path):
    command = [sys.executable, "-m", "benchmarks.accuracy.sums", "--cols", "3", "--lengths", "10"]
    done = subprocess.run([*command, "--json", str(tmp_path / "a.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Softmax of N(0, 20) in float64" in done.stdout
    results = json.loads((tmp_path / "a.json").read_text())["results"]
    assert len(results) == 2 * (4 * 3 + 2 + 2)
    assert all(result["errors"]["ep"]["maximum"] <= 8 for result in results)
