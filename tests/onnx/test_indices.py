"""Operators on indices: gathers, scatters with several elements for one index, TopK, sequences, running sums."""

import functools
import operator

import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.common.arrays import host_indices

REDUCTIONS = {"none": lambda _, new: new, "add": operator.add, "mul": operator.mul, "max": max, "min": min}


def run(name, inputs, opset=18, **attributes):
    names = [f"i{k}" for k in range(len(inputs))]
    outputs = ["values", "places"] if name == "TopK" else ["y"]
    node = helper.make_node(name, names, outputs, **attributes)
    results = ep.onnx.Backend.run_node(node, inputs, opset_version=opset)
    return results if name == "TopK" else results[0]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_scattered_elements(rng, reduction, axis, dtype):
    """Of several updates of one element, the last one wins, or all are reduced."""
    x = rng.integers(-9, 9, (4, 3, 5)).astype(dtype)
    updates = rng.integers(-9, 9, (3, 2, 4)).astype(dtype)
    indices = rng.integers(-x.shape[axis], x.shape[axis], updates.shape)
    expected = x.copy()
    for place, update in np.ndenumerate(updates):
        at = [*place]
        at[axis] = indices[place]
        expected[tuple(at)] = REDUCTIONS[reduction](expected[tuple(at)], update)
    found = run("ScatterElements", [x, indices, updates], axis=axis, reduction=reduction)
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_scattered_parts(rng, reduction, depth):
    x = rng.integers(-9, 9, (3, 2, 5)).astype(np.float32)
    indices = np.stack([rng.integers(-size, size, (2, 3)) for size in x.shape[:depth]] or [np.zeros((2, 3))], -1)
    indices = indices[..., :depth].astype(np.int64)
    updates = rng.integers(-9, 9, (2, 3, *x.shape[depth:])).astype(np.float32)
    expected = x.copy()
    for place in np.ndindex(2, 3):
        at = (*indices[place], ...)
        expected[at] = np.vectorize(REDUCTIONS[reduction])(expected[at], updates[place])
    np.testing.assert_array_equal(run("ScatterND", [x, indices, updates], reduction=reduction), expected)


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2])
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_slices_have_the_bounds_of_onnx(size, step):
    """Unlike Python's, a negative step begins with the first element, if the start is before it."""
    x = np.arange(size, dtype=np.float32)
    for start in range(-size - 3, size + 3):
        for end in range(-size - 3, size + 3):
            first, last = (one + size if one < 0 else one for one in (start, end))
            if step < 0:
                first, last = min(max(first, 0), size - 1), min(max(last, -1), size - 1)
            else:
                first, last = min(max(first, 0), size), min(max(last, 0), size)
            expected = [float(k) for k in range(first, last, step)]
            found = run("Slice", [x, *np.array([[start], [end], [0], [step]])])
            assert found.tolist() == expected, (start, end)


def test_scatters_of_nothing():
    x = np.float32([[1, 2, 3]])
    for some in (np.zeros((0, 3)), np.zeros((1, 0))):
        np.testing.assert_array_equal(run("ScatterElements", [x, some.astype(int), some.astype(np.float32)]), x)
    assert run("ScatterElements", [x[:0], np.zeros((0, 3), int), x[:0]]).shape == (0, 3)


def test_places_that_there_are_not():
    x, update = np.zeros((2, 3), np.float32), np.ones((1, 1), np.float32)
    for place in (2, -3):
        with pytest.raises(IndexError, match=rf"indices\[0, 0\] is {place}; the axis holds -2 ... 1"):
            run("ScatterElements", [x, np.array([[place]]), update])
    with pytest.raises(ep.onnx.UnsupportedError, match="reduction is mean; it must be one of none, add"):
        run("ScatterElements", [x, np.array([[0]]), update], reduction="mean")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("computed", [False, True])
