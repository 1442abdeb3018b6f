"""Calls like earlier ones, of operators, fused functions, gradients, blocks and models, are the first call again: the
bits, the errors, and what is alive afterwards. They run few functions of Python.
"""

import gc
import os
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import TensorProto

import ep
import ep.onnx
from ep import DeviceType
from ep.ops import copy_to_host
from ep.ops.declare.operator import operator_named
from ep.ops.kernels import Kernel, registry
from ep.testing.device_under_test import DeviceUnderTest
from tests.fuse.placing import placed
from tests.onnx.test_models import model_of
from tests.onnx.test_plans import layers
from tests.profiles import calls_of
from tests.threads import run_together

F32 = np.float32


def layer_norm(x, scale, bias):
    away = x - ep.ops.mean(x, axis=-1, keepdims=True)
    variance = ep.ops.mean(away * away, axis=-1, keepdims=True)
    return away / ep.ops.sqrt(variance + 1e-5) * scale + bias


def layer_norm_of_numpy(x, scale, bias):
    away = x - x.mean(-1, keepdims=True)
    return away / np.sqrt((away * away).mean(-1, keepdims=True) + 1e-5) * scale + bias


def in_a_block(x, y):
    with ep.lazy() as lazy:
        of_x, of_y = lazy.view(x), lazy.view(y)
        of_x[...] = of_x * 0.5 + of_y
        of_y += of_x
    return x, y


def layered(device):
    nodes, weights, _ = layers(np.random.default_rng(5))
    model = ep.onnx.load(model_of(nodes, [("h0", ("n", 7))], [("h5", ("n", 7))], weights), device.type)
    return lambda x: model(h0=x)


def layered_by_numpy(x):
    return layers(np.random.default_rng(5))[2](x)


def looked_up(device):
    nodes = [("Gather", ["table", "at"], ["g"]), ("Tanh", ["g"], ["t"]), ("Softmax", ["t"], ["y"])]
    inputs = [("table", (5, 7)), ("at", (3,), TensorProto.INT64)]
    model = ep.onnx.load(model_of(nodes, inputs, [("y", (3, 7))]), device.type)
    return lambda table, at: model(table=table, at=at)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def steps(x, table, at, rate=0.5):
    """Return values of a map, of a gather, of a sort that no kernel joins, and of a product."""
    rows = ep.ops.gather(table, at, mode="wrap_negative")
    return ep.ops.tanh(x * rate), ep.ops.sort(rows + x), ep.ops.matmul(ep.ops.permute(x, (1, 0)), rows)


def scaled(_):
    fused = ep.fuse(lambda x, y, rate: ep.ops.tanh(x) * rate + y)
    return lambda x, y: fused(x, y, 3.0)


class Call(NamedTuple):
    """A call to repeat.

    make: returns a function that has not been called yet; an operator is always the same one.
    shapes: of the arguments; INDICES are three indices of 5 rows.
    expected: the results by NumPy alone.
    frames: the most functions of Python that a repeated call runs on the CPU.
    """

    make: Callable[[Any], Callable[..., Any]]
    shapes: tuple[Any, ...]
    expected: Callable[..., Any]
    frames: int


