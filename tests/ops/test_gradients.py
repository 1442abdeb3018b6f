"""Gradients, compared with central differences in float64. test_gradients_torch.py compares them with PyTorch."""

import numpy as np
import pytest

import ep.ops
from ep import BinaryOp, UnaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.ops.declare.operator import operators
from ep.ops.gradients import has_gradient, vjp
from ep.ops.names import parameter_name
from tests.ops.gradient_cases import COMPLEX, DOMAINS, RULES, drawn
from tests.ops.gradient_checks import call

STEP = 1e-6


def check(name, inputs, attributes, rng, tolerance=2e-7):
    """Compare the gradients of all floating inputs, in a random direction of each, with central differences."""
    output = call(name, inputs, attributes)
    dy = [rng.normal(size=one.shape) for one in output] if isinstance(output, list) else rng.normal(size=output.shape)
    dy = dy if isinstance(output, list) else dy.astype(output.dtype)
    found = vjp(name, inputs, attributes, output, dy)
    again = vjp(name, inputs, attributes, None, dy)
    assert len(found) == len(inputs)

    def value(changed):
        result = call(name, changed, attributes)
        pairs = zip(result, dy, strict=True) if isinstance(result, list) else [(result, dy)]
        return sum(float((one * by).sum().real) for one, by in pairs)

    for position, (x, gradient) in enumerate(zip(inputs, found, strict=True)):
        if x.dtype.kind != "f":
            assert gradient is None
            continue
        assert (gradient.shape, gradient.dtype) == (x.shape, x.dtype)
        assert np.array_equal(gradient, again[position], equal_nan=True)
        direction = rng.normal(size=x.shape)
        changed = [
            [x + sign * STEP * direction if at == position else one for at, one in enumerate(inputs)]
            for sign in (1, -1)
        ]
        slope = (value(changed[0]) - value(changed[1])) / (2 * STEP)
        expected = float((gradient * direction).sum())
        assert expected == pytest.approx(slope, rel=tolerance * 100, abs=tolerance * 100)


@pytest.mark.parametrize("name", [name for name in RULES if name not in COMPLEX])
def test_every_operator(name, rng):
    """Every operator, with new random shapes, axes, broadcasting and indices."""
    for _ in range(4):
        inputs, attributes = drawn(name, rng, ties=False)
        check(name, inputs, attributes, rng)


REQUIRED = {"threshold": 0.1, "value": -1.0}
COMPLEX_ONES = (UnaryOp.kCast, UnaryOp.kRealGrad, UnaryOp.kImagGrad)
UNARY = [
    op for op in UnaryOp if op not in COMPLEX_ONES and np.dtype(np.float64) in [one.dtype for one in OPS[op].takes]
]


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_unary(op, rng):
    name = function_name(op)
    if OPS[op].result_type(OPS[op].takes[-1]).dtype.kind == "b" or not has_gradient(name):
        assert name in ("logical_not", "is_inf", "is_nan", "is_finite")
        return
    low, high = DOMAINS.get(name, (-2.3, 2.3))
    attributes = {parameter_name(one): REQUIRED[one.name] for one in OPS[op].attributes if one.default is None}
    x = rng.uniform(low, high, (7, 3))
    x[np.abs(x - np.round(2 * x) / 2) < 1e-3] += 0.01  # away from points at which the function or its slope jumps
    check(name, [x], attributes, rng)


SHAPES = [
    ((5, 3), (5, 3)),
    ((5, 1), (4, 1, 3)),
    ((), (2, 3)),
    ((3,), (0, 3)),
    ((2,) * 5 + (1,) * 5, (1,) * 5 + (2,) * 5),
]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "pow", "fmod", "floor_mod"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_binary(name, shapes, rng):
    x, y = (rng.uniform(0.5, 3, shape) for shape in shapes)
    check(name, [x, y], {}, rng)
    if name not in ("fmod", "floor_mod"):
        dy = rng.normal(size=np.broadcast_shapes(*shapes))
        for one, other in zip(getattr(ep.ops, f"{name}_grad")(dy, x, y), vjp(name, (x, y), {}, None, dy), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["floor_div", "trunc_div"])
def test_steps_have_no_slope(name, rng):
    x, y = rng.uniform(0.5, 3, (2, 5))
    assert not np.any(vjp(name, (x, y), {}, None, np.ones(5)))


