"""Broadcast dims and strided walks: worked examples; a simplified walk visits the same elements."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.broadcast import broadcast_dims, simplify_broadcast_dims, simplify_strided
from ep.common.primitive.strides import contiguous_strides, expanded_strides


def operands(count, sizes):
    """Return a strategy for dims that broadcast: up to 8 axes, of which operands lack leading ones or have size 1."""

    @st.composite
    def draw_operands(draw):
        dims = draw(st.lists(sizes, max_size=8))
        result = []
        for _ in range(count):
            kept = dims[draw(st.integers(0, len(dims))) :]
            result.append(tuple(draw(st.sampled_from([1, size])) for size in kept))
        return result

    return draw_operands()


def offsets(dims, strides):
    """Return the offset of every element of a walk, in row-major order."""
    return [sum(map(math.prod, zip(index, strides, strict=True))) for index in np.ndindex(*dims)]


def addresses(operand, result):
    """Return, for each element of the broadcast result, the index of the operand's element that it reads."""
    elements = np.arange(math.prod(operand)).reshape(operand)
    return np.broadcast_to(elements, result).ravel().tolist()


class TestBroadcastDims:
    @given(dims=operands(3, st.integers(0, 4)))
    def test_is_numpys(self, dims):
        assert broadcast_dims(*dims) == np.broadcast_shapes(*dims)

    @given(dims=st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=2, max_size=3))
    def test_refuses_what_numpy_refuses(self, dims):
        try:
            want = np.broadcast_shapes(*map(tuple, dims))
        except ValueError:
            with pytest.raises(ValueError, match="do not broadcast"):
                broadcast_dims(*dims)
        else:
            assert broadcast_dims(*dims) == want

    def test_the_error_names_the_operands(self):
        with pytest.raises(ValueError, match=r"^cond \(2, 3\), x \(4,\), y \(\) do not broadcast at axis -1$"):
            broadcast_dims((2, 3), (4,), (), names=("cond", "x", "y"))
        with pytest.raises(ValueError, match=r"^operand 0 \(2, 3\), operand 1 \(0, 1\) do not broadcast at axis -2$"):
            broadcast_dims((2, 3), [0, 1])


class TestSimplifyBroadcastDims:
    @pytest.mark.parametrize(
        ("dims", "simple", "result"),
        [
            ([(2, 5, 10, 5), (5, 1, 5, 10, 1)], [(1, 2, 50, 5), (5, 1, 50, 1)], (5, 2, 50, 5)),
            ([(10, 5, 1, 5), (5,)], [(50, 5), (1, 5)], (50, 5)),
            ([(2, 5, 10, 5), (1,)], [(500,), (1,)], (500,)),
            ([(1,), (2, 5, 10, 5)], [(1,), (500,)], (500,)),
            ([(), ()], [(1,), (1,)], (1,)),
            ([(), (1, 1)], [(1,), (1,)], (1,)),
            ([(1, 1, 1), ()], [(1,), (1,)], (1,)),
            ([(), (3, 4)], [(1,), (12,)], (12,)),
            ([(3, 4), (3, 4)], [(12,), (12,)], (12,)),
            ([(3, 1), (1, 4)], [(3, 1), (1, 4)], (3, 4)),
            ([(3, 1, 4), (4,)], [(3, 4), (1, 4)], (3, 4)),  # the axis in the middle has size 1 in both
            ([(2, 3, 4), (3, 4), (4,)], [(2, 3, 4), (1, 3, 4), (1, 1, 4)], (2, 3, 4)),
            ([(2, 3, 4), (2, 1, 1), ()], [(2, 12), (2, 1), (1, 1)], (2, 12)),
        ],
        ids=str,
    )
    def test_worked_examples(self, dims, simple, result):
        assert simplify_broadcast_dims(*dims) == (simple, result)

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_the_walk_meets_the_same_elements(self, count):
        @given(dims=operands(count, st.integers(1, 3)))
        def check(dims):
            simple, result = simplify_broadcast_dims(*dims)
            full = broadcast_dims(*dims)
            assert math.prod(result) == math.prod(full)
            assert broadcast_dims(*simple) == result
            for before, after in zip(dims, simple, strict=True):
                assert addresses(after, result) == addresses(before, full)

        check()

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_nothing_is_left_to_simplify(self, count):
        @given(dims=operands(count, st.integers(1, 4)))
        def check(dims):
            simple, result = simplify_broadcast_dims(*dims)
            assert {len(one) for one in simple} == {len(result)}
            assert 1 not in result or result == (1,)
            flags = [tuple(size == 1 for size in axis) for axis in zip(*simple, strict=True)]
            assert all(one != other for one, other in itertools.pairwise(flags))
            assert simplify_broadcast_dims(*simple) == (simple, result)

        check()


