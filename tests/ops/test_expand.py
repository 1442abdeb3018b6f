"""expand and repeat."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ep.ops
from ep.cpu.primitive.expand import ExpandImpl
from tests.ops import references


@st.composite
def expansions(draw):
    """Return a shape, the shape that it is expanded to, and the sizes to pass for it."""
    new = draw(st.lists(st.integers(0, 3), max_size=2))
    old = draw(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), max_size=4))
    shape = [1 if grows else size for size, grows, _ in old]
    result = [*new, *(size for size, _, _ in old)]
    sizes = [*new, *(-1 if keep and not grows else size for size, grows, keep in old)]
    return shape, result, sizes


@given(expansions())
@settings(max_examples=60, deadline=None)
def test_expand(expand, expansion):
    shape, result_shape, sizes = expansion
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    result = expand(x, *sizes)
    assert result.shape == tuple(result_shape)
    assert np.array_equal(result, references.expand(x, result_shape))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4), st.lists(st.integers(0, 3), max_size=2))
@settings(max_examples=60, deadline=None)
def test_repeat(repeat, axes, new):
    shape = [size for size, _ in axes]
    sizes = [*new, *(times for _, times in axes)]
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    result = repeat(x, *sizes)
    expected = references.repeat(x, sizes)
    assert result.shape == expected.shape == np.tile(x, sizes).shape
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)])
@pytest.mark.parametrize("repetitions", [2, 0, (), (2,), [3, 1], np.array([2, 1, 2]), (2, 1, 2, 2)], ids=str)
def test_tile(on_device, shape, repetitions):
    """Fewer repetitions than axes are allowed, too; `repeat` refuses them."""
    x = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    expected = np.tile(x, repetitions)
    result = ep.ops.copy_to_host(ep.ops.tile(on_device(x), repetitions))
    assert result.shape == expected.shape
    assert np.array_equal(result, expected)


def test_tile_refuses():
    with pytest.raises(TypeError, match=r"repetitions\[1\] must be an integer"):
        ep.ops.tile([1], (1, 2.0))
    with pytest.raises(ValueError, match=r"repetitions\[0\] is -1; it must not be negative"):
        ep.ops.tile([[1]], -1)
    out = np.zeros((2, 4))
    assert ep.ops.tile([1.0, 2.0], (2, 2), out=out) is out
    assert out.tolist() == [[1, 2, 1, 2]] * 2


@pytest.mark.parametrize("function", [ep.ops.expand, ep.ops.repeat])
@pytest.mark.parametrize("sizes", [(2, 3), ([2, 3],), ((2, 3),), (np.array([2, 3]),), (np.int64(2), np.uint8(3))])
def test_forms_of_sizes(function, sizes):
    assert function([[1.0], [2.0]] if function is ep.ops.expand else [[1.0]], *sizes).shape == (2, 3)


@pytest.mark.parametrize("function", [ep.ops.expand, ep.ops.repeat])
@pytest.mark.parametrize("sizes", [(2.0,), ("2",), (None,), ([2], [3])])
def test_sizes_that_are_no_integers(function, sizes):
    with pytest.raises(TypeError, match=r"sizes\[0\] must be an integer"):
        function([1], *sizes)


@pytest.mark.parametrize("function", [ep.ops.expand, ep.ops.repeat])
def test_0d(function):
    for sizes in ((), ([],)):
        result = function(np.float32(3), *sizes)
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype, result.item()) == ((), np.float32, 3)
    assert function(3, 2, 0).shape == (2, 0)
    assert function(3, [2, 2]).tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize(
    ("shape", "sizes", "message"),
    [
        ((2, 3), (3,), r"sizes \(3,\) has fewer axes than x, whose shape is \(2, 3\)"),
        ((2, 3), (4, 3), r"sizes\[0\] is 4, but x of shape \(2, 3\) has 2 there; only 1 can be expanded"),
        ((2, 0), (2, 1), r"sizes\[1\] is 1, but x of shape \(2, 0\) has 0"),
        ((2,), (-1, 2), r"sizes\[0\] is -1; a new axis takes a size >= 0"),
        ((2,), (-2,), r"sizes\[0\] is -2; a kept axis takes -1 or a size >= 0"),
    ],
)
def test_expand_refuses(expand, shape, sizes, message):
    with pytest.raises(ValueError, match=message):
        expand(np.zeros(shape), *sizes)


def test_repeat_refuses(repeat):
    with pytest.raises(ValueError, match="has fewer axes than x"):
        repeat(np.zeros((2, 3)), 2)
    with pytest.raises(ValueError, match=r"sizes\[1\] is -1; it must not be negative"):
        repeat(np.zeros((2, 3)), 2, -1)


def test_expand_of_many_axes(expand):
    shape, sizes = (1, 2, 3, 1, 1, 1, 2, 1, 1, 1, 1), (2, 2, 3, 1, 2, 2, 2, 1, 3, 2, 1)
    x = np.arange(12, dtype=np.int32).reshape(shape)
    assert np.array_equal(expand(x, sizes), np.broadcast_to(x, sizes))
    assert expand(np.ones((1,) * 9), 2, 1, 0, *[1] * 7).shape == (2, 1, 0, *[1] * 7)
    assert expand(np.ones(()), [2, 1] * 6).tolist() == np.ones([2, 1] * 6).tolist()


def test_repeat_of_many_axes(repeat):
    x = np.arange(3**4, dtype=np.int32).reshape(3, 3, 3, 3)
    assert np.array_equal(repeat(x, 2, 2, 2, 2), np.tile(x, (2, 2, 2, 2)))
    y = np.arange(3 * 2**5, dtype=np.int32).reshape(3, 2, 2, 1, 1, 1, 2, 2, 2)
    assert np.array_equal(repeat(y, 1, 1, 2, 1, 3, 1, 1, 1, 2), np.tile(y, (1, 1, 2, 1, 3, 1, 1, 1, 2)))


def test_too_many_axes(expand, repeat):
    with pytest.raises(ValueError, match=r"repeat of shapes .* needs 10 axes .* at most 8"):
        repeat(np.zeros((2,) * 5), [2] * 5)
    with pytest.raises(ValueError, match=r"expand of shapes .* needs 9 axes"):
        expand(np.zeros((2, 1, 2, 1, 2, 1, 2, 1, 2)), [2] * 9)
    assert repeat(np.zeros((2,) * 5), [2, 2, 2, 2, 0]).shape == (4, 4, 4, 4, 0)


def test_repeat_is_one_launch(monkeypatch):
    sources = []
    launch = ExpandImpl.Launch

    def spy(self, stream, src_dims, src, dst_dims, dst, *strides):
        sources.append((src, dst))
        launch(self, stream, src_dims, src, dst_dims, dst, *strides)

    monkeypatch.setattr(ExpandImpl, "Launch", spy)
    x = np.arange(6.0).reshape(2, 3)
    result = ep.ops.repeat(x, 3, 2, 2)
    ((src, dst),) = sources
    assert src is x
    assert dst is result


def test_overlap():
    x = np.zeros((2, 3))
    with pytest.raises(ValueError, match="out overlaps x"):
        ep.ops.expand(x[:1], 2, 3, out=x)
