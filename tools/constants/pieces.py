"""The constants of `ep/cpu/vector_math/single/pieces.py`: polynomials on pieces of an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from textwrap import fill
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from ep.common.functor.unary.activation import FAST_GELU_A, FAST_GELU_B

FOLDER = "ep/cpu/vector_math/single"
HEAD = '''"""Polynomials on the pieces of an axis, written by `python -m tools.constants`.

Of each function: the centres of the pieces, and the coefficients in the distance from them, the constant ones first.
"""

from typing import Final

'''
_ENTRIES, _FEW_ENTRIES, _CANDIDATES = 32, 8, 20_000

Values = NDArray[np.float64]
FAST, CUBIC = 2 * FAST_GELU_A, FAST_GELU_B
DOWN = 2.0**-64  # a scale that powers of two make up for


class Pieces(NamedTuple):
    """A function on pieces, entry i on [lower[i], upper[i]].

    linear: the number of first pieces with centre 0, whose polynomial is that of f(x) - slope x, without a constant.
    zero: a zero of the function, which is the centre of its piece, so that the relative error is small near it.
    """

    function: Callable[[Values], Values]
    lower: Values
    upper: Values
    degree: int
    linear: int = 0
    slope: float = 1.0
    zero: float = math.nan


def _good_centre(function: Callable[[Values], Values], lower: float, upper: float) -> float:
    """Return a float32 number near the middle, where the function is very nearly a float32 number."""
    width = upper - lower
    candidates = np.linspace(lower + 0.49 * width, lower + 0.51 * width, _CANDIDATES).astype(np.float32)
    values = function(candidates.astype(np.float64))
    rounded = values.astype(np.float32)
    return float(candidates[np.argmin(np.abs(values - rounded) / np.spacing(np.abs(rounded)))])


def fitted(pieces: Pieces, i: int) -> tuple[float, list[float]]:
    """Return the centre and the coefficients of piece i, each rounded before those after it are chosen."""
    lower, upper, count = pieces.lower[i], pieces.upper[i], pieces.degree + 1
    linear = i < pieces.linear
    if lower <= pieces.zero < upper:
        centre = float(np.float32(pieces.zero))
    else:
        centre = 0.0 if linear else _good_centre(pieces.function, lower, upper)
    nodes = np.cos(np.pi * (np.arange(4 * count) + 0.5) / (4 * count))
    x = (lower + upper) / 2 + (upper - lower) / 2 * nodes
    t, want = x - centre, pieces.function(x)
    weight = 1.0 / np.abs(want)
    chosen: list[float] = [0.0 if linear else float(np.float32(pieces.function(np.array([centre]))[0]))]
    rest = want - (pieces.slope * x if linear else chosen[0])
    scale = float(np.abs(t).max())
    while len(chosen) < count:
        powers = (t / scale)[:, None] ** np.arange(len(chosen), count)
        solved = np.linalg.lstsq(powers * weight[:, None], rest * weight, rcond=None)[0]
        chosen.append(float(np.float32(solved[0] / scale ** len(chosen))))
        rest = rest - chosen[-1] * t ** (len(chosen) - 1)
    return centre, chosen


def _rows(pieces: Pieces) -> NDArray[np.float32]:
    """Return the centres, and the coefficients by degree."""
    found = [fitted(pieces, i) for i in range(len(pieces.lower))]
    return np.array([[centre, *chosen] for centre, chosen in found]).T.astype(np.float32)


def _quarters_of_octaves(first: float) -> tuple[Values, Values]:
    """Return the bounds of four pieces for each octave from `first` on; the lowest piece begins at 0."""
    edges: Values = first * 2.0 ** (np.arange(_ENTRIES + 1) // 4) * (1 + np.arange(_ENTRIES + 1) % 4 / 4)
    return np.concatenate([[0.0], edges[1:-1]]), edges[1:]


def _halves_of_octaves(first: float) -> tuple[Values, Values]:
    """Return the bounds of a few pieces from 0 on, two for each octave of the sum of a number and `first`.

    Halves of octaves begin at 2^n and 3/2 2^n; `first` is such a number.
    """
    mantissa, exponent = math.frexp(first)
    count = 2 * exponent + int(mantissa > 0.5) + np.arange(_FEW_ENTRIES + 1)
    edges: Values = 2.0 ** (count // 2 - 1) * (1 + count % 2 / 2) - first
    return edges[:-1], edges[1:]


def _equal(width: float, first: int = 0, count: int = _ENTRIES) -> tuple[Values, Values]:
    """Return the bounds of pieces around multiples of `width`, from number `first` on; a first number 0 begins at 0."""
    edges: Values = np.asarray((np.arange(first, first + count + 1) - 0.5) * width, np.float64)
    return np.concatenate([[edges[0] if first else 0.0], edges[1:-1]]), edges[1:]


def _sigmoid_of_minus(y: Values) -> Values:
    return 1.0 / (1.0 + np.exp(y))


def _silu_slope(a: Values) -> Values:
    """Return the derivative of x sigmoid(x) at -a."""
    return _gate_slope(a, a)


def _gate_slope(v: Values, w: Values) -> Values:
    """Return s (1 - w (1 - s)) for s = sigmoid(-v)."""
    s = _sigmoid_of_minus(v)
    slope: Values = s * (1 - w * _sigmoid_of_minus(-v))
    return slope


def _gelu_slope(a: Values) -> Values:
    """Return the derivative of gelu at -a."""
    slope: Values = special.erfc(a / math.sqrt(2)) / 2 - a * np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    return slope


def _fast_gelu_slope(a: Values) -> Values:
    """Return the derivative of fast_gelu at -a."""
    return _gate_slope(FAST * a * (1 + CUBIC * a * a), FAST * a * (1 + 3 * CUBIC * a * a))


def _mish_slope(x: Values) -> Values:
    """Return the derivative of mish, t + x (1 - t^2) (1 - e^-s) for s = ln(1 + e^x), t = tanh(s)."""
    u = np.exp(x)
    d = u * (u + 2) + 2
    slope: Values = u * (u + 2 + 4 * (1 + u) * x / d) / d
    return slope


def _zero(slope: Callable[[Values], Values], lower: float, upper: float) -> float:
    return float(optimize.brentq(slope, lower, upper, xtol=1e-15))


def _scaled_share(a: Values) -> Values:
    """Return what gelu(a) lacks of a, times e^(a^2 / 2)."""
    shared: Values = a * special.erfcx(a / math.sqrt(2)) / 2
    return shared


MODULES: dict[str, dict[str, Pieces]] = {
    "odd_coefficients": {
        "TANH": Pieces(np.tanh, *_quarters_of_octaves(2.0**-4), 5, linear=1),
        "ASINH": Pieces(np.arcsinh, *_quarters_of_octaves(2.0**-4), 5, linear=1),
        "ERF": Pieces(special.erf, *_equal(1 / 8), 5, linear=2),
    },
    "erfc_coefficients": {
        "ERFC": Pieces(special.erfc, *_equal(1 / 7), 7),
        "ERFC_TAIL": Pieces(special.erfcx, *_equal(1 / 5, 20), 4),
    },
    "error_coefficients": {
        "ERF": Pieces(special.erf, *_equal(0.53125, count=_FEW_ENTRIES), 7, linear=1),
        "ERFC": Pieces(lambda a: special.erfcx(a) * DOWN, *_halves_of_octaves(0.75), 8),
        "GELU": Pieces(_scaled_share, *_halves_of_octaves(1.0), 7, linear=1, slope=0.5),
    },
    "gelu_coefficients": {
        # the share of |x| that is subtracted from max(x, 0)
        "GELU": Pieces(lambda a: special.erfc(a / math.sqrt(2)) / 2, *_equal(1 / 6.375), 6),
        "GELU_TAIL": Pieces(_scaled_share, *_equal(1 / 3, 14), 4),
        "FAST_GELU": Pieces(lambda a: _sigmoid_of_minus(FAST * a * (1 + CUBIC * a * a)), *_equal(1 / 6.375), 6),
    },
    "gate_coefficients": {
        "MISH": Pieces(lambda x: np.tanh(np.log1p(np.exp(x))), *_equal(3 / 8, -16), 5),
        "LOG_SIGMOID": Pieces(lambda a: np.log1p(np.exp(-a)), *_equal(3 / 8), 5),
    },
    "slope_coefficients": {
        # at -|x|, but for mish
        "SILU": Pieces(_silu_slope, *_equal(0.32), 6, zero=_zero(_silu_slope, 1, 2)),
        "GELU": Pieces(_gelu_slope, *_equal(1 / 6.375), 6, zero=_zero(_gelu_slope, 0.5, 1)),
        "FAST_GELU": Pieces(_fast_gelu_slope, *_equal(1 / 6.375), 6, zero=_zero(_fast_gelu_slope, 0.5, 1)),
        "MISH": Pieces(_mish_slope, *_equal(3 / 8, -16), 6, zero=_zero(_mish_slope, -2, -1)),
    },
}


def _text(name: str, rows: NDArray[np.float32]) -> str:
    """Return the rows as the Python source of a constant."""
    lines = [", ".join(str(number) for number in row) + "," for row in rows]
    filled = [fill(line, 119, initial_indent=" " * 8, subsequent_indent=" " * 8) for line in lines]
    return "\n".join([f"{name}: Final = (", *(f"    (\n{line}\n    )," for line in filled), ")"]) + "\n"


def modules() -> dict[str, str]:
    """Return the texts of the modules by their paths."""
    texts = {}
    for module, functions in MODULES.items():
        tables = [_text(name, _rows(pieces)) for name, pieces in functions.items()]
        texts[f"{FOLDER}/{module}.py"] = HEAD + "# fmt: off\n" + "".join(tables)
    return texts