def walk_pairs(dims, src_strides, dst_strides):
    """Return the source offset for each destination offset."""
    return sorted(zip(offsets(dims, dst_strides), offsets(dims, src_strides), strict=True))


class TestSimplifyStrided:
    def test_axes_broadcast_alike_merge(self):
        assert simplify_strided((2, 3, 4), (0, 0, 1), (12, 4, 1)) == ((6, 4), (0, 1), (4, 1))
        assert simplify_strided((2, 3, 4), (1, 0, 0), (12, 4, 1)) == ((2, 12), (1, 0), (12, 1))

    def test_contiguous_is_one_axis(self):
        strides = contiguous_strides((2, 1, 3, 4, 1))
        assert simplify_strided((2, 1, 3, 4, 1), strides, strides) == ((24,), (1,), (1,))

    @pytest.mark.parametrize("dims", [(), (1,), (1, 1, 1)])
    def test_one_element_is_one_axis(self, dims):
        assert simplify_strided(dims, (0,) * len(dims), (7,) * len(dims)) == ((1,), (1,), (1,))

    def test_an_axis_of_size_1_does_not_stand_between_its_neighbours(self):
        """Strides 5 and 1 of the last two axes look contiguous, but the first one steps by 100."""
        assert simplify_strided((4, 1, 5), (100, 5, 1), (5, 5, 1)) == ((4, 5), (100, 1), (5, 1))
        assert simplify_strided((4, 1, 5), (5, 77, 1), (5, 99, 1)) == ((20,), (1,), (1,))

    @pytest.mark.parametrize(
        ("dims", "src_strides", "dst_strides", "simple"),
        [
            ((5, 2), (4, 1), (1, 5), ((2, 5), (1, 4), (5, 1))),
            ((5, 2), (2, 1), (1, 10), ((2, 5), (1, 2), (10, 1))),
            ((1, 3, 2, 4), (0, 8, 4, 1), (24, 8, 4, 1), ((24,), (1,), (1,))),
            ((2, 3, 2, 4), (0, 0, 0, 0), (24, 8, 4, 1), ((48,), (0,), (1,))),
            ((2, 3, 2, 4), (0, 8, 4, 1), (1, 16, 8, 2), ((24, 2), (1, 0), (2, 1))),
        ],
    )
    def test_worked_examples(self, dims, src_strides, dst_strides, simple):
        assert simplify_strided(dims, src_strides, dst_strides) == simple

    @pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
    def test_every_order_of_memory(self, order):
        """The walk follows the order of dst; src is read by the permutation itself, not by its inverse."""
        dims = (2, 3, 5, 7)
        permuted = tuple(dims[axis] for axis in order)
        strides = tuple(contiguous_strides(dims)[axis] for axis in order)
        for src, dst in ((strides, contiguous_strides(permuted)), (contiguous_strides(permuted), strides)):
            walk = simplify_strided(permuted, src, dst)
            assert walk_pairs(*walk) == walk_pairs(permuted, src, dst)
            assert list(walk.dst_strides) == sorted(walk.dst_strides, reverse=True)

    @given(data=st.data())
    def test_the_walk_meets_the_same_elements(self, data):
        """Test any order and gaps of the destination, and a source with gaps that is broadcast along some axes."""
        dims = data.draw(st.lists(st.integers(1, 4), max_size=5), "dims")
        src_dims = [data.draw(st.sampled_from([1, size])) for size in dims]
        src = expanded_strides(src_dims, data.draw(strides(src_dims), "src strides"), len(dims))
        dst = data.draw(strides(dims), "dst strides")
        walk = simplify_strided(dims, src, dst)
        assert walk_pairs(*walk) == walk_pairs(dims, src, dst)
        assert 1 not in walk.dims or walk.dims == (1,)
        assert list(walk.dst_strides) == sorted(walk.dst_strides, reverse=True)
        for (_, src0, dst0), (size, src1, dst1) in itertools.pairwise(zip(*walk, strict=True)):
            assert (src0, dst0) != (src1 * size, dst1 * size)


@st.composite
def strides(draw, dims):
    """Return strides of arrays in any order of the axes, with and without gaps."""
    result, reached = [0] * len(dims), 1
    for axis in draw(st.permutations(range(len(dims)))):
        result[axis] = reached + draw(st.sampled_from([0, 0, 0, 1, 3]))
        reached = result[axis] * dims[axis]
    return tuple(result)