def test_equal_operands_share_the_gradient():
    assert [one.tolist() for one in vjp("maximum", ([1.0, 2], [1.0, 3]), {}, None, np.ones(2))] == [[0.5, 0], [0.5, 1]]


def test_a_power_of_zero():
    of_x, of_y = vjp("pow", ([0.0, 0.0], [2.0, 0.0]), {}, None, np.ones(2))
    assert (of_x.tolist(), of_y.tolist()) == ([0, 0], [0, 0])


NORMAL = {
    "expand": [([(5, 1, 3)], {"sizes": (2, 5, 4, 3)}), ([()], {"sizes": (3,)}), ([(0, 1)], {"sizes": (0, 4)})],
    "repeat": [([(3, 2)], {"sizes": (2, 3, 4)}), ([(1, 5)], {"sizes": (7, 1)}), ([(2,)], {"sizes": (0,)})],
    "permute": [([(5, 3, 2)], {"axes": (2, 0, 1)})],
    "pad": [([(5, 3)], {"pad_width": ((1, 2), (0, 1))}), ([(5, 4)], {"pad_width": ((-1, 2), (1, -2))})],
    "slice": [
        ([(7, 5)], {"slices": (slice(1, 6, 2), slice(None, None, 3))}),
        ([(7, 5)], {"slices": (None, (1, 3))}),
        ([(7,)], {"slices": ((5, 2),)}),
    ],
    "split": [([(6, 4)], {"indices_or_sections": 3}), ([(3, 7)], {"indices_or_sections": [2, 5, 4], "axis": 1})],
    "concat": [([(5, 2), (5, 3)], {"axis": 1}), ([(5, 2), (3,)], {"axis": None}), ([(2, 3)], {})],
    "stack": [([(5, 2), (5, 2), (5, 2)], {"axis": -1})],
    "matmul": [
        ([(5, 4), (4, 3)], {}),
        ([(4, 5), (3, 4)], {"transpose_x1": True, "transpose_x2": True}),
        ([(4, 5), (4, 3)], {"transpose_x1": True}),
        ([(5, 4), (3, 4)], {"transpose_x2": True}),
        ([(4,), (4, 3)], {}),
        ([(5, 4), (4,)], {}),
        ([(4,), (4,)], {}),
        ([(2, 1, 5, 4), (3, 4, 6)], {}),
        ([(0, 4), (4, 3)], {}),
    ],
    "conv": [
        ([(2, 3, 7), (5, 3, 3)], {"pads": (1, 2)}),
        ([(2, 4, 6, 5), (6, 2, 2, 3)], {"strides": (2, 1), "pads": (1, 0, 2, 1), "dilations": (1, 2), "groups": 2}),
        ([(1, 2, 4, 3, 5), (2, 2, 2, 1, 2)], {"strides": (1, 2, 3)}),
        ([(2, 3, 5, 4), (6, 1, 3, 3)], {"pads": 4, "groups": 3}),
        ([(3, 2, 5), (4, 2, 1)], {"strides": 4}),
        ([(0, 2, 5), (4, 2, 3)], {}),
        ([(2, 0, 5), (4, 0, 3)], {}),
        ([(2, 2, 2), (4, 2, 3)], {}),
    ],
    "cast": [([(5, 3)], {"dtype": "float64"})],
    "sum": [([(5, 3, 2)], {"axis": (0, 2)}), ([(5, 3)], {"keepdims": True}), ([(0, 3)], {"axis": 0})],
    "mean": [([(5, 3, 2)], {"axis": 1}), ([(5, 3)], {"axis": -1, "keepdims": True}), ([()], {})],
    "prod": [([(5, 3)], {"axis": 1}), ([(2, 3)], {})],
    "max": [([(5, 3, 2)], {"axis": (1, 2)}), ([(5, 3)], {"axis": 0, "keepdims": True})],
    "min": [([(5, 3)], {})],
    "cumulative_sum": [([(7,)], {}), ([(3, 6, 2)], {"axis": 1, "reverse": True}), ([(2, 0)], {"axis": 1})],
    "cumulative_prod": [([(7,)], {"include_initial": True}), ([(3, 6, 2)], {"axis": 1, "reverse": True})],
    "softmax": [([(5, 3)], {}), ([(5, 3, 2)], {"axis": 1}), ([(0, 3)], {"axis": 0})],
    "log_softmax": [([(5, 3)], {"axis": 0}), ([(4,)], {})],
}


