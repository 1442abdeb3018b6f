"""Gradients of every type: of each operator, compared with central differences, and at the limits of the types."""

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.ops.gradients import vjp
from tests.ops.gradient_cases import COMPLEX, RULES
from tests.ops.gradient_checks import TYPES, check

MANY = 70_000
NARROW = (np.float16, ml_dtypes.bfloat16)
INTEGERS = [one for one in TYPES if one not in FLOATS + COMPLEXES]


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_operator_of_every_kind_of_type(name, rng):
    """Gradients have the shapes and types of the inputs; for integers and bool they are None."""
    compared = [check(name, data_type, rng) for data_type in FLOATS]
    of_complex = [check(name, data_type, rng) for data_type in COMPLEXES]
    assert any(compared + of_complex) if name in COMPLEX else all(compared)
    check(name, INTEGERS[int(rng.integers(len(INTEGERS)))], rng)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ["max", "min"])
def test_more_equal_elements_than_the_type_counts(name, dtype):
    (gradient,) = vjp(name, (np.ones((2, MANY), dtype),), {"axis": 1}, None, np.array([1, 2], dtype))
    expected = (np.array([1, 2]) / MANY).astype(dtype)
    assert gradient.dtype == dtype
    assert np.array_equal(gradient, np.broadcast_to(expected[:, None], (2, MANY)))


@pytest.mark.parametrize("dtype", NARROW)
def test_a_mean_of_more_elements_than_the_type_counts(dtype):
    (gradient,) = vjp("mean", (np.ones(MANY, dtype),), {}, None, np.ones((), dtype))
    assert gradient.dtype == dtype
    assert np.array_equal(gradient, np.full(MANY, np.float64(1 / MANY).astype(dtype)))


def test_infinite_elements_share_the_gradient():
    assert vjp("max", ([np.inf, 1, np.inf],), {}, None, 1.0)[0].tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize(
    ("dtype", "x"),
    [(np.float16, [300, 300, 0.5]), (np.float32, [1e30, 1e30, 1e-30]), (np.float32, [1e-30, 1e-30, 0])],
)
def test_products_out_of_range_whose_gradients_are_in_it(dtype, x):
    """Gradients are products of the other elements, not quotients of the whole product, which overflows or is 0."""
    x = np.array(x, dtype)
    others = [np.prod(np.delete(x.astype(np.float64), place)) for place in range(3)]
    with np.errstate(over="ignore"):
        assert np.array_equal(vjp("prod", (x,), {}, None, dtype(1))[0], np.array(others).astype(dtype))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize(("dtype", "given"), [("float32", "complex64"), ("float64", "float32"), ("float16", "float64")])
def test_reductions_to_another_type(name, dtype, given):
    x = np.array([2, 3, 4], dtype)
    (gradient,) = vjp(name, (x,), {"dtype": given}, None, np.ones((), given))
    expected = {"sum": [1, 1, 1], "mean": [1 / 3] * 3, "prod": [12, 8, 6]}[name]
    assert gradient.dtype == x.dtype
    assert np.allclose(gradient, expected, rtol=1e-3)


def test_a_remainder_whose_quotient_is_rounded_up():
    """x / y is rounded to 3, but y fits into x only twice."""
    y = np.float16(1.0 + np.arange(1, 1024) / 1024)
    x = np.nextafter(np.float16(3) * y, np.float16(0))
    for name in ("fmod", "floor_mod"):
        times = np.floor(x.astype(np.float64) / y.astype(np.float64))
        assert np.array_equal(vjp(name, (x, y), {}, None, np.ones_like(x))[1], -times)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        *((name, ([3, 5], [2, 5])) for name in ("sub", "mul", "div", "maximum", "minimum", "pow", "fmod", "floor_div")),
        *((name, ([3, 5],)) for name in ("relu", "abs", "max", "min", "sum", "prod", "identity")),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_integers_have_no_gradient(name, inputs, dtype):
    inputs = [np.array(one, dtype) for one in inputs]
    output = getattr(ep.ops, name)(*inputs)
    for dy in (np.ones_like(output), np.ones(output.shape)):
        assert vjp(name, inputs, {}, None, dy) == [None] * len(inputs)


