"""Gradients of traced functions, compared with central differences in float64, and with `vjp` of each operator.

test_gradients_torch.py compares gradients of the expressions with PyTorch's autograd.
"""

import functools
import itertools
import threading

import numpy as np
import pytest

import ep
from ep.ops.gradients import vjp
from tests.fuse.expressions import EXPRESSIONS, losses
from tests.ops.gradient_checks import call
from tests.threads import run_together

STEP = 1e-6


def slope(function, arrays, place, direction):
    """Return the slope of a function of arrays in a direction of one of them, by central differences."""
    more, less = (
        float(function(*(one + by * direction if k == place else one for k, one in enumerate(arrays))))
        for by in (STEP, -STEP)
    )
    return (more - less) / (2 * STEP)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, rng):
    loss_of, weights, arrays = losses(ep.ops, expression, rng)
    by = [k for k, one in enumerate(arrays) if one.dtype.kind == "f"]
    loss, found = ep.value_and_grad(loss_of, by=[k + 1 for k in by])(weights, *arrays)
    eager = functools.partial(loss_of, weights)
    assert float(loss) == pytest.approx(float(eager(*arrays)), rel=1e-12)
    for place, gradient in zip(by, found, strict=True):
        assert (gradient.shape, gradient.dtype) == (arrays[place].shape, arrays[place].dtype)
        direction = rng.normal(size=gradient.shape)
        expected = slope(eager, arrays, place, direction)
        assert float((gradient * direction).sum()) == pytest.approx(expected, rel=1e-5, abs=1e-7)


CALLS = [
    *((name, 1, {}) for name in ("tanh", "sigmoid", "sin", "cos", "gelu", "square", "atan", "silu", "negative")),
    *((name, 2, {}) for name in ("add", "sub", "mul", "mul", "maximum", "minimum")),
    *(("mean", 1, {"axis": -1, "keepdims": True}), ("sum", 1, {"axis": 0}), ("max", 1, {"axis": 1, "keepdims": True})),
    *(("softmax", 1, {"axis": -1}), ("matmul", 2, {"transpose_x2": True}), ("expand", 1, {"sizes": (4, 4)})),
    *(("permute", 1, {"axes": (1, 0)}), ("slice", 1, {"slices": ((0, 1),)}), ("concat", 2, {"axis": 0})),
    *(("split", 1, {"indices_or_sections": 2, "axis": 0}), ("cast", 1, {"dtype": "float64"})),
]


class Graph:
    """A random graph of operators on three arrays, most of shape (4, 4)."""

    def __init__(self, rng, num_calls):
        self.leaves = [rng.normal(size=shape) for shape in ((4, 4), (4,), (1, 4))]
        self.calls = []
        values = list(self.leaves)
        while len(self.calls) < num_calls:
            name, count, attributes = CALLS[rng.integers(len(CALLS))]
            operands = [int(rng.integers(max(0, len(values) - 10), len(values))) for _ in range(count)]
            try:
                results = self.run((name, operands, attributes), values)
            except ValueError:
                continue  # shapes that do not fit
            if max(np.abs(one).max(initial=0) for one in results) < 100:
                self.calls.append((name, operands, attributes))
                values += results
        # unread values, so that every value contributes to the loss
        read = {one for _, operands, _ in self.calls for one in operands}
        self.ends = [k for k in range(len(values)) if k not in read]

    @staticmethod
    def run(one, values):
        name, operands, attributes = one
        result = call(name, [values[k] for k in operands], attributes)
        return result if isinstance(result, list) else [result]

    def values(self, *leaves):
        values = list(leaves)
        for one in self.calls:
            values += self.run(one, values)
        return values

    def loss(self, *leaves):
        values = self.values(*leaves)
        sums = [ep.ops.mean(values[k], None) for k in self.ends]
        return functools.reduce(ep.ops.add, sums)

    def one_by_one(self):
        """Return the gradients by the leaves, computed with `vjp` of each operator."""
        values = self.values(*self.leaves)
        found = {}

        def add(place, gradient):
            found[place] = gradient if place not in found else ep.ops.add(found[place], gradient)

        for k in reversed(self.ends):
            add(k, vjp("mean", [values[k]], {"axis": None}, None, np.float64(1))[0])
        end = len(values)
        for name, operands, attributes in reversed(self.calls):
            count = len(self.run((name, operands, attributes), values))
            places = range(end - count, end)
            end -= count
            dys = [found.get(k, np.zeros_like(values[k])) for k in places]
            inputs = [values[k] for k in operands]
            of_inputs = vjp(name, inputs, attributes, None, dys if name == "split" else dys[0])
            for place, gradient in zip(operands, of_inputs, strict=True):
                add(place, gradient)
        return [found.get(k, np.zeros_like(one)) for k, one in enumerate(self.leaves)]


