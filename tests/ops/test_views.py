"""Views that are not C-contiguous, as operands and as `out`: the device's own primitives copy large views."""

import sys

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.common.arrays import host, host_views
from ep.common.arrays.on_device import arrays_on
from ep.common.primitive.strides import extent

as_buffer = arrays_on(DeviceType.kCPU).as_buffer
windows = np.lib.stride_tricks.sliding_window_view


def numbers(*dims, dtype=np.float32):
    """Return numbers that are all different as far as the type allows."""
    return (np.arange(np.prod(dims)) % 30_011).astype(dtype).reshape(dims)


def unaligned(*dims):
    memory = np.zeros(4 * int(np.prod(dims)) + 1, np.uint8)[1:].view(np.float32)
    memory[...] = numbers(*dims).ravel()
    return memory.reshape(dims)


def records(*dims):
    made = np.zeros(dims, [("a", np.int32), ("b", np.float32), ("c", np.int32)])
    made["b"] = numbers(*dims)
    return made


def read_only(array):
    array.flags.writeable = False
    return array


MOVED = {
    "transposed": lambda: numbers(301, 203).T,
    "permuted": lambda: numbers(11, 13, 17, 19).transpose(2, 0, 3, 1),
    "short rows": lambda: numbers(2000, 50)[:, 3:30],
    "every other": lambda: numbers(301, 400)[::2, ::2],
    "broadcast": lambda: np.broadcast_to(numbers(301, 1, 5), (301, 200, 5)),
    "broadcast by NumPy": lambda: np.broadcast_arrays(numbers(301, 1, 5), numbers(1, 200, 1))[0],
    "overlapping windows": lambda: windows(numbers(5000), 17),
    "read-only": lambda: read_only(numbers(301, 203)).T,
    "of 8 axes": lambda: numbers(3, 4, 3, 4, 3, 4, 6, 80)[::2, ::2, ::2, ::2, ::2, :, :, ::3],
    "of 10 axes that are 2": lambda: numbers(420, 48).T[(None,) * 8],
    "fields that are whole elements apart": lambda: records(300, 100)["b"],
    "of a subclass": lambda: np.asfortranarray(numbers(301, 203)).view(np.matrix),
    "of bytes": lambda: numbers(301, 303, dtype=np.int8).T,
    "of bool": lambda: (numbers(301, 303) % 2 == 0).T,
    "of bfloat16": lambda: numbers(301, 303, dtype=ml_dtypes.bfloat16).T,
    "of complex128": lambda: numbers(301, 103, dtype=np.complex128).T,
}

COPIED_BY_NUMPY = {
    "long rows": lambda: numbers(200, 500)[:, 3:300],
    "broadcast along rows": lambda: np.broadcast_to(numbers(301, 1), (301, 200)),
    "every other of 8 bytes": lambda: numbers(301, 400, dtype=np.float64)[::2, ::2],
    "few of 4 bytes": lambda: numbers(50, 60)[:, ::2],
    "backwards": lambda: numbers(301, 203)[::-1],
    "of the other byte order": lambda: numbers(301, 203).astype(np.dtype(np.float32).newbyteorder()).T,
    "unaligned": lambda: unaligned(301, 203).T,
    "fields that are parts of elements apart": lambda: np.ones((300, 100), [("a", "i2"), ("b", "f4")])["b"],
    "of 9 axes": lambda: numbers(*(4,) * 9, dtype=np.int32)[(slice(3),) * 9],
    "small": lambda: numbers(30, 20).T,
    "empty": lambda: numbers(0, 20_000).T,
    "without axes": lambda: numbers(1)[0],
}


@pytest.fixture
def launched(monkeypatch):
    """The list of the shapes that primitives copied; here they copy smaller views than in normal use."""
    monkeypatch.setattr(host_views, "_LEAST_ELEMENTS", 1 << 10)
    monkeypatch.setattr(host_views, "_LEAST_PIECES", 1 << 9)
    shapes, copy = [], host_views.copy_strided

    def spy(stream, shape, *operands):
        done = copy(stream, shape, *operands)
        shapes.extend([shape] * done)
        return done

    monkeypatch.setattr(host_views, "copy_strided", spy)
    return shapes


@pytest.mark.parametrize("what", [*MOVED, *COPIED_BY_NUMPY])
def test_operands(what, launched):
    view = (MOVED | COPIED_BY_NUMPY)[what]()
    buffer = as_buffer(view, "x")
    assert (type(buffer), buffer.flags.c_contiguous, buffer.dtype) == (np.ndarray, True, view.dtype.newbyteorder("="))
    assert buffer.shape == view.shape
    assert buffer.tobytes() == np.asarray(view, buffer.dtype, order="C").tobytes()
    assert len(launched) == (what in MOVED)
    assert ep.ops.identity(view).tobytes() == buffer.tobytes()


OUT = {
    "transposed": lambda: np.zeros((203, 301), np.float32).T,
    "permuted": lambda: np.zeros((11, 13, 17, 19), np.float32).transpose(2, 0, 3, 1),
    "short rows": lambda: np.zeros((2000, 50), np.float32)[:, 3:30],
    "every other": lambda: np.zeros((301, 400), np.float32)[::2, ::2],
    "a subclass": lambda: np.asfortranarray(np.zeros((301, 203), np.float32)).view(np.matrix),
    "fields that are whole elements apart": lambda: np.zeros((300, 100), [("a", "i4"), ("b", "f4")])["b"],
}

OUT_BY_NUMPY = {
    "long rows": lambda: np.zeros((200, 500), np.float32)[:, 3:300],
    "backwards": lambda: np.zeros((301, 203), np.float32)[::-1],
    "unaligned": lambda: np.zeros(4 * 301 * 203 + 1, np.uint8)[1:].view(np.float32).reshape(203, 301).T,
    "fields that are parts of elements apart": lambda: np.zeros((300, 100), [("a", "i2"), ("b", "f4")])["b"],
    "small": lambda: np.zeros((30, 20), np.float32).T,
}


@pytest.mark.parametrize("what", [*OUT, *OUT_BY_NUMPY])
def test_out(what, launched):
    out = (OUT | OUT_BY_NUMPY)[what]()
    x = numbers(*out.shape)
    assert ep.ops.negative(x, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), -x)
    assert len(launched) == (what in OUT)


def test_what_lies_between_the_elements_of_out(launched):
    memory = np.full((301, 400), 7, np.float32)
    ep.ops.negative(numbers(151, 199), out=memory[::2, 1:399:2])
    assert launched
    memory[::2, 1:399:2] = 7
    assert (memory == 7).all()


def test_views_that_reach_far_keep_their_memory(launched):
    """The primitive copies a view of the view, and that view may be the only owner of the memory."""
    buffer = as_buffer(numbers(301, 203).T, "x")
    assert buffer.base is None
    assert sys.getrefcount(buffer) <= 3
    assert launched == [(203, 301)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("count", [1, 2, 31, 33, 65, 200])
def test_rows_of_every_few_elements(dtype, step, count, launched, monkeypatch):
    monkeypatch.setattr(host, "gains", lambda view: True)
    memory = numbers(5, (count - 1) * step + 1, dtype=dtype)
    view = memory[:, ::step]  # ends at the end of the memory
    assert as_buffer(view, "x").tobytes() == view.tobytes()
    assert len(launched) == (count > 1)


def test_what_a_view_reaches():
    assert extent((203, 301), (1, 203)) == 203 * 301