INDICES = "indices"
X, ROW = (5, 7), (7,)
CALLS = {
    "add": Call(lambda _: ep.ops.add, (X, ROW), lambda x, y: x + y, 1),
    "gather": Call(lambda _: ep.ops.gather, (X, INDICES), lambda x, at: x[at], 1),
    "matmul": Call(lambda _: ep.ops.matmul, (X, (7, 3)), lambda x, y: x @ y, 4),
    "softmax_grad": Call(
        lambda _: lambda y, dy: ep.ops.softmax_grad(y=y, dy=dy),
        (X, X),
        lambda y, dy: y * (dy - (y * dy).sum(-1, keepdims=True)),
        3,
    ),
    "a fused map": Call(
        lambda _: ep.fuse(lambda x, y: (ep.ops.tanh(x) * y, x - 2.0)),
        (X, ROW),
        lambda x, y: (np.tanh(x) * y, x - 2),
        4,
    ),
    "a fused layer norm": Call(lambda _: ep.fuse(layer_norm), (X, ROW, ROW), layer_norm_of_numpy, 4),
    "a fused product": Call(
        lambda _: ep.fuse(lambda x, w, y: ep.ops.relu(x @ w) * y),
        (X, (7, 7), ROW),
        lambda x, w, y: np.maximum(x @ w, 0) * y,
        4,
    ),
    "a fused reduction": Call(
        lambda _: ep.fuse(lambda x, y: x / ep.ops.sum(x * y, (0,))), (X, ROW), lambda x, y: x / (x * y).sum(0), 4
    ),
    "a fused gather": Call(
        lambda _: ep.fuse(lambda x, at: ep.ops.tanh(ep.ops.gather(x, at)) * 2.0),
        (X, INDICES),
        lambda x, at: np.tanh(x[at]) * 2,
        7,
    ),
    "a fused map with a number": Call(scaled, (X, ROW), lambda x, y: np.tanh(x) * 3 + y, 8),
    "fused operators": Call(
        lambda _: ep.fuse(steps),
        ((3, 7), X, INDICES),
        lambda x, table, at: (np.tanh(x / 2), np.sort(table[at] + x, -1), x.T @ table[at]),
        10,
    ),
    "a gradient": Call(
        lambda _: ep.grad(lambda x, y: ep.ops.sum(ep.ops.square(x * y))), (X, X), lambda x, y: 2 * x * y * y, 4
    ),
    "a block": Call(lambda _: in_a_block, (X, X), lambda x, y: (x / 2 + y, x / 2 + 2 * y), 190),
    "a model": Call(layered, (X,), layered_by_numpy, 8),
    "a model with indices": Call(looked_up, (X, INDICES), lambda x, at: softmax(np.tanh(x[at])), 14),
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


@pytest.fixture
def cpu():
    return DeviceUnderTest(DeviceType.kCPU)


def drawn(call, rng):
    return [
        rng.integers(0, 5, 3) if shape is INDICES else rng.standard_normal(shape).astype(F32) for shape in call.shapes
    ]


def tupled(results):
    return tuple(results) if isinstance(results, tuple | list) else (results,)


def on_host(function, device, arrays):
    return [copy_to_host(one) for one in tupled(function(*[placed(device, one) for one in arrays]))]


def bits(results):
    return [(one.dtype, one.shape, one.tobytes()) for one in results]


def test_each_call_has_the_bits_of_the_first_one(call, device, rng):
    function, given, first = call.make(device), [drawn(call, rng) for _ in range(3)], {}
    for turn in range(4):
        for k, arrays in enumerate(given):
            found = on_host(function, device, arrays)
            if turn == 0:
                for one, wanted in zip(found, tupled(call.expected(*arrays)), strict=True):
                    np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
            assert bits(found) == first.setdefault(k, bits(found))
    again = call.make(device)
    for k, arrays in enumerate(given):
        assert bits(on_host(again, device, arrays)) == first[k]


def test_errors_are_those_of_a_first_call(call, device, rng):
    """They have the same words, also after calls without an error, and those are right after an error."""
    function, arrays = call.make(device), drawn(call, rng)
    wrong = [one.astype(np.float64) if one.dtype == F32 else np.array([0, 5, 1]) for one in arrays]
    wrong[0] = arrays[0] if len(arrays) > 1 else wrong[0]
    before, raised = [one.copy() for one in wrong], []
    for turn in range(5):
        with pytest.raises((TypeError, ValueError, IndexError)) as caught:
            on_host(function, device, wrong)
        raised.append((type(caught.value), str(caught.value), getattr(caught.value, "__notes__", [])))
        assert bits(wrong) == bits(before)
        for one, wanted in zip(on_host(function, device, arrays), tupled(call.expected(*arrays)), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        assert raised[turn] == raised[0]


def test_arguments_and_results_are_not_kept(call, device, rng):
    function = call.make(device)
    for _ in range(4):
        arrays = [placed(device, one) for one in drawn(call, rng)]
        results = tupled(function(*arrays))
        watched = [weakref.ref(one) for one in (*arrays, *results)]
        del arrays, results
    gc.collect()
    assert [one() for one in watched] == [None] * len(watched)


def test_few_functions_of_python_run(call, cpu, rng):
    function, arrays = call.make(cpu), drawn(call, rng)
    for _ in range(4):
        function(*arrays)
    assert calls_of(lambda: function(*arrays)) - 1 <= call.frames


def test_threads_share_what_is_known(call, device, rng):
    function, given = call.make(device), [drawn(call, rng) for _ in range(4)]
    expected, wrong = [bits(on_host(call.make(device), device, arrays)) for arrays in given], []

    def work(arrays, wanted):
        for _ in range(5 if device.simulated else 50):
            if bits(on_host(function, device, arrays)) != wanted:
                wrong.append(arrays)

    run_together(work, zip(given, expected, strict=True))
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_forked_child_repeats_calls(call, cpu, rng):
    function, arrays = call.make(cpu), drawn(call, rng)
    wanted, *_ = [bits(on_host(function, cpu, arrays)) for _ in range(3)]
    child = os.fork()
    if child == 0:
        os._exit(0 if bits(on_host(function, cpu, arrays)) == wanted else 3)
    assert os.waitpid(child, 0)[1] == 0


def given(rng, device):
    return [placed(device, one) for one in drawn(CALLS["fused operators"], rng)]


def test_numbers_may_change_and_results_stay(device, rng):
    fused, kept = ep.fuse(steps), []
    for rate in (0.5, 0.5, -3.0, np.float32(2), 7.25):
        arguments = *given(rng, device), rate
        kept.append((fused(*arguments), bits(map(copy_to_host, ep.fuse(steps)(*arguments)))))
    for found, expected in kept:  # later calls have not changed them
        assert bits(map(copy_to_host, found)) == expected


def test_indices_are_checked_in_each_call(device, rng):
    fused = ep.fuse(steps)
    x, table, at = given(rng, device)
    wrong, negative = (placed(device, np.array([0, 1, last])) for last in (5, -1))
    for indices in (negative, at):
        expected = bits(map(copy_to_host, ep.fuse(steps)(x, table, indices)))
        for _ in range(12):
            assert bits(map(copy_to_host, fused(x, table, indices))) == expected
            with pytest.raises(IndexError, match=r"indices(\.flat)?\[2\] is 5; the axis holds -5 \.\.\. 4"):
                [*map(copy_to_host, fused(x, table, wrong))]


def test_a_kernel_that_is_registered_meanwhile(monkeypatch, rng):
    fused, x = ep.fuse(lambda x: ep.ops.argsort(ep.ops.tanh(x))), rng.standard_normal((5, 7), np.float32)
    for _ in range(3):
        expected = fused(x)
    monkeypatch.setattr(registry, "_KERNELS", {name: [*some] for name, some in registry._KERNELS.items()})

    class Threes(Kernel):
        def compute(self, call):
            call.outputs[0][...] = 3

    registry.register_kernel("argsort", priority=1000)(Threes)
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), np.full((5, 7), 3))
    monkeypatch.undo()
    operator_named("argsort").forget()
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), expected)


