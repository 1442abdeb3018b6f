"""Methods of arrays of a device, of lazy arrays and of their printing: those of NumPy's arrays."""

import numpy as np
import pytest

import ep
import ep.ops
from ep import DeviceType
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

X = (np.arange(60, dtype=np.float32).reshape(3, 4, 5) * 7 % 61) / 4
METHODS = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(),
    "transpose by axes": lambda x: x.transpose(1, 2, 0),
    "transpose by a list": lambda x: x.transpose([2, 0, 1]),
    "squeeze": lambda x: x[:, :1].squeeze(),
    "squeeze of an axis": lambda x: x[:, None, :, :1].squeeze(axis=(1, -1)),
    "astype": lambda x: x.astype("int32"),
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(1),
    "sum in a type": lambda x: x.sum(axis=(0, 2), keepdims=True, dtype="float64"),
    "mean": lambda x: x.mean(axis=-1),
    "prod": lambda x: (x / 8).prod(-1),
    "max": lambda x: x.max(axis=0),
    "var": lambda x: x.var(axis=0, keepdims=True),
    "std": lambda x: x.std(1),
    "min": lambda x: x.min(),
    "any": lambda x: (x > 15).any(1),
    "all": lambda x: (x > 1).all(axis=0),
    "reshape": lambda x: x.reshape(5, -1),
    "reshape to a tuple": lambda x: x.reshape((2, 30)),
    "properties": lambda x: x * x.ndim + x.size * x.shape[1] + x.dtype.itemsize + x.nbytes,
}
INDICES = {
    "an integer": np.s_[1],
    "a negative one": np.s_[-1],
    "integers": np.s_[2, 0, -2],
    "a slice": np.s_[1:],
    "steps": np.s_[:, 1::2, ::3],
    "backwards": np.s_[:, ::-1, 3:0:-2],
    "backwards of nothing": np.s_[0:2:-1],
    "dots": np.s_[..., 2],
    "dots between": np.s_[1, ..., 0:2],
    "new axes": np.s_[None, :, 1, None],
    "all": np.s_[...],
    "nothing": np.s_[:, 2:2],
    "empty": (),
    "NumPy's integers": (np.int64(1), np.array(2)),
}


OF_A_DEVICE = {
    "address": "memory",
    "copy_to_host": "a copy",
    "device_index": "memory",
    "__cuda_array_interface__": "memory",
    "__dlpack__": "memory",
    "__dlpack_device__": "memory",
}
"""The attributes that an array of a device has alone, and what a lazy array does not have yet."""
OF_PYTHON = {"__index__", "__setitem__", *dir(object), "__module__", "__slots__", "__dict__", "__weakref__"}
"""What Python or a view of a block needs, of which a lazy array says why it has none: no elements are known yet."""


def test_lazy_arrays_have_the_attributes_of_a_devices_arrays(device):
    found = []
    x = placed(device, X)
    ep.fuse(lambda x: found.append([*dir(x)]) or x)(x)
    lazy = {*found[0]} - OF_PYTHON
    shared = "T mT shape dtype ndim size nbytes astype reshape transpose squeeze sum prod mean max min any all var std"
    assert {*shared.split(), "__len__", "__iter__", "__bool__", "__int__", "__float__", "__array__"} <= lazy
    missing = {name for name in lazy if not hasattr(np.ndarray, name) and not name.startswith("__")}
    assert missing == ({"mT"} - {*dir(np.ndarray)})
    if not isinstance(x, np.ndarray):
        assert {*dir(x)} - OF_PYTHON - lazy == {*OF_A_DEVICE}
        assert not lazy - {*dir(x)}
        for convert in (bool, int, float, complex, np.asarray):
            with pytest.raises(TypeError, match="copy_to_host"):
                convert(x)
            with pytest.raises(TypeError, match="not computed yet"):
                ep.fuse(convert)(x)


@pytest.fixture
def cuda():
    return lambda array: ep.ops.copy_to_device(array, "cuda")


def forms(function):
    """Return a function as it is, and fused."""
    return [function, ep.fuse(function)]


@pytest.mark.parametrize("name", METHODS)
def test_methods(name, device):
    method, x = METHODS[name], placed(device, X)
    for function in forms(method):
        got = host(function(x))
        wanted = np.asarray(method(X))
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, 1e-6)


@pytest.mark.parametrize("name", INDICES)
def test_indices(name, device):
    index, x = INDICES[name], placed(device, X)
    for function in forms(lambda x: x[index]):
        got, wanted = host(function(x)), X[index]
        assert got.shape == np.shape(wanted)
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (3, IndexError, r"the index of axis 0 is 3; it must be -3 \.\.\. 2"),
        ((0, 0, -6), IndexError, r"the index of axis 2 is -6; it must be -5 \.\.\. 4"),
        ((0, 0, 0, 0), IndexError, r"there are indices of 4 axes; the array has shape \(3, 4, 5\)"),
        ((..., 0, ...), IndexError, r"an index has \.\.\. twice"),
        (True, TypeError, "the index of axis 0 must be an integer, a slice, None or ..., not True"),
        (1.5, TypeError, "the index of axis 0 must be an integer.* not 1.5"),
        ([0, 1], TypeError, "an array is an index.*ep.ops.gather, or ep.ops.where"),
        (np.array([0, 1]), TypeError, "an array is an index.*ep.ops.gather, or ep.ops.where"),
        ((0, np.array([True] * 4)), TypeError, "an array is an index.*ep.ops.gather, or ep.ops.where"),
    ],
    ids=str,
)
def test_wrong_indices(index, error, words, device):
    x = placed(device, X)
    for function in forms(lambda x: x[index])[device.type is DeviceType.kCPU :]:
        with pytest.raises(error, match=words):
            function(x)


def test_an_index_reads(device):
    """What an index of an array of a device gives is a new array."""
    x = placed(device, X)
    if device.type is not DeviceType.kCPU:
        for index in (0, slice(None), ...):
            part = x[index]
            part += 1
        assert np.array_equal(host(x), X)
        assert all(np.array_equal(host(one), row) for one, row in zip(x, X, strict=True))
        with pytest.raises(TypeError, match="an array without axes is not iterable"):
            iter(x.sum())
    with ep.lazy() as lazy:
        view = lazy.view(x)
        part = view[...]
        part += 1
    assert np.array_equal(host(x), X)


@pytest.mark.parametrize(
    "array",
    [
        np.float32(1.5) * np.ones(()),
        np.zeros((0, 3), np.int8),
        X,
        np.arange(1001),
        np.arange(20_000).reshape(100, 200),
        np.arange(70_000, dtype=np.float32).reshape(2, 7, 5000),
        np.arange(6).astype("bfloat16"),
        np.array([True, False]),
        np.arange(3) * 1j,
    ],
    ids=lambda one: f"{one.dtype}{one.shape}",
)
def test_printing(array, cuda):
    """The text of an array has NumPy's elements; of a large one the ends alone, and few of them are copied."""
    x = cuda(array)
    shape = "" if array.size else f"shape={array.shape}, "
    elements = np.array2string(array, separator=", ", prefix="CudaArray(")
    assert repr(x) == str(x) == f"CudaArray({elements}, {shape}dtype={array.dtype}, device=cuda:0)"
    with np.printoptions(threshold=5, edgeitems=1, precision=2):
        assert np.array2string(array, separator=", ", prefix="CudaArray(") in repr(x)
