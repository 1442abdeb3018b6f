"""Fused graphs of random operators have the bits of the operators one by one."""

import numpy as np
import pytest

import ep
from ep import DataType, UnsupportedPrimitiveError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.include.primitive.unary_op import UnaryOp
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

TYPES = [
    *(DataType.kFloat, DataType.kFloat, DataType.kDouble, DataType.kInt32, DataType.kInt64, DataType.kUInt8),
    *(DataType.kBool, DataType.kFloat16, DataType.kBFloat16, DataType.kComplex64, DataType.kInt8, DataType.kUInt64),
]
UNARY = [op for op in UnaryOp if op is not UnaryOp.kCast and not OPS[op].attributes]
BINARY = [op for op in BinaryOp if not OPS[op].attributes]
SHAPES = [(5, 5), (5, 1), (5,), (1, 5), (), (3, 5, 5), (1, 1, 5)]
ROWS = [(37, 37), (37,), (37, 1), (3, 37, 37), (1, 37), (2, 37, 1), (37, 2, 5)]
"""Shapes whose axes have the same size, so that each broadcasts as a row or a column of others."""
REDUCTIONS = ["sum", "mean", "max", "min", "prod", "any", "all"]


def bits(array):
    """Return the bits of an array, with all NaN replaced by the same one."""
    array = np.array(array)
    if array.dtype.kind in "fc" or array.dtype.itemsize == 2:
        with np.errstate(all="ignore"):
            is_nan = array != array
        array[is_nan] = 0
        return array.tobytes(), is_nan.tobytes()
    return array.tobytes()


def draw_array(rng, shape, data_type):
    numbers = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3)
    with np.errstate(all="ignore"):
        array = np.asarray(numbers).astype(np.int64) if data_type.dtype.kind in "ui" else np.asarray(numbers)
        array = array.astype(data_type.dtype)
    how = rng.integers(3)
    if how == 0 and array.ndim > 1:
        return np.ascontiguousarray(array.T).T
    if how == 1 and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


def chooses(array, index):
    """Return whether an array has one index for each row of another one."""
    return index.dtype.kind in "iu" and array.shape[-1:] > (1,) and index.shape == (*array.shape[:-1], 1)


class Graph:
    """A random graph; `rerun` computes it with other arrays in place of its original ones."""

    def __init__(self, rng, num_nodes, shapes=SHAPES, types=TYPES, row_share=0.0, product_share=0.0, index_share=0.0):
        """Draw a graph. row_share: the share of calls that reduce, or are softmaxes. product_share: the share of
        products of matrices. index_share: the share of calls with indices.
        """
        self.row_share, self.product_share, self.index_share = row_share, product_share, index_share
        self.leaves = [
            draw_array(rng, shapes[rng.integers(len(shapes))], types[rng.integers(len(types))]) for _ in range(6)
        ]
        if row_share:
            self.leaves[-1] = rng.integers(-2, 39, (37, 1), np.int32)  # for each row, an index of an element
        self.calls = []
        values = list(self.leaves)
        while len(self.calls) < num_nodes:
            call = self._draw(rng, values)
            try:
                with np.errstate(all="ignore"):
                    result = self._call(call, values)
            except (TypeError, ValueError, UnsupportedPrimitiveError):
                continue  # types or shapes that do not fit
            self.calls.append(call)
            values.append(result)
        self.results = [*sorted(rng.choice(len(values), 3, replace=False)), len(values) - 1]

    def _draw(self, rng, values):
        kind, pick = rng.integers(10), lambda: int(rng.integers(max(0, len(values) - 12), len(values)))
        x = pick()
        same = [k for k, one in enumerate(values) if one.dtype == values[x].dtype]
        y = int(rng.choice(same))
        if self.product_share and rng.random() < self.product_share:
            return "matmul", (x, y), ()
        if self.index_share and rng.random() < self.index_share:
            indices = [k for k, one in enumerate(values) if one.dtype.kind in "iu" and one.ndim < 2]
            axis, mode = int(rng.integers(2)), ("zero", "clip")[rng.integers(2)]
            shape = values[x].shape
            added = [(k, j) for k in indices for j, size in enumerate(shape) if values[k].shape == (size,)]
            if shape and rng.integers(4) == 0:
                width = [(0, 0)] * len(shape)
                width[int(rng.integers(len(shape)))] = [(2, 1), (1, -1), (0, 3)][rng.integers(3)]
                return "pad", (x,), (width,)
            if added and rng.integers(2):
                k, j = added[rng.integers(len(added))]
                return "segment_sum", (x, k), (int(rng.integers(1, 9)), j)
            if indices:
                return "gather", (x, int(rng.choice(indices))), (axis, 0, mode)
        if rng.random() < self.row_share:
            made, index = range(len(self.leaves), len(values)), range(len(values))
            chosen = [(k, j) for k in made for j in index if chooses(values[k], values[j])]
            if chosen and rng.integers(2):
                k, j = chosen[rng.integers(len(chosen))]
                return "gather", (k, j), (-1, -1, ("zero", "clip")[rng.integers(2)])
            axis = [-1, -1, -1, -1, 0, None][rng.integers(6)]
            if rng.integers(4) == 0:
                return ("softmax", "log_softmax")[rng.integers(2)], (x,), (axis or -1,)
            name, keepdims = REDUCTIONS[rng.integers(len(REDUCTIONS))], bool(rng.integers(3))
            return name, (x,), (axis, None, keepdims)[:: 2 if name in REDUCTIONS[2:4] + REDUCTIONS[5:] else 1]
        if kind < 3:
            return function_name(UNARY[rng.integers(len(UNARY))]), (x,), ()
        if kind < 7:
            return function_name(BINARY[rng.integers(len(BINARY))]), (x, y), ()
        if kind == 7:
            return "cast", (x,), (TYPES[rng.integers(len(TYPES))],)
        if kind == 8:
            return "where", (pick(), x, y), ()
        return ("add", "mul", "sub")[rng.integers(3)], (x,), (int(rng.integers(1, 4)),)

    def _call(self, call, values):
        name, operands, others = call
        return getattr(ep.ops, name)(*(values[k] for k in operands), *others)

    def rerun(self, *leaves):
        values = list(leaves)
        for call in self.calls:
            values.append(self._call(call, values))
        return [values[k] for k in self.results]


