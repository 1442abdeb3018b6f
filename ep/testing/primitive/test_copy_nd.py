"""CopyNd: every data type, boxes anywhere, two boxes of one array, and invalid arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import CopyNdFactory
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, needs, some_key
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfAnyLaunch


def bytes_of(rng: Rng, data_type: DataType, dims: Any) -> Any:
    """Return an array of random bytes, which are copied as they are."""
    count = math.prod(dims) * data_type.itemsize
    return rng.integers(0, 256, count, dtype=np.uint8).view(data_type.dtype).reshape(dims)


def box(array: Array, pos: Any, extent: Dims) -> Any:
    kept: list[Any] = [slice(begin, begin + size) for begin, size in zip(pos, extent, strict=True)]
    return array[..., *kept]


def check(
    device: DeviceUnderTest,
    rng: Rng,
    data_type: DataType,
    dst_dims: Dims,
    dst_pos: Dims,
    src_dims: Dims,
    src_pos: Dims,
    extent: Dims,
) -> None:
    """Copy a box, and compare all of dst with NumPy's result."""
    src, before = bytes_of(rng, data_type, src_dims), bytes_of(rng, data_type, (math.prod(dst_dims) + 3,))
    dst = device.buffer(before)
    device.require(CopyNdFactory, 8).Launch(
        device.stream, data_type, dst, dst_dims, dst_pos, device.buffer(src), src_dims, src_pos, extent
    )
    want = before.copy()
    box(want[:-3].reshape(dst_dims), dst_pos, extent)[...] = box(src, src_pos, extent)
    assert device.array(dst).tobytes() == want.tobytes()


BOXES = [
    ((), (), (), (), ()),
    ((9,), (2,), (11,), (4,), (5,)),
    ((5, 4), (1, 0), (7, 4), (2, 0), (3, 4)),
    ((5, 8), (1, 3), (7, 6), (2, 1), (3, 5)),
    ((3, 1, 9), (0, 0, 4), (4, 5, 6), (2, 3, 1), (2, 1, 5)),
    ((2, 5, 4), (0, 1, 0), (2, 5, 4), (0, 2, 0), (2, 3, 4)),
    ((3, 2, 3, 2, 3, 2, 2, 5), (1, 0, 1, 0, 1, 0, 1, 2), (2, 2, 2, 3, 2, 2, 2, 4), (0,) * 8, (2, 2, 2, 2, 2, 2, 1, 3)),
    ((4, 4), (1, 1), (4, 4), (0, 0), (0, 3)),
    ((4, 0), (1, 0), (3, 0), (0, 0), (2, 0)),
    ((4, 4), (4, 0), (4, 4), (0, 4), (0, 0)),
]


@pytest.mark.parametrize("arguments", BOXES, ids=str)
@every_key(CopyNdFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, arguments: Any) -> None:
    check(device, rng, key[0], *arguments)


@pytest.mark.parametrize(
    ("dst_dims", "dst_pos", "src_dims", "src_pos", "extent"),
    [
        ((301, 331), (5, 7), (257, 409), (3, 11), (251, 313)),
        ((100_003,), (7,), (90_001,), (1,), (89_989,)),
        ((60_013, 3), (5, 0), (50_021, 5), (1, 2), (49_999, 3)),
        ((37, 41, 43), (1, 2, 3), (31, 59, 61), (4, 5, 6), (23, 37, 29)),
        ((2003, 67), (1, 1), (2003, 66), (0, 0), (1999, 64)),
    ],
)
@some_key(CopyNdFactory, (DataType.kInt8,), (DataType.kFloat,), (DataType.kComplex128,))
def test_across_threads(
    device: DeviceUnderTest,
    rng: Rng,
    key: FlatKey,
    dst_dims: Dims,
    dst_pos: Dims,
    src_dims: Dims,
    src_pos: Dims,
    extent: Dims,
) -> None:
    if device.simulated:
        extent = tuple(min(size, 29) for size in extent)
    check(device, rng, key[0], dst_dims, dst_pos, src_dims, src_pos, extent)