@pytest.mark.parametrize("draw", range(12))
def test_random_graphs(draw, rng):
    graph = Graph(rng, int(rng.integers(4, 25)))
    found = ep.grad(graph.loss, by=(0, 1, 2))(*graph.leaves)
    for place, (gradient, expected) in enumerate(zip(found, graph.one_by_one(), strict=True)):
        assert np.allclose(gradient, expected, rtol=1e-12, atol=1e-13), graph.calls
        direction = rng.normal(size=gradient.shape)
        of_differences = slope(graph.loss, graph.leaves, place, direction)
        assert float((gradient * direction).sum()) == pytest.approx(of_differences, rel=1e-4, abs=1e-6), graph.calls


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_bits_are_those_of_operators_one_by_one(dtype, rng):
    x, w = (ep.ops.cast(rng.normal(size=shape), dtype) for shape in ((5, 7), (7,)))
    gradient = ep.grad(lambda x, w: ep.ops.sum(ep.ops.tanh(x * w) * x), by=(0, 1))
    found = ep.fuse(gradient, round_each=True)(x, w)

    inner = ep.ops.mul(x, w)
    outer = ep.ops.tanh(inner)
    (of_product,) = vjp("sum", [ep.ops.mul(outer, x)], {}, None, np.ones((), x.dtype))
    of_outer, of_x = vjp("mul", [outer, x], {}, None, of_product)
    (of_inner,) = vjp("tanh", [inner], {}, outer, of_outer)
    more_of_x, of_w = vjp("mul", [x, w], {}, None, of_inner)
    for one, expected in zip(found, (ep.ops.add(of_x, more_of_x), of_w), strict=True):
        assert one.tobytes() == expected.tobytes()


def cross_entropy(w, b, x, labels):
    scores = ep.ops.log_softmax(x @ w + b)
    return -ep.ops.mean(ep.ops.gather(scores, labels, axis=1, batch_dims=1))


def test_a_classifier_learns(rng):
    """Logistic regression on three clusters: the loss falls at each step."""
    labels = rng.integers(0, 3, (60, 1))
    x = rng.normal(size=(60, 4)) + 3 * np.eye(3, 4)[labels[:, 0]]
    w, b = rng.normal(size=(4, 3)) * 0.1, np.zeros(3)
    loss_and_slopes, falling = ep.value_and_grad(cross_entropy, by=(0, 1)), []
    for _ in range(30):
        loss, (of_w, of_b) = loss_and_slopes(w, b, x, labels)
        falling.append(float(loss))
        w -= 0.3 * of_w
        b -= 0.3 * of_b
    assert falling[-1] < falling[0] / 4
    assert all(after < before for before, after in itertools.pairwise(falling))


@pytest.fixture
def arguments(rng):
    return rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(7, 4)), rng.integers(0, 3, (7, 1))


def test_arguments_by_position_and_by_name(arguments):
    w, b, x, labels = arguments
    of_w, of_b = ep.grad(cross_entropy, by=(0, 1))(*arguments)
    assert np.array_equal(ep.grad(cross_entropy)(*arguments), of_w)
    assert np.array_equal(ep.grad(cross_entropy, by="b")(*arguments), of_b)
    assert np.array_equal(ep.grad(cross_entropy, by=1)(w, labels=labels, x=x, b=b), of_b)
    by_both = ep.grad(cross_entropy, by=["b", 0])(w, labels=labels, x=x, b=b)
    assert [one.tolist() for one in by_both] == [of_b.tolist(), of_w.tolist()]


