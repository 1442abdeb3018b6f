"""Expression: maps, rows and products, for which a device has kernels, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep import DeviceManagerRegistry
from ep.include import DataType
from ep.include.primitive import BinaryOp, ExpressionFactory, NewPrimitive, ReduceOp, UnaryOp
from ep.include.primitive.structure import (
    ChoiceOp,
    ColumnOp,
    Constant,
    MatrixProduct,
    RowOp,
    SegmentSum,
    Step,
    Structure,
    kMaxRow,
)
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest

REAL = DataType.kFloat
HALF = Constant(REAL, np.float32(0.5).tobytes())
# values 0 and 1 are sources, value 2 is the number one half
MAP = Structure((REAL, REAL), (HALF,), (Step(BinaryOp.kMul, (0, 1), REAL), Step(BinaryOp.kAdd, (3, 2), REAL)), (3, 4))
ROWS = Structure(
    (REAL, REAL),
    (HALF,),
    (
        Step(BinaryOp.kMul, (0, 2), REAL),
        Step(ReduceOp.kMean, (3,), REAL),
        Step(BinaryOp.kMul, (4, 1), REAL),
        Step(BinaryOp.kSub, (3, 5), REAL),
        Step(UnaryOp.kSquare, (5,), REAL),
    ),
    (6, 7),
    reduced=(1,),
)
SOFTMAX = Structure((REAL,), (), (Step(UnaryOp.kNegative, (0,), REAL), Step(RowOp.kSoftmax, (1,), REAL)), (2,))
GRADIENTS = Structure(
    (REAL, REAL),
    (),
    (
        Step(UnaryOp.kNegative, (1,), REAL),
        Step(RowOp.kSoftmaxBackward, (0, 2), REAL),
        Step(RowOp.kLogSoftmaxBackward, (0, 2), REAL),
        Step(BinaryOp.kAdd, (3, 1), REAL),
    ),
    (5, 4),
)
ANY_AXES = Structure(
    (REAL, REAL, REAL),
    (),
    (
        Step(BinaryOp.kMul, (0, 1), REAL),
        Step(ReduceOp.kSum, (3,), REAL),
        Step(ReduceOp.kMax, (0,), REAL),
        Step(BinaryOp.kMul, (4, 2), REAL),
    ),
    (6, 5),
    reduced=(2,),
)
# source 0 times the transposed source 1, plus source 2; and whether the sum is more than one half
PRODUCT = Structure(
    (REAL, REAL, REAL),
    (HALF,),
    (
        Step(MatrixProduct(False, True), (0, 1), REAL),
        Step(BinaryOp.kAdd, (4, 2), REAL),
        Step(BinaryOp.kGreaterThan, (5, 3), DataType.kBool),
    ),
    (5, 6),
)
# source 0 in another type times source 1
CONVERTED_PRODUCT = Structure((DataType.kBFloat16, REAL), (), (Step(MatrixProduct(False, False), (0, 1), REAL),), (2,))
# rows of source 0, chosen by source 1, plus source 2
CHOICE = Structure(
    (REAL, DataType.kInt32, REAL),
    (),
    (Step(ChoiceOp.kRow, (0, 1), REAL), Step(BinaryOp.kAdd, (3, 2), REAL)),
    (4,),
)
# rows of source 0, chosen by source 1, minus their sums
CHOSEN_SUMS = Structure(
    (REAL, DataType.kInt32),
    (),
    (Step(ChoiceOp.kRow, (0, 1), REAL), Step(ReduceOp.kSum, (2,), REAL), Step(BinaryOp.kSub, (2, 3), REAL)),
    (4,),
)
# the element of each row of source 0 times itself that source 1 chooses, and these squares
ELEMENT = Structure(
    (REAL, DataType.kInt32),
    (),
    (Step(BinaryOp.kMul, (0, 0), REAL), Step(ChoiceOp.kElement, (2, 1), REAL)),
    (3, 2),
    reduced=(1,),
)
# the sums of segments of source 0 times source 1, by source 2, and one half more
SEGMENTS = Structure(
    (REAL, REAL, DataType.kInt32),
    (HALF,),
    (
        Step(BinaryOp.kMul, (0, 1), REAL),
        Step(SegmentSum(1, 1, 2), (4, 2), REAL),
        Step(BinaryOp.kAdd, (5, 3), REAL),
    ),
    (6, 5),
)
# the sums of rows and columns of source 0 times source 1, and of the columns of source 0; the first sums less products
COLUMNS = Structure(
    (REAL, REAL),
    (),
    (
        Step(BinaryOp.kMul, (0, 1), REAL),
        Step(ReduceOp.kSum, (2,), REAL),
        Step(ColumnOp.kSum, (2,), REAL),
        Step(ColumnOp.kSum, (0,), REAL),
        Step(BinaryOp.kSub, (3, 2), REAL),
    ),
    (4, 6, 5),
)
KINDS = {
    "any axes": ANY_AXES,
    "columns": COLUMNS,
    "element": ELEMENT,
    "gradients": GRADIENTS,
    "choice": CHOICE,
    "converted product": CONVERTED_PRODUCT,
    "chosen sums": CHOSEN_SUMS,
    "map": MAP,
    "product": PRODUCT,
    "rows": ROWS,
    "segments": SEGMENTS,
    "softmax": SOFTMAX,
}


def arrays_of(device: DeviceUnderTest) -> Any:
    """Return the arrays of operators on a device."""
    arrays = DeviceManagerRegistry.GetDeviceManager(device.type).arrays()
    assert arrays is not None
    return arrays.on(0)


class Device:
    """A device under test that has an Expression of some kind."""

    def __init__(self, device: DeviceUnderTest, kind: Any) -> None:
        self.device, self.structure = device, KINDS[kind]
        self.primitive: Any = NewPrimitive(ExpressionFactory, device.type, self.structure)
        if self.primitive is None:
            pytest.skip(f"{device} has no Expression of the kind {kind}")

    def launch(self, shapes: Any, *sources: Any) -> Any:
        """Return the results of `shapes`, from arrays of the host."""
        arrays = arrays_of(self.device)
        types = [self.structure.data_type(value).dtype for value in self.structure.results]
        full = [np.full(shape, 1, dtype) for shape, dtype in zip(shapes, types, strict=False)]
        results = [arrays.copy_from_host(one) for one in full]
        self.primitive.Launch(self.device.stream, results, [arrays.copy_from_host(source) for source in sources])
        self.device.stream.Sync()
        return [arrays.copy_to_host(result) for result in results]


@pytest.mark.parametrize(
    "shapes", [((3, 5), (3, 5)), ((2, 3, 5), (5,)), ((4, 1, 300), (7, 1)), ((), ()), ((0, 3), (3,))]
)
def test_maps(device: DeviceUnderTest, rng: Rng, shapes: Any) -> None:
    x, y = (rng.random(shape, np.float32) for shape in shapes)
    product, total = Device(device, "map").launch([np.broadcast_shapes(*shapes)] * 2, x, y)
    np.testing.assert_array_equal(product, x * y)
    np.testing.assert_array_equal(total, x * y + np.float32(0.5))


@pytest.mark.parametrize("shape", [(3, 5), (5, 5), (2, 3, 300), (1, 1), (17,), (600, 2), (0, 4), (2, kMaxRow)])
def test_rows(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    """Elements and numbers of rows are both results, and operands of later steps."""
    x, r = rng.random(shape, np.float32), rng.random((*shape[:-1], 1), np.float32)
    rest, square = Device(device, "rows").launch([shape, r.shape], x, r)
    half = x * np.float32(0.5)
    mean = half.mean(-1, dtype=np.float64, keepdims=True).astype(np.float32) * r
    np.testing.assert_allclose(rest, half - mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(square, mean * mean, rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 300), (1, 1), (17,), (6007, 37), (70, 1031), (2, kMaxRow)])
def test_sums_of_columns(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    tested, x, w = Device(device, "columns"), rng.random(shape, np.float32), rng.random(shape[-1:], np.float32)
    whole, outer = (*[1] * (len(shape) - 1), shape[-1]), tuple(range(len(shape) - 1))
    of_products, rest, total = tested.launch([whole, shape, whole], x, w)
    products = (x * w).astype(np.float64)
    np.testing.assert_allclose(of_products, products.sum(outer, keepdims=True), rtol=2e-7)
    np.testing.assert_allclose(total, x.sum(outer, np.float64, keepdims=True), rtol=2e-7)
    np.testing.assert_allclose(rest, products.sum(-1, keepdims=True) - products, rtol=1e-6)


def test_sums_of_no_rows_and_sums_over_their_sources(device: DeviceUnderTest) -> None:
    tested = Device(device, "columns")
    with pytest.raises(ValueError, match="results\\[0\\] has sums of columns of shape \\(0, 4\\); there must be rows"):
        tested.launch([(1, 4), (0, 4), (1, 4)], np.ones((0, 4), np.float32), np.ones(4, np.float32))
    with pytest.raises(ValueError, match="results\\[2\\] has shape \\(1, 1\\); it must be \\(1, 4\\)"):
        tested.launch([(1, 4), (3, 4), (1, 1)], np.ones((3, 4), np.float32), np.ones(4, np.float32))
    arrays = arrays_of(device)
    x, w, rest, total = (arrays.copy_from_host(np.ones(one, np.float32)) for one in ((3, 4), (1, 4), (3, 4), (1, 4)))
    with pytest.raises(ValueError, match="results\\[0\\] overlaps sources\\[1\\]"):
        tested.primitive.Launch(device.stream, [w, rest, total], [x, w])


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 300), (1, 1), (17,), (600, 2), (0, 4), (2, kMaxRow)])
def test_gradients_of_softmaxes(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    y, dy = rng.random(shape, np.float32), rng.normal(size=shape).astype(np.float32)
    more, of_logarithm = Device(device, "gradients").launch([shape] * 2, y, dy)
    y, given = y.astype(np.float64), -dy.astype(np.float64)
    expected = (given - (y * given).sum(-1, keepdims=True)) * y
    np.testing.assert_allclose(more, expected + dy, rtol=1e-5, atol=1e-4)
    expected = given - np.exp(y) * given.sum(-1, keepdims=True)
    np.testing.assert_allclose(of_logarithm, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(5, 7), (3, 5, 20), (2, kMaxRow + 1), (6,), (1, 1)])
def test_any_axes(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    """Test two reductions, and a map of their results, without elements after them."""
    tested = Device(device, "any axes")
    x, y = rng.random(shape, np.float32), rng.random(shape[-1:], np.float32)
    for axes in {(0,), (len(shape) - 1,), tuple(range(0, len(shape), 2)), tuple(range(len(shape)))}:
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        scale = rng.random(kept, np.float32)
        total, largest = tested.launch([kept, kept], x, y, scale)
        np.testing.assert_allclose(total, (x * y).sum(axes, np.float64, keepdims=True) * scale, rtol=1e-5)
        np.testing.assert_array_equal(largest, x.max(axes, keepdims=True))


@pytest.mark.parametrize(
    ("a", "b", "bias"),
    [
        ((3, 5), (7, 5), (7,)),
        ((1, 40), (33, 40), (1, 33)),
        ((70, 300), (50, 300), (70, 1)),
        ((9, 4), (1, 4), ()),
        ((2, 1, 6, 5), (3, 8, 5), (3, 1, 8)),
        ((4, 0), (5, 0), (5,)),
        ((0, 4), (5, 4), (5,)),
    ],
)
def test_products(device: DeviceUnderTest, rng: Rng, a: Array, b: Array, bias: Any) -> None:
    """A product with a map of it, in results of two types."""
    x, y, z = (rng.normal(size=shape).astype(np.float32) for shape in (a, b, bias))
    expected = x.astype(np.float64) @ np.swapaxes(y.astype(np.float64), -1, -2) + z
    total, is_more = Device(device, "product").launch([expected.shape] * 2, x, y, z)
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(is_more, total > np.float32(0.5))


@pytest.mark.parametrize("sizes", [(3, 5, 7), (1, 300, 9), (9, 300, 1), (70, 30, 130), (4, 0, 5), (0, 4, 5)])
def test_products_of_matrices_of_two_types(device: DeviceUnderTest, rng: Rng, sizes: Any) -> None:
    m, k, n = sizes
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((m, k), (k, n)))
    x = x.astype(DataType.kBFloat16.dtype)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    (found,) = Device(device, "converted product").launch([expected.shape], x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("params", "indices"), [((9, 5), (7, 1)), ((3, 300), (4, 1)), ((9, 2, 1, 6), (4, 1)), ((20,), (7, 3)), ((1, 1), ())]
)
def test_chosen_rows(device: DeviceUnderTest, rng: Rng, params: Array, indices: Array) -> None:
    """An index that is out of range gives zeros."""
    x, rows = rng.random(params, np.float32), rng.integers(-2, params[0] + 2, indices).astype(np.int32)
    shape = np.broadcast_shapes(params[1:], indices)
    y = rng.random(shape[-1:], np.float32)
    chosen = np.zeros(shape, np.float32)
    for place in np.ndindex(shape):
        row = np.broadcast_to(rows, shape)[place]
        if 0 <= row < params[0]:
            chosen[place] = np.broadcast_to(x[row], shape)[place]
    (found,) = Device(device, "choice").launch([shape], x, rows, y)
    np.testing.assert_array_equal(found, chosen + y)
    (found,) = Device(device, "chosen sums").launch([shape], x, rows)
    expected = chosen - chosen.sum(-1, np.float64, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 5), (3, 300), (2, 4, 33), (1, 1), (0, 4)])
def test_elements_of_rows(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    x, index = rng.random(shape, np.float32), rng.integers(-1, shape[-1] + 1, (*shape[:-1], 1)).astype(np.int32)
    inside = (index >= 0) & (index < shape[-1])
    elements = np.take_along_axis(x * x, np.where(inside, index, 0), -1)
    found, squares = Device(device, "element").launch([index.shape, shape], x, index)
    np.testing.assert_array_equal(found, np.where(inside, elements, 0))
    np.testing.assert_array_equal(squares, x * x)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5, 36), (1, 1, 1, 1), (3, 1, 70, 2, 1, 7), (2, 0, 3, 4, 4)])
def test_sums_of_segments(device: DeviceUnderTest, rng: Rng, shape: Dims) -> None:
    """Segments that no row has are zero, and rows of no segment are left out."""
    x, w = rng.random(shape, np.float32), rng.random(shape[-1:], np.float32)
    ids = rng.integers(-1, 7, (shape[0], *shape[2:4])).astype(np.int32)
    expected = np.zeros((*shape[:2], 6, *shape[4:]), np.float64)
    for batch, *row in np.ndindex(ids.shape):
        if 0 <= ids[batch, *row] < 6:
            expected[batch, :, ids[batch, *row]] += (x * w)[batch, :, *row]
    more, total = Device(device, "segments").launch([expected.shape] * 2, x, w, ids)
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    np.testing.assert_array_equal(more, total + np.float32(0.5))


def test_operands_of_sums_of_segments_are_checked(device: DeviceUnderTest) -> None:
    tested = Device(device, "segments")
    x, w, ids = (np.zeros(shape, dtype) for shape, dtype in (((2, 3, 4, 5), "f4"), ((5,), "f4"), ((2, 4, 5), "i4")))
    with pytest.raises(ValueError, match=r"sources\[2\] has shape \(2, 0, 5\); there must be rows"):
        tested.launch([(2, 3, 6)] * 2, x[:, :, :0], w, ids[:, :0])
    for wrong in (ids[:1], ids[..., :2], ids[0]):
        with pytest.raises(ValueError, match=r"sources\[2\] has shape .*; it must be \(2, 4, 5\)"):
            tested.launch([(2, 3, 6)] * 2, x, w, wrong)
    with pytest.raises(ValueError, match=r"results\[1\] has shape \(2, 3, 7\); it must be \(2, 3, 6\)"):
        tested.launch([(2, 3, 6), (2, 3, 7)], x, w, ids)
    with pytest.raises(ValueError, match=r"results\[0\] has shape \(6,\)"):
        tested.launch([(6,), (6,)], x, w, ids)


def test_rows_to_choose_from_are_checked(device: DeviceUnderTest) -> None:
    tested = Device(device, "choice")
    arrays = arrays_of(device)
    x, rows, y = (np.zeros(shape, dtype) for shape, dtype in (((4, 5), "f4"), ((4, 1), "i4"), ((5,), "f4")))
    for wrong in (x[:0], x[0, 0]):
        with pytest.raises(ValueError, match=r"sources\[0\] has shape .* must have rows"):
            tested.launch([(4, 5)], wrong, rows, y)
    x, rows, y = map(arrays.copy_from_host, (x, rows, y))
    with pytest.raises(ValueError, match=r"results\[0\] overlaps sources\[0\]"):
        tested.primitive.Launch(tested.device.stream, [x], [x, rows, y])


def test_softmax(device: DeviceUnderTest, rng: Rng) -> None:
    x = rng.normal(size=(5, 33)).astype(np.float32)
    (found,) = Device(device, "softmax").launch([x.shape], x)
    e = np.exp(-x.astype(np.float64))
    np.testing.assert_allclose(found, e / e.sum(-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "shapes", "sources"),
    [
        ("map", [(3, 5), (3, 4)], [(3, 5), (3, 5)]),
        ("map", [(3, 5)], [(3, 5), (3, 5)]),
        ("map", [(5,), (5,)], [(3, 5), (5,)]),
        ("rows", [(3, 5), (3, 5)], [(3, 5), (3, 1)]),
        ("rows", [(3, 5), (3, 1)], [(3, 5), (3, 5)]),
        ("rows", [(3, 0), (3, 1)], [(3, 0), (3, 1)]),
        ("rows", [(2, kMaxRow + 1), (2, 1)], [(2, kMaxRow + 1), (2, 1)]),
        ("softmax", [()], [()]),
        ("product", [(3, 7), (3, 7)], [(3, 5), (7, 6), (7,)]),
        ("product", [(3, 7), (3, 7)], [(3, 5), (5, 7), (7,)]),
        ("product", [(3, 8), (3, 8)], [(3, 5), (7, 5), (7,)]),
        ("product", [(4, 3, 7), (4, 3, 7)], [(2, 3, 5), (7, 5), (7,)]),
        ("product", [(3, 7), (3, 7)], [(2, 3, 5), (7, 5), (7,)]),
        ("product", [(7,), (7,)], [(5,), (7, 5), (7,)]),
        ("product", [(3, 7), (3, 7)], [(3, 5), (7, 5), (8,)]),
        ("product", [(3, 7), (7,)], [(3, 5), (7, 5), (7,)]),
    ],
)
def test_shapes_that_are_refused(device: DeviceUnderTest, kind: Any, shapes: Any, sources: Any) -> None:
    with pytest.raises(ValueError, match=r"results|sources"):
        Device(device, kind).launch(shapes, *(np.zeros(shape, np.float32) for shape in sources))


def test_matrices_that_overlap_results_are_refused(device: DeviceUnderTest) -> None:
    tested = Device(device, "product")
    arrays = arrays_of(device)
    x, y, bias = (arrays.copy_from_host(np.ones(shape, np.float32)) for shape in ((5, 5), (5, 5), (5,)))
    is_more = arrays.copy_from_host(np.zeros((5, 5), np.bool_))
    with pytest.raises(ValueError, match=r"results\[0\] overlaps sources\[0\]"):
        tested.primitive.Launch(tested.device.stream, [x, is_more], [x, y, bias])


def test_types_that_are_refused(device: DeviceUnderTest) -> None:
    with pytest.raises(TypeError, match=r"sources\[1\]"):
        Device(device, "map").launch([(3,), (3,)], np.zeros(3, np.float32), np.zeros(3))