@pytest.mark.parametrize("row", [*range(1, 35), 63, 64, 65, 127, 128, 129, 257])
@some_key(CopyNdFactory, (DataType.kUInt8,), (DataType.kInt16,), (DataType.kDouble,))
def test_every_size_of_a_row(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    """Test sources and destinations that are not aligned; no block exceeds its row."""
    check(device, rng, key[0], (4, row + 3), (1, 1), (5, row + 2), (2, 2), (3, row))
    check(device, rng, key[0], (row + 3, 4), (1, 1), (row + 2, 5), (2, 2), (row, 3))


@pytest.mark.parametrize(
    ("dst_pos", "src_pos", "extent"),
    [
        ((0, 0), (0, 5), (7, 5)),  # side by side: rows of one are between those of the other
        ((0, 6), (1, 0), (6, 4)),
        ((4, 0), (0, 0), (3, 9)),
        ((3, 3), (0, 0), (3, 3)),
        ((0, 0), (3, 3), (3, 3)),
    ],
)
@some_key(CopyNdFactory, (DataType.kInt32,), (DataType.kInt8,))
def test_two_boxes_of_one_array(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, dst_pos: Dims, src_pos: Dims, extent: Dims
) -> None:
    (data_type,) = key
    array = bytes_of(rng, data_type, (7, 10))
    memory = device.buffer(array)
    primitive = device.require(CopyNdFactory, 2)
    for _ in range(2):
        primitive.Launch(device.stream, data_type, memory, (7, 10), dst_pos, memory, (7, 10), src_pos, extent)
        box(array, dst_pos, extent)[...] = box(array, src_pos, extent).copy()
        assert device.array(memory).tobytes() == array.tobytes()


@some_key(CopyNdFactory, (DataType.kInt32,))
def test_boxes_of_one_array_through_two_views(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, refuses: Refusals
) -> None:
    """Test the same launch with other buffers, some of which overlap."""
    (data_type,) = key
    array = bytes_of(rng, data_type, (8, 10))
    memory, apart = device.buffer(array), device.buffer(array)
    primitive = device.require(CopyNdFactory, 2)
    launch = ((7, 10), (0, 0), memory, (7, 10), (0, 2), (7, 3))
    for shift, overlaps in ((0, True), (7, False), (0, True), (5, False), (3, True), (7, False), (10, True)):
        if overlaps:
            with refuses.expected(primitive, ValueError, "dst overlaps src"):
                primitive.Launch(device.stream, data_type, memory[shift:], *launch)
        else:
            primitive.Launch(device.stream, data_type, memory[shift:], *launch)
            flat = array.reshape(-1)[shift:][:70].reshape(7, 10)
            flat[:, :3] = array[:7, 2:5].copy()
        assert device.array(memory).tobytes() == array.tobytes()
        primitive.Launch(device.stream, data_type, apart, *launch)  # the next launch must not be mistaken for this one


@st.composite
def boxes(draw: Callable[..., Any]) -> Any:
    axes = draw(st.lists(st.tuples(st.integers(0, 4), *[st.integers(0, 2)] * 4), max_size=6))
    extent, dst_pos, dst_rest, src_pos, src_rest = zip(*axes, strict=True) if axes else ((),) * 5
    dst_dims = tuple(map(sum, zip(extent, dst_pos, dst_rest, strict=True)))
    src_dims = tuple(map(sum, zip(extent, src_pos, src_rest, strict=True)))
    return dst_dims, dst_pos, src_dims, src_pos, extent


@every_key(CopyNdFactory)
@few_examples
@given(arguments=boxes())
def test_any_box(device: DeviceUnderTest, key: FlatKey, arguments: Any) -> None:
    check(device, np.random.default_rng(1), *key, *arguments)


@some_key(CopyNdFactory, (DataType.kFloat,))
class TestRefusals(OfAnyLaunch):
    dims = "dst_dims", "src_dims"

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest) -> Any:
        return device.require(CopyNdFactory, 3)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        dst = {"dst": device.filled(20, *key), "dst_dims": (4, 5), "dst_pos": (1, 1)}
        src = {"src": device.buffer(np.ones(42, key[0].dtype)), "src_dims": (6, 7), "src_pos": (2, 0)}
        return {"data_type": key[0], **dst, **src, "extent": (2, 3)}

    def test_boxes(self, refused: Refused) -> None:
        refused(ValueError, r"dst_pos .* outside dst_dims \(4, 5\) at axis 0: 3 \+ 2 is more than 4", dst_pos=(3, 1))
        refused(ValueError, r"src_pos .* outside src_dims \(6, 7\) at axis 1", src_pos=(2, 5))
        refused(ValueError, r"extent \(2, 5\) reach outside dst_dims", extent=(2, 5))
        refused(ValueError, "reach outside dst_dims", dst_pos=(5, 0), extent=(0, 0))
        refused(ValueError, r"extent\[0\] is -1", extent=(-1, 3))
        refused(ValueError, r"src_pos\[1\] is -1", src_pos=(2, -1))
        refused(ValueError, "extent has 1 numbers for 2 dims", extent=(2,))
        refused(ValueError, "must have the same number of dims", src_dims=(6, 7, 1))
        refused(TypeError, r"dst_pos\[1\] must be an integer", dst_pos=(1, 1.0))

    def test_data_type(self, refused: Refused) -> None:
        refused(ValueError, "data_type is 'flaot32'", data_type="flaot32")

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(62, key[0].dtype))
        refused(ValueError, "dst overlaps src", src=memory[8:50], dst=memory[15:35])
        refused(ValueError, "dst overlaps src", src=memory, dst=memory[8:])