def test_arguments_of_many_arrays(arguments):
    w, b, x, labels = arguments

    def loss_of(model, x, labels):
        return cross_entropy(model["w"], model["rest"][0], x, labels)

    loss, found = ep.value_and_grad(loss_of)({"w": w, "rest": [b]}, x, labels)
    expected, (of_w, of_b) = ep.value_and_grad(cross_entropy, by=(0, 1))(*arguments)
    assert float(loss) == float(expected)
    assert np.array_equal(found["w"], of_w)
    assert np.array_equal(found["rest"][0], of_b)


def test_what_else_a_function_has_computed(arguments):
    def loss_of(w, b, x, labels):
        scores = x @ w + b
        return cross_entropy(w, b, x, labels), {"scores": scores}

    (loss, aux), of_w = ep.value_and_grad(loss_of, has_aux=True)(*arguments)
    again, same = ep.grad(loss_of, has_aux=True)(*arguments)
    expected, expected_of_w = ep.value_and_grad(cross_entropy)(*arguments)
    assert float(loss) == float(expected)
    assert np.array_equal(of_w, expected_of_w)
    assert np.array_equal(again, expected_of_w)
    assert np.array_equal(aux["scores"], arguments[2] @ arguments[0] + arguments[1])
    assert np.array_equal(same["scores"], aux["scores"])


def test_what_a_loss_does_not_depend_on():
    x, y, z = np.ones((3, 4), np.float32), np.ones((2, 3), np.float16), np.array(1.0)

    def loss_of(x, y, z):
        return ep.ops.sum(ep.ops.cast(ep.ops.cast(x, "int32"), "float32")) + ep.ops.sum(ep.ops.floor(x))

    for one, gradient in zip((x, y, z), ep.grad(loss_of, by=(0, 1, 2))(x, y, z), strict=True):
        assert (gradient.shape, gradient.dtype) == (one.shape, one.dtype)
        assert not gradient.any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
def test_types(dtype, rng):
    x = rng.normal(size=6).astype(ep.DataType[{"float32": "kFloat"}.get(dtype, "kDouble")].dtype)
    x = ep.ops.cast(x, dtype)
    gradient = ep.grad(lambda x: ep.ops.sum(ep.ops.real(x * x) if dtype == "complex64" else x * x))(x)
    assert gradient.dtype == x.dtype
    assert np.array_equal(gradient, np.conj(x + x) if dtype == "complex64" else x + x)


def test_a_loss_of_one_element(rng):
    x = rng.normal(size=(3, 4))
    assert np.array_equal(ep.grad(lambda x: ep.ops.sum(x * x, keepdims=True))(x), 2 * x)
    assert np.array_equal(ep.grad(lambda x: x[1:2, 2:3])(x), np.eye(1, 12, 6).reshape(3, 4))
    assert float(ep.grad(lambda x: x)(np.float64(3))) == 1


def test_a_number_that_is_an_argument_traces_nothing(rng):
    x, traced = rng.normal(size=5), []

    def loss_of(x, rate):
        traced.append(1)
        return ep.ops.sum(x * x) * rate

    function = ep.grad(loss_of)
    for rate in (0.5, 2.0, 3.0):
        assert np.allclose(function(x, rate), 2 * rate * x)
    assert len(traced) == 1


def test_another_length_compiles_nothing(rng):
    from ep.cpu.compile.compiler import statistics

    def loss_of(x):
        d = x - ep.ops.mean(x, -1, keepdims=True)
        return ep.ops.mean(d * d)

    function = ep.grad(loss_of)
    for rows, columns in ((3, 8), (4, 9), (30, 50)):
        x = rng.normal(size=(rows, columns))
        if rows == 4:
            before = len(statistics.names)
        expected = 2 * (x - x.mean(axis=1, keepdims=True)) / x.size
        np.testing.assert_allclose(function(x), expected, rtol=1e-12, atol=1e-15)
    assert len(statistics.names) == before