def test_results_without_a_gradient():
    """Results that are rounded to integers, or that are counts, have no gradient."""
    assert vjp("cast", (np.ones(3),), {"dtype": "int32"}, None, np.ones(3)) == [None]
    assert vjp("sum", (np.ones(3),), {"dtype": "int64"}, None, 1) == [None]


def test_complex_products_are_with_the_conjugate():
    a, b, dy = np.array([[1 + 2j]]), np.array([[3 - 1j]]), np.array([[2 + 1j]])
    of_a, of_b = vjp("matmul", (a, b), {}, None, dy)
    assert np.allclose(of_a, dy * b.conj())
    assert np.allclose(of_b, dy * a.conj())
    assert np.allclose(ep.ops.matmul_grad(dy, a, b)[1], of_b)


def test_a_python_number_among_operands():
    """It has the dtype of the other operand, as has its gradient."""
    of_x, of_y = vjp("mul", (np.float32([1, 2]), 3.0), {}, None, np.float32([1, 1]))
    assert (of_x.dtype, of_x.tolist()) == (np.float32, [3, 3])
    assert (of_y.dtype, of_y.shape, float(of_y)) == (np.float32, (), 3)


def test_a_python_number_as_dy():
    (gradient,) = vjp("sum", (np.float32([1, 2]),), {}, None, 2)
    assert (gradient.dtype, gradient.tolist()) == (np.float32, [2, 2])


SINGLE = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("exp", (SINGLE,), {}, None, 1.0), ValueError, r"dy is the number 1.0, of shape \(\); .* exp has \(3,\)"),
        (("sum", (SINGLE.astype("f2"),), {}, None, 1e9), ValueError, "dy is 1000000000.0, which float16 does not hold"),
        (("exp", (SINGLE,), {}, None, np.ones(3)), TypeError, "dy has dtype float64; the result of exp has float32"),
        (("exp", (SINGLE,), {}, SINGLE[:2], SINGLE), ValueError, r"output has shape \(2,\); .* exp has \(3,\)"),
        (("tanh", (SINGLE,), {}, np.ones(3), SINGLE), TypeError, "output has dtype float64; .* tanh has float32"),
        (("max", (SINGLE,), {}, SINGLE, SINGLE[0]), ValueError, r"output has shape \(3,\); the result of max has \(\)"),
        (("exp", (SINGLE,), {}, None, "text"), TypeError, "dy"),
        (("exp", (SINGLE,), {}, None, None), TypeError, "dy"),
        (("exp", (SINGLE,), None, None, SINGLE), TypeError, "attributes must be a mapping .* not None"),
        (("add", (SINGLE, np.ones(3)), {}, None, SINGLE), TypeError, "y has dtype float64, x has float32"),
        (("concat", (SINGLE, np.ones(3)), {}, None, SINGLE), TypeError, r"inputs\[1\] has dtype float64, inputs\[0\]"),
        (("concat", (), {}, None, SINGLE), ValueError, "inputs has 0 arrays"),
        (("split", (SINGLE,), {"indices_or_sections": 3}, None, SINGLE), TypeError, "dy must be a sequence"),
        (
            ("split", (SINGLE,), {"indices_or_sections": 3}, None, [SINGLE[:1], SINGLE[:2], SINGLE[:1]]),
            ValueError,
            r"dy\[1\] has shape \(2,\); the result of split has \(1,\)",
        ),
        (
            ("split", (SINGLE,), {"indices_or_sections": 3}, None, [SINGLE[:1]]),
            ValueError,
            "dy has 1 parts; the result of split has 3",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        vjp(*arguments)


def test_functions_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match=r"dy has shape \(3,\); the result of matmul has \(3, 3\)"):
        ep.ops.matmul_grad(SINGLE, np.ones((3, 2), np.float32), np.ones((2, 3), np.float32))
    with pytest.raises(TypeError, match="dy has dtype float64; the result of add has float32"):
        ep.ops.add_grad(np.ones(3), SINGLE, SINGLE)
