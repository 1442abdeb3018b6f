"""gather: TensorFlow's shapes, and the handling of indices out of range."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ep.ops
from ep import DeviceType
from tests.ops import references

NO_INDICES = np.zeros(0, np.int64)
INDEX_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.fixture
def params(rng):
    return rng.standard_normal((3, 5, 4)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3, None])
def test_axis(gather, params, axis):
    indices = np.array([[2, 0], [1, 2]])
    assert np.array_equal(gather(params, indices, axis), np.take(params, indices, 0 if axis is None else axis))


@pytest.mark.parametrize(
    ("axis", "batch_dims"), [(1, 1), (2, 1), (None, 1), (-1, 1), (2, 2), (None, 2), (-1, -1), (2, -2)]
)
def test_batch_dims(gather, params, axis, batch_dims):
    indices = np.array([[3, 0, 2, 1, 1], [1, 1, 0, 2, 3], [0, 0, 3, 3, 2]])
    batch = batch_dims % 2 if batch_dims < 0 else batch_dims
    along = batch if axis is None else axis % 3
    expected = references.gather(params, indices, along, batch)
    assert np.array_equal(gather(params, indices, axis, batch_dims), expected)


def test_axis_left_out_is_batch_dims(gather, params):
    indices = np.array([[4], [1], [0]])
    assert np.array_equal(gather(params, indices, batch_dims=1), gather(params, indices, 1, 1))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_shapes(gather, data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    batch_dims = data.draw(st.integers(0, axis))
    rest = data.draw(st.lists(st.integers(0, 3), max_size=3))
    if shape[axis] == 0:
        rest = [*rest, 0]
    shape_of_indices = (*shape[:batch_dims], *rest)
    values = np.random.default_rng(data.draw(st.integers(0, 9))).integers(0, max(shape[axis], 1), shape_of_indices)
    params = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    result = gather(params, values, axis - len(shape), batch_dims)
    expected = references.gather(params, values, axis, batch_dims)
    assert result.shape == expected.shape
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_index_types(gather, params, dtype):
    indices = np.array([4, 0, 3], dtype)
    assert np.array_equal(gather(params, indices, 1), np.take(params, [4, 0, 3], 1))


@pytest.mark.parametrize("dtype", [bool, np.float32, np.complex64])
def test_index_types_that_are_none(gather, params, dtype):
    with pytest.raises(TypeError, match="indices has dtype"):
        gather(params, np.zeros(2, dtype))


def test_lists_and_numbers():
    assert ep.ops.gather([[1, 2], [3, 4]], [1, 1, 0]).tolist() == [[3, 4], [3, 4], [1, 2]]
    result = ep.ops.gather([5.0, 6.0], 1)
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.tolist()) == ((), 6.0)


@pytest.mark.parametrize("indices", [[], (), [[], []]])
def test_empty_lists(params, indices):
    assert ep.ops.gather(params, indices).shape == (*np.shape(indices), 5, 4)
    with pytest.raises(TypeError, match="float64"):
        ep.ops.gather(params, np.array(indices))


def at(device, *position, shape):
    """Return an error's name of a position: indices by axis on the CPU, a flat index on CUDA."""
    named = list(position) if device.type is DeviceType.kCPU else f".flat[{np.ravel_multi_index(position, shape)}]"
    return re.escape(f"indices{named or ''}")


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("wrong", [5, -1, 127])
def test_raise(device, on_device, params, dtype, wrong):
    if dtype[0] == "u":
        wrong %= 2 ** (8 * np.dtype(dtype).itemsize)
    out = on_device(np.full((3, 3, 4), 7, np.float32))
    indices = on_device(np.array([0, wrong, 4], dtype))
    with pytest.raises(IndexError, match=rf"^{at(device, 1, shape=3)} is {wrong}; the axis holds 0 \.\.\. 4$"):
        ep.ops.copy_to_host(ep.ops.gather(on_device(params), indices, 1, out=out))
    result = ep.ops.copy_to_host(out)  # the error is raised only once
    if device.type is DeviceType.kCPU:
        assert (result == 7).all()
    else:
        assert np.array_equal(result[:, [0, 2]], params[:, [0, 4]])
        assert not result[:, 1].any()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("count", [0, 1, 7, 4099])
def test_wrong_indices_between_right_ones(on_device, rng, dtype, count):
    """Calls like earlier ones are checked as these are."""
    table, last = rng.standard_normal((13, 5)).astype(np.float32), np.iinfo(dtype).max
    on = on_device(table)
    for wrong in (None, None, 13, None, last, -1, None, np.iinfo(dtype).min):
        indices = rng.integers(0, 13, count).astype(dtype)
        if wrong is None or wrong == 0 or (wrong < 0 and dtype == "uint8") or count == 0:
            np.testing.assert_array_equal(ep.ops.copy_to_host(ep.ops.gather(on, on_device(indices))), table[indices])
            continue
        indices[rng.integers(count)] = wrong
        with pytest.raises(IndexError, match=f" is {wrong}; the axis holds"):
            ep.ops.copy_to_host(ep.ops.gather(on, on_device(indices)))


@pytest.mark.parametrize("wrong", [[0, 1, 5], [0, -1, 9], [7, 7, 7]])
def test_raise_names_an_index_that_is_wrong(gather, params, device, wrong):
    with pytest.raises(IndexError) as caught:
        gather(params, wrong, 1)
    position, index = map(int, re.fullmatch(r"indices\D*(\d+)\] is (-?\d+); the axis .*", str(caught.value)).groups())
    assert wrong[position] == index
    assert not 0 <= index < 5
    if device.type is DeviceType.kCPU:
        assert all(0 <= other < 5 for other in wrong[:position])