@pytest.mark.parametrize(
    ("name", "shapes", "attributes"),
    [(name, *one) for name, several in NORMAL.items() for one in several],
    ids=lambda value: str(value).replace(" ", ""),
)
def test_movers_and_products(name, shapes, attributes, rng):
    check(name, [rng.normal(size=shape) for shape in shapes], attributes, rng)


GATHERS = [
    ((6, 5), (4, 3), {"axis": 0}, (0, 6)),
    ((4, 6, 5), (7,), {"axis": 1, "mode": "zero"}, (-3, 9)),
    ((4, 6, 5), (4, 2), {"axis": 1, "batch_dims": 1, "mode": "clip"}, (-3, 9)),
    ((4, 5, 6), (4, 2), {"axis": -1, "batch_dims": 1, "mode": "wrap_negative"}, (-6, 6)),
    ((6,), (), {}, (0, 6)),
    ((6, 0), (3,), {}, (0, 6)),
    ((6, 2), (0,), {}, (0, 6)),
]


@pytest.mark.parametrize(("shape", "indices", "attributes", "among"), GATHERS, ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_gather(shape, indices, attributes, among, dtype, rng):
    check("gather", [rng.normal(size=shape), np.asarray(rng.integers(*among, indices), dtype)], attributes, rng)


def test_segment_sum(rng):
    ids = rng.integers(-1, 4, 6)
    check("segment_sum", [rng.normal(size=(2, 6, 3)), ids], {"num_segments": 3, "axis": 1}, rng)


def test_a_product_with_zeros():
    """The gradient of a single zero is the product of the others; that of each of two zeros is 0."""
    x = np.array([[2.0, 0, 3], [0, 5, 0]])
    assert vjp("prod", (x,), {"axis": 1}, None, np.array([1.0, 1]))[0].tolist() == [[0, 6, 0], [0, 0, 0]]


def test_equal_elements_share_the_gradient():
    assert vjp("max", ([3.0, 1, 3],), {}, None, np.float64(1))[0].tolist() == [0.5, 0, 0.5]


def test_batch_gather(rng):
    params, indices = rng.normal(size=(3, 6, 2)), rng.integers(0, 6, (3, 4))
    result = ep.ops.batch_gather(params, indices)
    assert np.array_equal(result, ep.ops.gather(params, indices, batch_dims=1))
    dy = rng.normal(size=result.shape)
    expected = vjp("gather", (params, indices), {"batch_dims": 1}, result, dy)[0]
    assert np.array_equal(ep.ops.batch_gather_grad(dy, indices, params.shape), expected)


def test_repeated_rows_add_up_in_their_order(rng):
    dy, indices = rng.normal(size=(1000, 3)).astype(np.float32), rng.integers(0, 4, 1000)
    expected = np.zeros((5, 3), np.float32)
    for place, row in enumerate(indices):
        expected[row] += dy[place]
    assert np.array_equal(ep.ops.gather_grad(dy, indices, (5, 3)), expected)


def test_where(rng):
    condition = rng.integers(0, 2, (4, 1)).astype(bool)
    check("where", [condition, rng.normal(size=(3,)), rng.normal(size=(4, 3))], {}, rng)


def test_complex_numbers():
    z, dy = np.array([1 + 2j, 3 - 1j]), np.array([2.0, 5.0])
    assert vjp("real", (z,), {}, None, dy)[0].tolist() == [2, 5]
    assert vjp("imag", (z,), {}, None, dy)[0].tolist() == [2j, 5j]
    assert vjp("real_grad", (dy,), {}, None, z)[0].tolist() == [1, 3]
    assert vjp("conj", (z,), {}, None, z)[0].tolist() == [1 - 2j, 3 + 1j]
    assert vjp("identity", (z,), {}, None, z)[0].tolist() == z.tolist()
    of_x, of_y = vjp("mul", (z, z * 1j), {}, None, z)
    assert np.array_equal(of_x, z * np.conj(z * 1j))
    assert np.array_equal(of_y, z * np.conj(z))


def test_casts():
    x = np.float32([1.5, 2])
    (gradient,) = vjp("cast", (x,), {"dtype": "complex128"}, None, np.array([1 + 2j, 3]))
    assert (gradient.dtype, gradient.tolist()) == (np.float32, [1, 3])
    assert vjp("cast", (np.arange(2),), {"dtype": "float32"}, None, np.ones(2, np.float32)) == [None]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("gathr", [], {}, None, 1), ValueError, "there is no operator 'gathr'; did you mean 'gather'"),
        (("less_than", [[1.0], [2.0]], {}, None, 1), TypeError, "less_than has no gradient"),
        (("add", [[1.0]], {}, None, 1), ValueError, "inputs has 1 arrays; add has x, y"),
        (
            ("add", [[1.0], [2.0]], {}, None, np.ones(2)),
            ValueError,
            r"dy has shape \(2,\); the result of add has \(1,\)",
        ),
        (("relu", [[1.0]], {"alpha": 1}, None, np.ones(1)), TypeError, "no parameter 'alpha'"),
    ],
)
def test_wrong_calls(arguments, error, words):
    with pytest.raises(error, match=words):
        vjp(*arguments)