def test_gradients_are_arrays_of_their_own():
    """This includes gradients that are constants of the trace."""
    one, other = np.array(1.0), np.array(2.0)
    function = ep.grad(lambda x, y: x, by=(0, 1))
    for _ in range(2):
        of_one, of_other = function(one, other)
        assert (float(of_one), float(of_other)) == (1, 0)
        of_one += 1
        of_other += 1


def test_in_fused_functions_and_over_them(arguments):
    w, b, x, labels = arguments
    inner = ep.fuse(cross_entropy)
    expected = ep.grad(cross_entropy)(*arguments)
    assert np.array_equal(ep.grad(inner)(*arguments), expected)

    @ep.fuse
    def step(w, b, x, labels, rate):
        loss, slope = ep.value_and_grad(inner)(w, b, x, labels)
        return loss, w - rate * slope

    _, moved = step(w, b, x, labels, 0.25)
    assert np.array_equal(moved, w - 0.25 * expected)
    given = w.copy()
    assert step(given, b, x, labels, 0.25, out=(None, given))[1] is given
    assert np.array_equal(given, moved)
    assert "map kernel" in step.explain(w, b, x, labels, 0.25)
    with ep.lazy() as lazy:
        view = lazy.view(given)
        view -= 0.25 * ep.grad(lambda w: ep.ops.sum(w * w))(view)
    assert np.allclose(given, moved / 2)


def test_what_is_computed_alike_elsewhere_is_a_constant(rng):
    """The trace finds the same value again; but only values computed from the function's argument contribute to its
    gradient.
    """
    x = rng.normal(size=5)

    @ep.fuse
    def outer(x):
        y = x * x
        return ep.grad(lambda y: ep.ops.sum(y * (x * x)) + ep.ops.sum(x * y))(y)

    assert np.allclose(outer(x), x * x + x)
    both = ep.fuse(lambda x: ep.grad(lambda a, b: ep.ops.sum(a * a * b), by=(0, 1))(x, x))
    assert np.allclose(both(x), (2 * x * x, x * x))
    outside = ep.fuse(lambda x: (ep.grad(lambda y: ep.ops.sum(ep.ops.tanh(y)))(x), ep.ops.tanh(x)))
    assert outside.explain(x).split().count("tanh") == 1


def test_second_derivatives(rng):
    x = rng.normal(size=(3, 4))
    first = ep.grad(lambda x: ep.ops.sum(x * x * x))
    assert np.allclose(ep.grad(lambda x: ep.ops.sum(first(x) * x))(x), 9 * x * x)
    with pytest.raises(TypeError, match="tanh_backward_with_dy_y has no gradient"):
        ep.grad(lambda x: ep.ops.sum(ep.grad(lambda x: ep.ops.sum(ep.ops.tanh(x)))(x)))(x)


def test_a_graph_of_5000_nodes(rng):
    x = rng.normal(size=8)

    def loss_of(x):
        y = x
        for _ in range(2500):
            y = y * 0.999 + 0.001
        return ep.ops.sum(y)

    assert np.allclose(ep.grad(loss_of)(x), 0.999**2500)


def total(x):
    return ep.ops.sum(x)