REALS = [*(DataType.kFloat,) * 3, DataType.kDouble, DataType.kInt32, DataType.kBool, DataType.kBFloat16]


def size(device, rng, most):
    """Return a number of nodes."""
    return int(rng.integers(3, 9 if device.simulated else most))


@pytest.mark.parametrize("draw", range(30))
def test_random_graphs_with_rows(draw, device, rng):
    """Random graphs, including softmaxes, complex sums, other axes and several types."""
    shapes = ROWS if draw % 3 else [*ROWS[:3], (37, 300), (300,), (37, 0), (0, 37), (1, 1)]
    check_graph(device, Graph(rng, size(device, rng, 20), shapes, TYPES if draw % 2 else REALS, 0.35))


@pytest.mark.parametrize("draw", range(25))
def test_random_graphs(draw, device, rng):
    check_graph(device, Graph(rng, size(device, rng, 31)))


INDEXED = [(37, 37), (37, 20), (37,), (11,), (), (2, 37, 17)]


def index_graph(rng, num_nodes):
    """Return a graph of calls with indices and calls that reduce."""
    types = [*REALS, DataType.kInt8, DataType.kInt64]
    return Graph(rng, num_nodes, [INDEXED[k] for k in rng.permutation(6)], types, 0.15, index_share=0.4)


@pytest.mark.parametrize("draw", range(15))
def test_random_graphs_with_indices(draw, device, rng):
    check_graph(device, index_graph(rng, size(device, rng, 12)))


def check_graph(device, graph, expected=None):
    """Check that a graph has the bits of the operators one by one, also in place."""
    leaves, fused = [placed(device, leaf) for leaf in graph.leaves], ep.fuse(graph.rerun, round_each=True)
    if expected is None:
        with np.errstate(all="ignore"):
            expected = [*map(host, graph.rerun(*leaves))]
    said = fused.explain(*leaves)
    for _ in range(2):
        check([*map(host, fused(*leaves))], expected, said)
    leaves, free = [placed(device, np.copy(leaf)) for leaf in graph.leaves], set(range(len(graph.leaves)))
    out = [None] * len(graph.results)
    for k, one in enumerate(expected):  # in place, if an input has the shape and dtype of the result
        like = [j for j in free if (leaves[j].dtype, leaves[j].shape) == (one.dtype, one.shape)]
        if like:
            out[k] = leaves[like[0]]
            free.remove(like[0])
    if len(set(graph.results)) == len(expected):
        check([*map(host, fused(*leaves, out=tuple(out)))], expected, said)


def check(results, expected, said):
    for one, other in zip(results, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert bits(one) == bits(other), said


PARTICULAR = [
    *(UnaryOp.kSin, UnaryOp.kTan, UnaryOp.kLog, UnaryOp.kGelu, UnaryOp.kTanh, UnaryOp.kLgamma),
    *(BinaryOp.kPow, BinaryOp.kFmod, BinaryOp.kSinBackwardWithDyX),
]
"""Ops with separate functions for ordinary elements, ops with a limit, and ops with neither."""


@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kDouble, DataType.kBFloat16], ids=lambda one: one.name)
@pytest.mark.ep_long
def test_ops_have_the_bits_of_their_own_primitives(data_type, rng):
    def draw():
        numbers = np.concatenate([rng.normal(size=700) * scale for scale in (0.1, 1, 30, 1e5, 1e30)])
        return np.concatenate([numbers, [0, -0.0, np.inf, -np.inf, np.nan]]).astype(data_type.dtype)

    def all_of(x, y):
        return [getattr(ep.ops, function_name(op))(*(x, y)[: len(OPS[op].operands)]) for op in PARTICULAR]

    x, y = draw(), draw()
    for op, one, expected in zip(PARTICULAR, ep.fuse(all_of, round_each=True)(x, y), all_of(x, y), strict=True):
        assert bits(one) == bits(expected), op