def test_wrong_gradients_of_shapes():
    with pytest.raises(ValueError, match=r"shape \(2,\) does not expand to that of dy, \(3,\)"):
        ep.ops.expand_grad(np.ones(3), (2,))
    with pytest.raises(ValueError, match=r"dy has shape \(3,\); the result of repeat has \(4,\)"):
        ep.ops.repeat_grad(np.ones(3), (2,), (2,))
    with pytest.raises(ValueError, match=r"dy has shape \(3, 2\); the result of gather has \(2, 2\)"):
        ep.ops.gather_grad(np.ones((3, 2)), [0, 1], (4, 2))
    with pytest.raises(ValueError, match=r"dy has shape \(3,\); the result of slice has \(2,\)"):
        ep.ops.slice_grad(np.ones(3), (5,), (1, 3))
    with pytest.raises(IndexError, match=r"indices\[1\] is 4"):
        ep.ops.gather_grad(np.ones((2, 2)), [0, 4], (4, 2))


def test_which_operators_have_none():
    """Operators whose results or operands are not numbers, and gradient operators, whose gradients would be of second
    order.
    """
    without = {one.name for one in operators() if not has_gradient(one.name)}
    gradients = {name for name in without if "_grad" in name or "backward" in name}
    others = without - gradients
    booleans = {
        function_name(op) for op in (*UnaryOp, *BinaryOp) if str(op.name).startswith(("kIs", "kLogical", "kBitwise"))
    }
    compared = {"equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"}
    of_places = {"argmax", "argmin", "argsort", "argtopk", "max_pool_labels", "one_hot", "ravel_multi_index"}
    of_integers = {"matmul_integer", "conv_integer"}
    assert others - booleans - compared == {"all", "any", "tree_ensemble", "zeta", *of_places, *of_integers}


ON_DEVICE = {
    "add": ([(5, 3), (3,)], {}),
    "mul": ([(5, 3), (5, 1)], {}),
    "gather": ([(5, 3)], {"axis": 0}),
    "repeat": ([(3, 2)], {"sizes": (2, 3)}),
    "slice": ([(5, 3)], {"slices": ((1, 5, 2),)}),
    "softmax": ([(5, 3)], {}),
    "max": ([(5, 3)], {"axis": 0}),
    "mean": ([(5, 3)], {"axis": 0}),
    "prod": ([(5, 3)], {}),
    "fmod": ([(5, 3), (3,)], {}),
    "floor": ([(5, 3)], {}),
}


@pytest.mark.parametrize("name", ON_DEVICE)
def test_on_the_device(name, on_device, rng):
    """Gradients on the device are the same as on the host."""
    shapes, attributes = ON_DEVICE[name]
    inputs = [rng.normal(size=shape) for shape in shapes]
    if name == "gather":
        inputs.append(np.array([1, 4, 1, 1]))
    dy = rng.normal(size=call(name, inputs, attributes).shape)
    expected = vjp(name, inputs, attributes, None, dy)
    found = vjp(name, list(map(on_device, inputs)), attributes, None, on_device(dy))
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or np.allclose(ep.ops.copy_to_host(one), other, rtol=1e-12, atol=1e-12)
