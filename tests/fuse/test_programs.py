"""Programs of traces that are called again and again: many inputs, and held arrays whose elements change."""

import re
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from ep import DeviceType, ops
from ep.common.arrays.on_device import arrays_on
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.named_program import NamedProgram
from ep.expressions.program import Program
from ep.ops.kernels import PreparedKernel
from ep.testing.device_under_test import DeviceUnderTest
from tests.fuse.placing import placed
from tests.profiles import calls_of
from tests.registered import registered

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


class Repeated:
    """A program of a function, and calls of it with other arrays."""

    def __init__(self, device, function, given, held=()):
        """given: the inputs of the first call. held: arrays of the device, whose elements change."""
        self._device, self._base = device, arrays_on(device.type).kept()
        trace = FoldingTrace(self._base, "a test", Folds())
        lazy = [trace.give(None, one.shape, one.dtype) for one in given]
        results = function(*lazy, *(trace.hold(one, changes=True) for one in held))
        self.num_folded = trace.num_folded
        named = [dict(zip(map(str, range(len(some))), some, strict=True)) for some in (lazy, results)]
        self._named = NamedProgram(trace, *named, [], [], round_each=True)
        trace.end()
        program = self._named.program
        self.num_launches, self.num_bytes = program.num_launches, program.lowered.memory.num_bytes
        self._calls = 0

    def __call__(self, *given):
        """Return the results, on the host."""
        arrays, found = [placed(self._device, one) for one in given], []
        self._calls = calls_of(lambda: found.extend(self.run(arrays)))
        return [ops.copy_to_host(one) for one in found]

    def run(self, arrays):
        """Return the results for arrays of the device."""
        return self._named.run(self._base, dict(zip(self._named.given, arrays, strict=True)))

    def is_repeated(self):
        """Whether the last call took few functions of Python; devices other than the CPU may decide."""
        return self._calls <= 60 + 2 * len(self._named.given) or self._device.type is not DeviceType.kCPU


def test_hundreds_of_inputs_and_results(device, rng):
    """A call of many arrays is repeated as one of few."""
    count = 300 if device.type is DeviceType.kCPU else 70

    def function(*arrays):
        return [ops.tanh(ops.matmul(one, other)) for one, other in pairwise(arrays)]

    given = [[rng.standard_normal((3, 3), np.float32) for _ in range(count)] for _ in range(4)]
    program = Repeated(device, function, given[0])
    for arrays in given:
        found = program(*arrays)
        assert len(found) == count - 1
        for k, one in enumerate(found):
            np.testing.assert_allclose(one, np.tanh(arrays[k] @ arrays[k + 1]), rtol=1e-4, atol=1e-5)
    assert program.is_repeated()


def test_held_arrays_that_change(device, rng):
    """Each call reads the present elements: of a matrix, of a row, of a number, of what would be computed at once."""
    w, row, number = (
        rng.standard_normal((5, 3), np.float32),
        rng.standard_normal(3, np.float32),
        np.float32(2).reshape(()),
    )
    held = [placed(device, one) for one in (w, row, np.array(number))]

    def function(x, w, row, number):
        return [
            ops.add(ops.matmul(x, w), row),
            ops.mul(x, number),
            ops.sum(ops.mul(w, number), axis=0, keepdims=True),
            ops.permute(ops.exp(w.reshape((3, 5))), (1, 0)),
        ]

    x = rng.standard_normal((7, 5), np.float32)
    program = Repeated(device, function, [x], held)
    assert program.num_folded == 0
    for call in range(5):
        x = rng.standard_normal((7, 5), np.float32)
        found = program(x)
        expected = x @ w + row, x * number, (w * number).sum(0, keepdims=True), np.exp(w.reshape(3, 5)).T
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        w, row = w + np.float32(call + 1), row * np.float32(1.5)
        number = np.float32(number - 3)
        for array, now in zip(held, (w, row, np.array(number)), strict=True):
            ops.identity(placed(device, now), out=array)
    assert program.is_repeated()