REFUSED = [
    (lambda x: ep.grad(total, by=1)(x), TypeError, "by is 1, an argument that total was called without"),
    (lambda x: ep.grad(total, by="y")(x), TypeError, "by is 'y', an argument that total was called without"),
    (lambda x: ep.grad(total, by=("x", 0))(x), ValueError, r"by is \('x', 0\), which is one argument of total twice"),
    (lambda x: ep.grad(total, by=1.5), TypeError, "by must be the position or the name of an argument.*, not 1.5"),
    (lambda x: ep.grad(total, by=(True,)), TypeError, "by must be the position or the name of an argument"),
    (lambda x: ep.grad(total, by=-3)(x, x), TypeError, "^by is -3, an argument that total was called without"),
    (lambda x: ep.grad(total, argnums=5)(x), TypeError, "^argnums is 5, an argument that total was called without"),
    (lambda x: ep.grad(total)(), TypeError, "^gradients are by the first argument that total was called without"),
    (lambda x: ep.grad(3), TypeError, "^function must be callable, not 3"),
    (lambda x: ep.value_and_grad("f"), TypeError, "^function must be callable, not 'f'"),
    (lambda x: ep.grad(total, has_aux=1), TypeError, "^has_aux must be True or False, not 1"),
    (
        lambda x: ep.grad(lambda w, rate: (w.sum(), rate), has_aux=True)(x, 0.5),
        TypeError,
        "returns the number 0.5; with has_aux, the values beside",
    ),
    (lambda x: ep.grad(total)([]), ValueError, "has no arrays; gradients are by arrays and numbers"),
    (
        lambda x: ep.grad(lambda w: (w.sum(), "text"), has_aux=True)(x),
        TypeError,
        "str; with has_aux, the values beside",
    ),
    (lambda x: ep.grad(lambda w: 3)(x), TypeError, "returns a loss of dtype int64; it must be of a floating type"),
    (lambda x: ep.grad(total, by=()), ValueError, "by is empty"),
    (lambda x: ep.grad(total)(np.arange(3)), TypeError, "x has dtype int64; gradients are by floating and complex"),
    (lambda x: ep.grad(total)([x, np.arange(3)]), TypeError, r"x\[1\] has dtype int64"),
    (lambda x: ep.grad(lambda x, y: total(x * y), by="y")(x, 2), TypeError, "y is the number 2; gradients are by"),
    (lambda x: ep.grad(total, 0, argnums=0), TypeError, "by is 0 and argnums is 0: they are two names of one"),
    (lambda x: ep.grad(total, argnums=np.array([0, 1])), TypeError, "^argnums must be the position or the name"),
    (lambda x: ep.grad(total, by=(0, True)), TypeError, "^by must be the position or the name"),
    (lambda x: ep.grad(total, argnums=1.5), TypeError, "^argnums must be the position or the name of an argument"),
    (lambda x: ep.grad(total)("text"), TypeError, "x is 'text'; gradients are by arrays"),
    (
        lambda x: ep.grad(lambda x: x)(x),
        ValueError,
        r"<lambda> returns a loss of shape \(3,\); it must have one element",
    ),
    (lambda x: ep.grad(lambda x: "text")(x), TypeError, "<lambda> returns .text.; its loss must be an array of one"),
    (lambda x: ep.grad(lambda x: (total(x), x))(x), TypeError, "returns a tuple; its loss must be .* has_aux"),
    (lambda x: ep.grad(total, has_aux=True)(x), TypeError, "total returns .*; with has_aux, it must return a pair"),
    (lambda x: ep.grad(lambda x: ep.ops.any(x > 0))(x), TypeError, "returns a loss of dtype bool; it must be of a fl"),
    (lambda x: ep.grad(lambda x: total(ep.ops.zeta(x, x)))(x), TypeError, "zeta has no gradient"),
    (lambda x: ep.grad(total)(x, out=np.zeros(4)), ValueError, r"out has shape \(4,\)"),
]


@pytest.mark.parametrize(("function", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function, error, words):
    x = np.array([1.0, 2, 3])
    with pytest.raises(error, match=words):
        function(x)
    assert x.tolist() == [1, 2, 3]


def test_an_exception_in_a_trace(rng):
    x, fails = rng.normal(size=5), [True]

    def loss_of(x):
        y = x * x
        if fails.pop():
            raise ZeroDivisionError
        return ep.ops.sum(y)

    function = ep.grad(loss_of)
    fails.append(True)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            function(x)
    fails.append(False)
    assert np.array_equal(function(x), 2 * x)


def test_two_threads_that_trace_one_function(rng):
    arrays = [rng.normal(size=(3, size)) for size in range(2, 12)]
    function, found = ep.value_and_grad(lambda x: ep.ops.sum(ep.ops.sin(x) * x)), {}
    begin = threading.Barrier(2)

    def work(which):
        begin.wait()
        found[which] = [function(x) for x in arrays]

    run_together(work, ((k,) for k in range(2)))
    for which in range(2):
        for x, (_, gradient) in zip(arrays, found[which], strict=True):
            assert np.allclose(gradient, np.sin(x) + x * np.cos(x))