def check_columns(
    device: DeviceUnderTest, rng: Rng, data_type: DataType, rows: int, widths: Any, begin: int, more: Any, to_parts: Any
) -> None:
    """Copy columns, and compare the whole matrix and all parts with NumPy's result."""
    cols = begin + sum(widths) + more
    whole = bytes_of(rng, data_type, (rows, cols))
    parts = [bytes_of(rng, data_type, (rows, width)) for width in widths]
    copied_whole, copied = device.buffer(whole), [device.buffer(part.reshape(-1)) for part in parts]
    device.require(CopyNdFactory, 2).LaunchColumns(
        device.stream, data_type, copied_whole, rows, cols, begin, copied, to_parts
    )
    for part, width in zip(parts, widths, strict=True):
        inside = whole[:, begin : begin + width]
        target, source = (part, inside) if to_parts else (inside, part)
        target[...] = source
        begin += width
    assert device.array(copied_whole).tobytes() == whole.tobytes()
    assert [device.array(got).tobytes() for got in copied] == [part.tobytes() for part in parts]


@pytest.mark.parametrize("to_parts", [False, True])
@pytest.mark.parametrize(
    ("rows", "widths", "begin", "more"),
    [
        (1, [3, 1, 7], 0, 0),
        (5, [1] * 40, 2, 3),
        (7, [0, 5, 0, 0, 33, 2], 1, 0),
        (3, [2, 90_001, 4], 5, 1),  # one is large enough to be shared among threads
        (2, [], 4, 4),
    ],
    ids=str,
)
@some_key(CopyNdFactory, (DataType.kInt8,), (DataType.kFloat,), (DataType.kComplex128,))
def test_columns(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, rows: int, widths: Any, begin: int, more: Any, to_parts: Any
) -> None:
    if device.simulated:
        widths = [min(width, 40) for width in widths]
    check_columns(device, rng, key[0], rows, widths, begin, more, to_parts)


OVERLAPPING = {
    "the same memory": (3, [(0, 4), (0, 4), (0, 4)]),
    "the end of one is the begin of the next": (2, [(0, 5), (8, 5), (16, 5)]),
    "backwards": (2, [(24, 3), (20, 3), (18, 2), (0, 10)]),
    "one inside of another": (3, [(0, 20), (7, 2), (40, 1)]),
    "some are empty": (2, [(4, 0), (0, 4), (4, 0), (2, 4)]),
    "large and small ones": (3, [(0, 30_001), (5, 2), (60_000, 20_003), (9, 4)]),
    "hundreds": (2, [(7 * k % 400, 1 + k % 3) for k in range(700)]),
    "hundreds in order": (1, [(k, 2) for k in range(600)]),
}
"""The number of rows, and of each part, the place of its first element in the memory of all, and its columns."""