def test_a_number_that_is_computed_and_repeated(device, rng):
    """A kernel reads the number in the memory that another one writes at each call."""

    def function(x, number):
        row = ops.expand(ops.expand_dims(ops.div(ops.exp(number), 5.0), 0), (7,))
        return [ops.mul(ops.negative(row), x)]

    numbers = [rng.standard_normal((), np.float32) for _ in range(4)]
    x = rng.standard_normal(7, np.float32)
    program = Repeated(device, function, [x, np.array(numbers[0])])
    for number in numbers:
        (found,) = program(x, np.array(number))
        np.testing.assert_allclose(found, -np.exp(number) / 5 * x, rtol=1e-5)
    assert program.is_repeated()


def test_a_result_of_more_axes_than_kernels_have(device, rng):
    """Calls of it are not repeated, and compute."""
    x = rng.standard_normal((6, 35), np.float32)
    program = Repeated(device, lambda x: [ops.exp(x).reshape((2, 1, 3, 1, 1, 5, 1, 1, 7, 1))], [x])
    for _ in range(4):
        (found,) = program(x)
        np.testing.assert_allclose(found, np.exp(x).reshape(2, 1, 3, 1, 1, 5, 1, 1, 7, 1), rtol=1e-5)
        x = x + 1


def test_a_kernel_of_another_package_that_computes_by_itself(device, rng):
    """Its launches are not all that it does, so no call repeats them."""

    class Joined(PreparedKernel):
        def prepare(self, shapes, attributes):
            def join(arrays, inputs, outputs):
                joined = np.concatenate([ops.copy_to_host(one) for one in inputs])
                ops.identity(arrays.copy_from_host(joined), out=outputs[0])

            return join

    with registered("concat", Joined):
        x = rng.standard_normal((3, 7), np.float32)
        program = Repeated(device, lambda x: [ops.softmax(ops.concat([ops.softmax(x), x]))], [x])
        for _ in range(4):
            x = rng.standard_normal((3, 7), np.float32)
            (found,) = program(x)
            np.testing.assert_allclose(found, softmax(np.concatenate([softmax(x), x])), rtol=1e-5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("mode", ["raise", "wrap_negative", "zero", "clip"])
def test_held_indices_that_change(device, rng, mode):
    """They are checked at each call."""
    table, at = rng.standard_normal((6, 20), np.float32), np.array([0, 5, 2])
    held = placed(device, at)
    program = Repeated(
        device,
        lambda table, at: [ops.tanh(ops.gather(table, at, mode=mode)), ops.gather(table, at, mode=mode)],
        [table],
        [held],
    )
    wrong = {"raise": (-1, 6), "wrap_negative": (-7, 6)}.get(mode, ())
    for last in (2, 3, 4, *wrong, 5, *(() if mode == "raise" else (-1, -6)), *(() if wrong else (-7, 6)), 1):
        at[2] = last
        ops.identity(placed(device, at), out=held)
        if last in wrong:
            with pytest.raises(IndexError, match=str(last)):
                program(table)
            continue
        rows = table[np.clip(at, 0, 5) if mode == "clip" else np.where((at < -6) | (at > 5), 0, at)].copy()
        if mode == "zero":
            rows[(at < 0) | (at > 5)] = 0
        for one, wanted in zip(program(table), (np.tanh(rows), rows), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["wrap_negative", "clip"])
@pytest.mark.parametrize("first", [-1, 2])
def test_calls_with_negative_indices_are_repeated(device, rng, mode, first):
    """Those before and after the first call may be negative or not."""
    table = rng.standard_normal((6, 20), np.float32)
    at = np.array([0, 5, first])
    program = Repeated(device, lambda table, at: [ops.gather(table, at, mode=mode)], [table, at])
    for call in range(30):
        at[2] = first if call < 4 else 3 if call < 8 else -2
        wanted = table[np.clip(at, 0, 5) if mode == "clip" else at]
        np.testing.assert_array_equal(program(table, at)[0], wanted)
    assert program.is_repeated()


def test_indices_that_are_views(device, rng):
    """They are slices, repeated rows, columns in another order: of an input, and of an array that changes."""
    table, at = rng.standard_normal((9, 20), np.float32), rng.integers(0, 9, (4, 5))
    held = placed(device, rng.integers(0, 9, (1, 7)))

    def function(table, at, held):
        row, column = ops.slice(held, slice(None), slice(2, 5)), ops.slice(at, slice(None), slice(1, 2))
        views = [ops.expand(row, 4, 3), ops.expand(column, 4, 3), ops.permute(at, (1, 0)), at[1:3], at[::2, 1::2]]
        rows = [ops.tanh(ops.gather(table, one, mode="wrap_negative")) for one in views]
        segments = ops.gather_grad(
            ops.exp(ops.gather(table, at)), ops.expand(ops.slice(at, slice(1, 2)), 4, 5), (9, 20)
        )
        return [*rows, segments]

    program = Repeated(device, function, [table, at], [held])
    for _ in range(4):
        table, at, now = table + np.float32(0.25), rng.integers(0, 9, (4, 5)), rng.integers(0, 9, (1, 7))
        ops.identity(placed(device, now), out=held)
        *rows, segments = program(table, at)
        row, column = now[:, 2:5], at[:, 1:2]
        views = [np.tile(row, (4, 1)), np.tile(column, (1, 3)), at.T, at[1:3], at[::2, 1::2]]
        for found, view in zip(rows, views, strict=True):
            np.testing.assert_allclose(found, np.tanh(table[view]), rtol=1e-5, atol=1e-6)
        expected = np.zeros((9, 20))
        np.add.at(expected, np.tile(at[1:2], (4, 1)), np.exp(table[at]))
        np.testing.assert_allclose(segments, expected, rtol=1e-5)
    assert program.is_repeated()


def test_operators_have_memory_of_their_program(monkeypatch, rng):
    """A program that cannot be recorded allocates nothing but its results, after the first call."""
    cpu = DeviceUnderTest(DeviceType.kCPU)
    monkeypatch.setattr(type(arrays_on(cpu.type)), "new_recording", lambda self: None)

    def function(x):
        for axes in ((1, 2), (0, 2), (0, 1)):  # each operator has temporary values
            x = ops.softmax(ops.cumulative_sum(x, axis=axes[0]), axis=axes[1] - 1) - ops.sort(x, axis=axes[0])
        return [x, ops.mean(x, axis=1)]

    x = rng.standard_normal((40, 50, 60), np.float32)
    program = Repeated(cpu, function, [x])
    first = program.run([x])
    tracemalloc.start()
    try:
        found = program.run([x])
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for one, wanted in zip(found, first, strict=True):
        np.testing.assert_array_equal(one, wanted)
    size = sum(one.nbytes for one in found)
    assert size <= held <= most < 1.1 * size


def test_operators_of_one_program_share_memory(rng):
    """Temporary values that are not needed at the same time are in the same memory."""

    def num_bytes(times):
        def function(x):
            for _ in range(times):
                x = ops.softmax(x, axis=0)
            return [x]

        program = Repeated(DeviceUnderTest(DeviceType.kCPU), function, [np.ones((100, 100), np.float32)])
        return program.num_bytes

    assert 40_000 <= num_bytes(1) < num_bytes(3) == num_bytes(9) < 3 * 40_100


def test_the_plan_of_a_program_is_shown():
    """Kernels of Expression, launches of operators and checks of indices are lines."""
    base = arrays_on(DeviceType.kCPU).kept()
    trace = FoldingTrace(base, "a test", {})
    x, table, at = (trace.give(None, *one) for one in (((3, 5), F32), ((7, 5), F32), ((3,), I64)))
    taken = ops.gather(table, at)
    results = [ops.sort(ops.tanh(x) + taken), ops.exp(x).reshape((5, 3))]
    lines = str(Program(trace, [one.node.position for one in results]).plan).splitlines()
    trace.end()
    kinds = [re.split("[.(]", line.rpartition(" = ")[2])[0] for line in lines]
    assert {"kernel of tanh add", "ArgSort", "BatchGather", "check", "empty"} <= {*kinds}
    assert any(line.endswith(", 7, 'raise')") for line in lines)
