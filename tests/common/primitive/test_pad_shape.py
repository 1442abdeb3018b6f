"""ConstantPad: dims, the box that is copied, and merged axes; paddings of both signs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.pad_shape import PadShape, as_pad_shape


@st.composite
def paddings(draw):
    axes = []
    for _ in range(draw(st.integers(0, 5))):
        size, before, pads = draw(st.integers(0, 4)), draw(st.integers(-6, 4)), draw(st.booleans())
        after = draw(st.integers(-size - before, max(4, 1 - size - before)))
        axes.append((size, before, after) if pads else (size, 0, 0))
    return as_pad_shape(*zip(*axes, strict=True)) if axes else as_pad_shape((), (), ())


def padded(shape, src):
    """Return NumPy's result: padded first, then cropped."""
    added = [(max(a, 0), max(b, 0)) for a, b in zip(shape.padding_before, shape.padding_after, strict=True)]
    whole = np.pad(src, added, constant_values=-1) if added else src
    kept = (
        slice(max(-a, 0), size - max(-b, 0))
        for a, b, size in zip(shape.padding_before, shape.padding_after, whole.shape, strict=True)
    )
    return whole[tuple(kept)]


def by_box(shape, src):
    """Return the result of filling, then copying the box."""
    copy = shape.copied()
    dst = np.full(shape.dst_dims, -1)
    sides = [
        tuple(slice(begin, begin + size) for begin, size in zip(pos, copy.extent, strict=True))
        for pos in (copy.dst_pos, copy.src_pos)
    ]
    dst[sides[0]] = src.reshape(shape.src_dims)[sides[1]]
    return dst


@given(shape=paddings())
def test_padded_first_then_cropped(shape):
    src_count, dst_count = shape.counts()
    src = np.arange(src_count)
    want = padded(shape, src.reshape(shape.src_dims))
    assert want.shape == shape.dst_dims
    assert want.size == dst_count
    if dst_count:
        np.testing.assert_array_equal(by_box(shape, src), want)


@given(shape=paddings())
def test_fewer_axes_pad_the_same(shape):
    src = np.arange(shape.counts()[0])
    simple = shape.simplified()
    assert simple.counts() == shape.counts()
    if shape.counts()[1]:
        assert by_box(simple, src).reshape(-1).tolist() == by_box(shape, src).reshape(-1).tolist()
        assert all(before or after for before, after in [*zip(*simple[1:], strict=True)][1:])


@pytest.mark.parametrize(
    ("shape", "simple"),
    [
        (((4, 5, 3, 7), (0, 1, 0, 0), (0, 2, 0, 0)), ((4, 105), (0, 21), (0, 42))),
        (((1, 1, 5, 3), (0, 0, 1, 0), (0, 0, 0, 0)), ((15,), (3,), (0,))),
        (((4, 5), (0, 0), (0, 0)), ((20,), (0,), (0,))),
        (((2, 8), (1, -1), (1, -1)), ((2, 8), (1, -1), (1, -1))),
        (((), (), ()), ((1,), (0,), (0,))),
    ],
)
def test_axes_without_padding_merge(shape, simple):
    assert as_pad_shape(*shape).simplified() == PadShape(*simple)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"padding_before": (-4, 0)}, ValueError, r"padding_before \(-4, 0\) and padding_after \(0, 1\) leave -1"),
        ({"padding_after": (0,)}, ValueError, "padding_after has 1 numbers for 2 dims"),
        ({"padding_before": (0, 0.5)}, TypeError, r"padding_before\[1\] must be an integer"),
        ({"padding_before": None}, TypeError, "padding_before must be a sequence"),
        ({"src_dims": (3, -5)}, ValueError, r"src_dims\[1\] is -5; it must not be negative"),
        ({"src_dims": (1,) * 9}, ValueError, "src_dims has 9 dims; this primitive was made for at most 8"),
    ],
)
def test_paddings_that_are_refused(changes, error, message):
    arguments = {"src_dims": (3, 5), "padding_before": (0, -1), "padding_after": (0, 1)}
    as_pad_shape(**arguments)
    with pytest.raises(error, match=message):
        as_pad_shape(**arguments | changes)
