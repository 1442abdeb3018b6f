"""The constants of the elementary functions are those that `python -m tools.constants` writes."""

import ast
from importlib import import_module

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from tools.constants import pieces
from tools.constants.__main__ import MODULES, constants, module
from tools.constants.fit import Polynomial, Rational, fit, fit_rational
from tools.constants.parts import Parts, parts
from tools.generated import ROOT

GENERATED = [*MODULES, *(f"{pieces.FOLDER}/{name}.py" for name in pieces.MODULES)]
WRITTEN_BY_HAND = [
    str(path.relative_to(ROOT))
    for folder in ("ep/cpu/vector_math", "ep/common/functor")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if str(path.relative_to(ROOT)) not in GENERATED
]
DIGITS = 9  # the most digits of a number written by hand; longer numbers are data
MEANINGS = "ep/common/functor/unary/activation.py"  # constants that are part of the definition of ops


def contents(file):
    return import_module(file.removesuffix(".py").replace("/", "."))


@pytest.mark.parametrize("file", MODULES)
def test_a_module_has_what_its_generator_names(file):
    names = {name for name in vars(contents(file)) if name.isupper()}
    expected = set()
    for name, problem in MODULES[file]().items():
        expected |= {f"{name}_ABOVE", f"{name}_BELOW"} if isinstance(problem, Rational) else {name}
        if isinstance(problem, Polynomial) and problem.two_parts:
            expected.add(f"{name}_REST")
    assert names == expected


@pytest.mark.parametrize("file", MODULES)
def test_known_constants_are_the_same(file):
    for name, problem in MODULES[file]().items():
        if isinstance(problem, Parts):
            assert getattr(contents(file), name) == problem.numbers, name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ep/cpu/vector_math/coefficients.py", "TANH"),
        ("ep/cpu/vector_math/coefficients.py", "COSINE_FOR_FLOAT32"),
        ("ep/cpu/vector_math/tabled/coefficients.py", "EXP"),
        ("ep/cpu/vector_math/single/coefficients.py", "EXP"),
        ("ep/cpu/vector_math/single/coefficients.py", "SINH"),
        ("ep/cpu/vector_math/single/coefficients.py", "COTANGENT"),
    ],
)
def test_a_few_are_fitted_again(file, name):
    for constant, (_, numbers) in constants(name, MODULES[file]()[name]).items():
        assert getattr(contents(file), constant) == numbers


def test_a_few_pieces_are_fitted_again():
    for file, name, piece in (
        ("odd_coefficients", "TANH", 0),
        ("erfc_coefficients", "ERFC", 31),
        ("error_coefficients", "ERFC", 5),
        ("error_coefficients", "GELU", 0),
    ):
        centre, coefficients = pieces.fitted(pieces.MODULES[file][name], piece)
        rows = getattr(contents(f"{pieces.FOLDER}/{file}.py"), name)
        # the last bits depend on NumPy's libraries
        assert [row[piece] for row in rows] == pytest.approx([centre, *coefficients], rel=1e-5)


@pytest.mark.parametrize("file", WRITTEN_BY_HAND)
def test_no_constant_is_written_by_hand(file):
    text = (ROOT / file).read_text()
    found = {
        segment
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, float)
        for segment in [ast.get_source_segment(text, node)]
        if len(segment.partition("e")[0].replace(".", "").strip("0")) >= DIGITS
    }
    assert len(found) == (4 if file == MEANINGS else 0), found


def test_a_fit_has_the_least_error_but_for_a_little():
    # the best approximation of e^x on [-1, 1] by a line is off by 0.2788
    line = fit(Polynomial("e^x", "1", mpmath.exp, mpf(-1), mpf(1), 2, lambda x: mpf(1)))
    assert 0.2787 < line.error < 0.282
    assert line.coefficients == pytest.approx((1.2643, 1.1752), rel=3e-3)


def test_coefficients_are_numbers_of_their_type_and_the_fixed_ones_stay():
    problem = Polynomial("cos(x)", "1", mpmath.cos, mpf(0), mpf(1), 4, lambda x: mpf(1), fixed=(1.0,), real=np.float32)
    found = fit(problem)
    assert found.coefficients[0] == 1.0
    assert all(float(np.float32(c)) == c for c in found.coefficients)
    x = np.linspace(0, 1, 1001)
    assert np.abs(np.polynomial.polynomial.polyval(x, found.coefficients) - np.cos(x)).max() <= found.error * 1.001


def test_a_first_coefficient_of_two_numbers():
    problem = Polynomial("e^x", "1", mpmath.exp, mpf(-0.25), mpf(0.25), 6, lambda x: mpf(1), two_parts=True)
    found = fit(problem)
    assert 0.0 < abs(found.first_rest) <= 2.0**-53


def test_a_rational_fit_finds_a_quotient():
    above, below, error = fit_rational(
        Rational("", "1", lambda x: (2 + x) / (1 + x / 2 + x * x), mpf(0), mpf(1), 2, 3, lambda x: mpf(1))
    )
    assert (above, below) == (pytest.approx((2.0, 1.0)), pytest.approx((1.0, 0.5, 1.0)))
    assert error < 1e-30


def test_parts_add_up():
    with mpmath.workdps(60):
        third = mpf(1) / 3
        high, low = parts("1/3", third, 2, np.float32, last_bit=-8).numbers
        assert high == round(2**8 / 3) / 2**8
        assert abs(third - high - low) < 2.0**-33
        assert parts("1/3", third, 1) == Parts("1/3.", 1 / 3)


def test_what_is_written():
    line = Polynomial("x / 2", "1", lambda x: x / 2 + 2.0**-30, mpf(0), mpf(1), 2, lambda x: mpf(1), fixed=(0.0, 0.5))
    text = module({"A": Parts("Three.", 3.0), "B": Parts("Words.", (255, 10)), "C": line})
    assert text.endswith(
        "# Three.\nA: Final = 3.0\n# Words.\nB: Final = (0xFF, 0xA)\n"
        "# x / 2; error 2^-30.0 of 1.\nC: Final = (0.0, 0.5)\n"
    )
