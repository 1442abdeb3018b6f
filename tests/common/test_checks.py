"""The checks of Launch arguments: the values that they accept, and errors that name the argument."""

import numpy as np
import pytest

from ep.common.checks import as_dims, as_integer, as_size, as_strides


class Index:
    """An integer whose only method as a number is `__index__`."""

    def __repr__(self):
        return "Index()"

    def __index__(self):
        return 5


@pytest.mark.parametrize("value", [5, np.int8(5), np.uint64(5), np.array(5), Index()], ids=repr)
def test_integers(value):
    for check in (as_integer, as_size):
        result = check(value, "count")
        assert result == 5
        assert type(result) is int


@pytest.mark.parametrize("value", [5.0, np.float64(5), "5", None, (5,), np.array([5, 6])], ids=repr)
def test_what_is_no_integer(value):
    for check in (as_integer, as_size):
        with pytest.raises(TypeError, match=r"^count must be an integer, not "):
            check(value, "count")


def test_sizes():
    assert as_integer(-(2**70), "offset") == -(2**70)
    assert as_size(0, "count") == 0
    assert as_size(2**63 - 1, "count") == 2**63 - 1
    with pytest.raises(ValueError, match=r"^count is -1; it must not be negative$"):
        as_size(-1, "count")
    with pytest.raises(ValueError, match=r"^count is 9223372036854775808; it must be below 2\*\*63$"):
        as_size(np.uint64(2**63), "count")


@pytest.mark.parametrize("dims", [(2, 3), [2, 3], np.array([2, 3]), np.array([2, 3], np.uint8), range(2, 4)], ids=repr)
def test_dims(dims):
    result = as_dims(dims, "src_dims", 2)
    assert result == (2, 3)
    assert {type(size) for size in result} == {int}


def test_no_dims():
    for dims in ((), [], np.array([], int)):
        assert as_dims(dims, "src_dims", 0) == ()


@pytest.mark.parametrize(
    "dims", [6, None, "23", b"23", {2: 3}, {2, 3}, np.int64(6), np.array(6), iter([2])], ids=lambda d: type(d).__name__
)
def test_what_is_no_sequence(dims):
    with pytest.raises(TypeError, match=r"^src_dims must be a sequence of integers, not "):
        as_dims(dims, "src_dims", 8)


def test_dims_of_wrong_sizes():
    with pytest.raises(ValueError, match=r"^src_dims\[1\] is -3; it must not be negative$"):
        as_dims((2, -3), "src_dims", 2)
    with pytest.raises(ValueError, match=r"^src_dims\[0\] is 9223372036854775808; it must be below"):
        as_dims((2**63, 3), "src_dims", 2)
    with pytest.raises(TypeError, match=r"^src_dims\[0\] must be an integer, not 2.5$"):
        as_dims((2.5, 3), "src_dims", 2)
    with pytest.raises(TypeError, match=r"^src_dims\[0\] must be an integer, not ndarray"):
        as_dims(np.ones((2, 2), int), "src_dims", 2)
    with pytest.raises(ValueError, match=r"^src_dims has 3 dims; this primitive was made for at most 2$"):
        as_dims((1, 1, 1), "src_dims", 2)


def test_strides():
    assert as_strides([12, 0, 1], "src_strides", (2, 3, 4)) == (12, 0, 1)
    assert as_strides((), "src_strides", ()) == ()
    for strides in ((4, 1), (12, 4, 1, 1), ()):
        with pytest.raises(ValueError, match=rf"^src_strides has {len(strides)} strides for 3 dims$"):
            as_strides(strides, "src_strides", (2, 3, 4))
    with pytest.raises(ValueError, match=r"^src_strides has 1 strides for 0 dims$"):
        as_strides((1,), "src_strides", ())
    with pytest.raises(ValueError, match=r"^src_strides\[0\] is -1; it must not be negative$"):
        as_strides((-1,), "src_strides", (2,))
    with pytest.raises(TypeError, match=r"^src_strides must be a sequence of integers, not 1$"):
        as_strides(1, "src_strides", (2,))