def test_raise_names_the_position_in_all_axes(gather, params, device):
    with pytest.raises(IndexError, match=rf"{at(device, 1, 0, shape=(2, 2))} is -3"):
        gather(params, [[0, 1], [-3, 2]])
    with pytest.raises(IndexError, match=rf"{at(device, 2, 1, shape=(3, 2))} is 4"):
        gather(params, [[0, 1], [2, 3], [3, 4]], axis=2, batch_dims=1)
    with pytest.raises(IndexError, match=rf"{at(device, shape=())} is 3;"):
        gather(params, 3)


@pytest.mark.parametrize("mode", ["raise", "wrap_negative", "clip"])
def test_no_rows(gather, mode):
    empty = np.zeros((2, 0, 3), np.float32)
    assert gather(empty, NO_INDICES, 1, mode=mode).shape == (2, 0, 3)
    with pytest.raises(IndexError, match="the axis holds nothing"):
        gather(empty, [0], 1, mode=mode)


def test_no_rows_as_zeros(gather):
    assert gather(np.zeros((2, 0, 3)), [0, -1], 1, mode="zero").tolist() == np.zeros((2, 2, 3)).tolist()


def test_wide_axis_with_narrow_indices(gather, device):
    params = np.arange(300, dtype=np.int32)
    assert gather(params, np.array([127, 0], np.int8)).tolist() == [127, 0]
    assert gather(params, np.array([-1, -128, 5], np.int8), mode="wrap_negative").tolist() == [299, 172, 5]
    assert gather(params, np.array([-1, 127], np.int8), mode="clip").tolist() == [0, 127]
    with pytest.raises(IndexError, match=rf"{at(device, 1, shape=2)} is -1"):
        gather(params, np.array([5, -1], np.int8))


def test_wrap_negative(gather, params, device):
    indices = np.array([[-5, -1], [4, 0]], np.int32)
    assert np.array_equal(gather(params, indices, 1, mode="wrap_negative"), np.take(params, indices, 1))
    for wrong in (-6, 5):
        with pytest.raises(IndexError, match=rf"{at(device, 1, shape=2)} is {wrong}; the axis holds -5 \.\.\. 4"):
            gather(params, [0, wrong], 1, mode="wrap_negative")


def test_indices_are_left_alone(on_device, params):
    for mode in ("wrap_negative", "clip"):
        indices = on_device(np.array([-1, 0, -3]))
        ep.ops.gather(on_device(params), indices, mode=mode)
        assert ep.ops.copy_to_host(indices).tolist() == [-1, 0, -3]


def test_zero(gather, params):
    result = gather(params, [-1, 4, 5, 0], 1, mode="zero")
    assert (result[:, [0, 2]] == 0).all()
    assert np.array_equal(result[:, [1, 3]], params[:, [4, 0]])


def test_zero_past_int64(gather, params):
    result = gather(params, np.array([2**64 - 1, 1, 2**63], np.uint64), mode="zero")
    assert np.array_equal(result[1], params[1])
    assert not result[[0, 2]].any()


@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_clip(gather, params, dtype):
    indices = np.array([9, 2, 0] if dtype[0] == "u" else [9, -7, 2], dtype)
    assert np.array_equal(gather(params, indices, 1, mode="clip"), np.take(params, indices, 1, mode="clip"))


def test_unknown_mode(gather, params):
    with pytest.raises(ValueError, match="mode is 'wrap'; it must be one of raise, wrap_negative, zero, clip"):
        gather(params, [0], mode="wrap")


@pytest.mark.parametrize(
    ("axis", "batch_dims", "shape", "message"),
    [
        (3, 0, (2,), "axis is 3; it must be -3 ... 2"),
        (-4, 0, (2,), "axis is -4"),
        (0, 1, (3,), "0 <= batch_dims <= axis < 3"),
        (2, 2, (3,), "batch_dims is 2; it must be -1 ... 1"),
        (2, -2, (3,), "batch_dims is -2"),
        (1, 1, (2, 2), "differ in the first 1 axes"),
        (None, 3, (3, 5, 4), "batch_dims is 3 and axis is 3"),
    ],
)
def test_axes_that_do_not_fit(gather, params, axis, batch_dims, shape, message):
    with pytest.raises(ValueError, match=message.replace("...", r"\.\.\.")):
        gather(params, np.zeros(shape, int), axis, batch_dims)


def test_axes_that_are_no_integers(gather, params):
    for arguments in ({"axis": 1.0}, {"batch_dims": "1"}):
        with pytest.raises(TypeError, match=rf"{next(iter(arguments))} must be an integer"):
            gather(params, [0], **arguments)


def test_params_without_axes(gather):
    with pytest.raises(ValueError, match=r"params of shape \(\)"):
        gather(np.float32(1), [0])


def test_overlap(params):
    with pytest.raises(ValueError, match="out is the memory of params"):
        ep.ops.gather(params, [0, 1, 2], out=params)


@pytest.mark.parametrize("mode", ["raise", "wrap_negative", "zero", "clip"])
@pytest.mark.parametrize("index", [3, np.int8(3), np.array(3), np.array(3, np.uint64)], ids=repr)
def test_an_index_without_dims(mode, index):
    result = ep.ops.gather(np.arange(5.0), index, mode=mode)
    assert (result.shape, result.tolist()) == ((), 3.0)