def test_large_intermediate_values_are_not_all_in_memory_at_once(rng):
    """The memory of a value is free as soon as nothing reads it any more."""
    fused = ep.fuse(lambda x: ep.ops.sort(ep.ops.sort(ep.ops.sort(ep.ops.sort(x) * 2) * 3) * 5))
    x = rng.standard_normal((3, 2**18), np.float32)
    expected = np.sort(x, -1) * np.float32(2) * np.float32(3) * np.float32(5)
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), expected)


@pytest.mark.parametrize("size", [13, 2**17])
def test_results_in_given_arrays(rng, size):
    x, y = (rng.standard_normal((5, size), np.float32) for _ in range(2))
    fused = ep.fuse(lambda x, y: (ep.ops.tanh(x) * y, ep.ops.sort(x + y)))
    expected = ep.fuse(lambda x, y: (ep.ops.tanh(x) * y, ep.ops.sort(x + y)))(x, y)
    for _ in range(5):
        out = np.empty_like(x), np.empty_like(x)
        found = fused(x, y, out=out)
        assert all(one is other for one, other in zip(found, out, strict=True))
        assert bits(found) == bits(expected)
        wide = np.zeros((5, 2 * size), np.float32)
        assert bits(fused(x, y, out=(wide[:, ::2], None))) == bits(expected)
        assert not wide[:, 1::2].any()
        own, shared = x.copy(), np.empty(6 * size, np.float32)
        assert bits(fused(own, y, out=(own, None))) == bits(expected)
        with pytest.raises(ValueError, match=r"out\[1\] overlaps out\[0\]"):
            fused(x, y, out=(shared[: 5 * size].reshape(5, size), shared[size:].reshape(5, size)))
        with pytest.raises(TypeError, match=r"out\[1\] has dtype float64"):
            fused(x, y, out=(None, np.empty((5, size))))
        assert bits(fused(x, y)) == bits(expected)


def test_few_functions_of_python_run_with_given_arrays(rng):
    x, out = rng.standard_normal((5, 13), F32), np.empty((5, 13), F32)
    fused = ep.fuse(lambda x: ep.ops.tanh(x) * 2.0)
    for _ in range(3):
        expected = fused(x).copy()
        fused(x, out=out)
    assert calls_of(lambda: fused(x, out=out)) - 1 <= 6
    np.testing.assert_array_equal(out, expected)