@needs(CopyNdFactory, DataType.kInt32)
@pytest.mark.parametrize("times", range(2))
@pytest.mark.parametrize("case", OVERLAPPING)
def test_parts_that_overlap_are_written_in_order(device: DeviceUnderTest, rng: Rng, case: Any, times: Any) -> None:
    """The launch is the same as one for each part: where two are written, the later one remains."""
    rows, places = OVERLAPPING[case]
    if device.simulated:
        places = [(place % 5000, min(width, 40)) for place, width in places[:60]]
    cols = 3 + sum(width for _, width in places)
    whole = rng.integers(-(2**31), 2**31, (rows, cols)).astype(np.int32)
    memory = np.arange(max(place + rows * width for place, width in places) + 7, dtype=np.int32)
    copied = device.buffer(memory)
    parts = [copied[place : place + rows * width] for place, width in places]
    copy = device.require(CopyNdFactory, 2)
    copy.LaunchColumns(device.stream, "int32", device.buffer(whole.reshape(-1)), rows, cols, 2, parts, True)
    begin = 2
    for place, width in places:
        memory[place : place + rows * width] = whole[:, begin : begin + width].reshape(-1)
        begin += width
    np.testing.assert_array_equal(device.array(copied), memory)


@needs(CopyNdFactory, DataType.kInt32)
@pytest.mark.parametrize("to_parts", [False, True])
def test_columns_that_do_not_fit_are_refused(device: DeviceUnderTest, rng: Rng, to_parts: Any) -> None:
    copy = device.require(CopyNdFactory, 2)
    whole, parts = device.buffer(np.zeros(12, np.int32)), [device.buffer(np.ones(4, np.int32))]
    for cols, begin, data_type in ((3, 3, "int32"), (2, -1, "int32"), (400, 0, "int32"), (3, 0, "float32")):
        with pytest.raises((TypeError, ValueError)):
            copy.LaunchColumns(device.stream, data_type, whole, 4, cols, begin, parts, to_parts)
    assert not device.array(whole).any()
    assert (device.array(parts[0]) == 1).all()


@needs(CopyNdFactory, DataType.kDouble)
@pytest.mark.parametrize("to_parts", [False, True])
@pytest.mark.parametrize(
    ("rows", "cols", "begin", "sizes", "words"),
    [
        (4, 6, 0, [7, 8], r"parts\[0\] has 7 elements; they must be 4 equal rows"),
        (4, 6, 0, [8, 9], r"parts\[1\] has 9 elements; they must be 4 equal rows"),
        (4, 6, 0, [4] * 3 + [3], r"parts\[3\] has 3 elements"),
        (1, 600, 0, [1] * 600 + [2], r"parts\[600\] has 2 columns and ends at column 602 of whole; it has 600"),
        (2, 600, 0, [2] * 590 + [3], r"parts\[590\] has 3 elements"),
        (4, 6, 5, [4, 4], r"parts\[1\] has 1 columns and ends at column 7 of whole; it has 6"),
        (4, 6, 0, [28], r"parts\[0\] has 7 columns and ends at column 7 of whole; it has 6"),
        (0, 6, 0, [8], "rows is 0; it must be 1 or more"),
        (0, 6, 0, [], "rows is 0; it must be 1 or more"),
        (-1, 6, 0, [8], "rows is -1; it must be 1 or more"),
        (4, -6, 0, [8], "cols is -6; it must be 0 or more"),
        (4, 6, -1, [8], "begin is -1; it must be 0 or more"),
    ],
)
def test_errors_of_columns_name_what_does_not_fit(
    device: DeviceUnderTest, rows: int, cols: int, begin: int, sizes: Any, words: Any, to_parts: Any
) -> None:
    copy = device.require(CopyNdFactory, 2)
    whole, parts = device.buffer(np.zeros(max(rows * cols, 24))), [device.buffer(np.ones(size)) for size in sizes]
    with pytest.raises(ValueError, match=rf"^{words}"):
        copy.LaunchColumns(device.stream, "float64", whole, rows, cols, begin, parts, to_parts)
    assert not device.array(whole).any()
    assert all((device.array(part) == 1).all() for part in parts)