def test_indices_from_the_end_are_counted_by_compiled_code(monkeypatch, rng, computed, dtype):
    """Repeated runs need no pass of NumPy for them, whether they are given or computed; others are refused."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    infos = [helper.make_tensor_value_info(name, *one) for name, one in {
        "x": (TensorProto.FLOAT, (7,)), "i": (kind, (5003,)), "u": (TensorProto.FLOAT, (5003,)),
        "y": (TensorProto.FLOAT, (7,))}.items()]  # fmt: skip
    nodes = [
        helper.make_node("Neg" if computed else "Identity", ["i"], ["j"]),
        helper.make_node("ScatterElements", ["x", "j", "u"], ["y"], reduction="add"),
    ]
    graph = helper.make_graph(nodes, "counted", infos[:3], infos[3:])
    model = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    x, i, u = np.zeros(7, np.float32), rng.integers(-7, 7, 5003).astype(dtype), np.ones(5003, np.float32)
    if computed:
        i = np.where(i == -7, 0, i)
    expected = np.bincount((-i if computed else i) % 7, minlength=7)
    for _ in range(2):
        np.testing.assert_array_equal(model(x, i, u)[0], expected)
    with monkeypatch.context() as patch:
        patch.setitem(host_indices.RESOLVERS, "wrap_negative", None)
        np.testing.assert_array_equal(model(x, i, u)[0], expected)
    i[5001] = -8 * (1 - 2 * computed)
    with pytest.raises(IndexError, match=r"indices\[5001\] is -8; the axis holds -7 \.\.\. 6"):
        model(x, i, u)


@pytest.mark.parametrize(("name", "index"), [("GatherElements", [[0, 3]]), ("GatherND", [[0, 3]])])
@pytest.mark.parametrize("wrong", [3, -4])
def test_an_index_beyond_its_axis_is_refused_inside_of_the_array(name, index, wrong):
    """It would be the place of an element of another row."""
    x, indices = np.arange(15.0, dtype=np.float32).reshape(5, 3), np.array(index)
    indices[0, 1] = wrong
    with pytest.raises(IndexError, match=f"is {wrong}"):
        run(name, [x, indices], **({"axis": 1} if name == "GatherElements" else {}))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 4, 5])
def test_largest_elements(rng, dtype, largest, k):
    x = rng.integers(0, 4, (3, 5, 2)).astype(dtype)
    values, places = run("TopK", [x, np.array([k])], axis=1, largest=largest)
    assert (values.shape, values.dtype, places.dtype) == ((3, k, 2), x.dtype, np.int64)
    for row, col in np.ndindex(3, 2):
        order = sorted(range(5), key=lambda one: (x[row, one, col] * (1.0 - 2 * largest), one))[:k]
        assert places[row, :, col].tolist() == order
        assert values[row, :, col].tolist() == x[row, order, col].tolist()
    with pytest.raises(ValueError, match="k is 6; it must be 0 to 5, as axis 1 of shape"):
        run("TopK", [x, np.array([6])], axis=1)


@pytest.mark.parametrize("time_axis", [0, 1])
def test_reversed_sequences(rng, time_axis):
    x, lengths = rng.standard_normal((4, 4, 3), np.float32), np.array([4, 0, 3, 1])
    rows = x.swapaxes(0, 1) if time_axis == 0 else x
    expected = np.stack([[*row[:n][::-1], *row[n:]] for row, n in zip(rows, lengths, strict=True)])
    found = run("ReverseSequence", [x, lengths], time_axis=time_axis, batch_axis=1 - time_axis)
    np.testing.assert_array_equal(found, expected.swapaxes(0, 1) if time_axis == 0 else expected)
    with pytest.raises(ValueError, match=r"sequence_lens is .* it must be numbers of 0 to 4 steps"):
        run("ReverseSequence", [x, lengths + 1], time_axis=time_axis, batch_axis=1 - time_axis)


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_running_sums(rng, size, exclusive, reverse):
    x = rng.integers(-9, 9, (3, size, 2)).astype(np.int32)
    found = run("CumSum", [x, np.array(1)], exclusive=exclusive, reverse=reverse)
    for row, col in np.ndindex(3, 2):
        line = x[row, ::-1, col] if reverse else x[row, :, col]
        totals = [functools.reduce(operator.add, line[: k + 1 - exclusive], 0) for k in range(size)]
        assert found[row, :: -1 if reverse else 1, col].tolist() == totals


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathered_elements(rng, axis):
    """The other axes of the indices may be shorter than those of x."""
    x = rng.random((4, 3, 5), np.float32)
    indices = rng.integers(-x.shape[axis], x.shape[axis], (3, 2, 4))
    expected = np.empty(indices.shape, np.float32)
    for place, index in np.ndenumerate(indices):
        at = [*place]
        at[axis] = index
        expected[place] = x[tuple(at)]
    np.testing.assert_array_equal(run("GatherElements", [x, indices], axis=axis), expected, strict=True)


@pytest.mark.parametrize("k", [-(2**63), -4, -3, -2, 4, 5, 6, 2**63 - 1])
@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_beyond_all_elements(k, upper):
    x = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    expected = [[one if (j - i >= k if upper else j - i <= k) else 0 for j, one in enumerate(row)]
                for i, row in enumerate(x.tolist())]  # fmt: skip
    np.testing.assert_array_equal(run("Trilu", [x, np.array(k)], upper=upper), np.float32(expected), strict=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_classes(axis, dtype):
    """Negative indices count from the end; those beyond it have no class."""
    indices, values = np.array([[0, 3, -1], [4, -5, 2]], dtype), np.array([7, 8], np.int64)
    expected = np.full((2, 3, 4), 7, np.int64)
    for row, column, one in [(0, 0, 0), (0, 1, 3), (0, 2, 3), (1, 2, 2)]:
        expected[row, column, one] = 8
    found = run("OneHot", [indices, np.array([4]), values], axis=axis)
    np.testing.assert_array_equal(found, np.moveaxis(expected, -1, axis), strict=True)


def test_classes_of_integers_that_int64_does_not_hold():
    indices, values = np.array([1, 2**63, 2**64 - 1, 2**64 - 4], np.uint64), np.array([7, 8], np.int64)
    expected = [[7, 8, 7, 7], *[[7] * 4] * 3]
    np.testing.assert_array_equal(run("OneHot", [indices, np.array([4]), values]), expected)
