"""Resize beyond ONNX's own cases: types, sizes, and errors."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host

KINDS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
KINDS |= {"float64": TensorProto.DOUBLE, "uint8": TensorProto.UINT8}


def resized(x, sizes=(), scales=(), place=None, **attributes):
    """Return x resized by the definition of Resize of opset 19."""
    inputs = [
        helper.make_tensor_value_info("x", KINDS[x.dtype.name], x.shape),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, (len(scales),)),
        helper.make_tensor_value_info("sizes", TensorProto.INT64, (len(sizes),)),
    ]
    names = ["x", "", "", "sizes"] if len(sizes) else ["x", "", "scales"]
    output = helper.make_tensor_value_info("y", KINDS[x.dtype.name], (None,) * x.ndim)
    graph = helper.make_graph([helper.make_node("Resize", names, ["y"], **attributes)], "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    given = {"x": x, "scales": np.array(scales, np.float32), "sizes": np.array(sizes, np.int64)}
    (y,) = ep.onnx.load(model, place or "cpu")(**given)
    return copy_to_host(y)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2)])
def test_whole_times(device, rng, dtype, axes):
    """With whole scales, each element is repeated as the nearest one, in every type; other axes are unchanged."""
    x = (100 * rng.random((3, 2, 5))).astype(np.dtype(dtype))
    scales, expected = [1.0] * 3, x
    for axis in axes:
        scales[axis], expected = axis + 2.0, expected.repeat(axis + 2, axis)
    for mode in ("asymmetric", "half_pixel"):
        how = {"mode": "nearest", "nearest_mode": "round_prefer_floor" if mode == "half_pixel" else "floor"}
        y = resized(x, scales=scales, place=device.type, coordinate_transformation_mode=mode, **how)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("sizes", [(7, 4), (3, 11), (2, 5), (1, 1)])
def test_lines(device, rng, dtype, sizes):
    x = (100 * rng.random((3, 5))).astype(np.dtype(dtype))
    expected = x.astype(np.float64)
    for axis, size in enumerate(sizes):
        at = np.clip((np.arange(size) + 0.5) * x.shape[axis] / size - 0.5, 0, x.shape[axis] - 1)
        places = np.arange(x.shape[axis])
        expected = np.apply_along_axis(lambda row, at=at, places=places: np.interp(at, places, row), axis, expected)
    y = resized(x, sizes, place=device.type, mode="linear")
    assert y.dtype == x.dtype
    if dtype == "uint8":
        assert (np.abs(y - np.trunc(expected)) <= (np.abs(expected - np.rint(expected)) < 1e-4)).all()
        return
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=max(4 * eps, 1e-13))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_nothing(mode):
    assert resized(np.zeros((0, 4), np.float32), (0, 6), mode=mode).shape == (0, 6)
    assert resized(np.zeros((3, 4), np.float32), (3, 0), mode=mode).shape == (3, 0)


@pytest.mark.parametrize(
    ("shape", "given", "words"),
    [
        ((3, 4), {"sizes": (2,)}, "do not have a number for each of axes"),
        ((3, 4), {"scales": (1.0, np.nan)}, "must be finite and positive"),
        ((3, 4), {"scales": (1.0, 0.0)}, "must be finite and positive"),
        ((3, 4), {"sizes": (3, -1)}, "must be finite and positive"),
        ((3, 0), {"sizes": (3, 2)}, "have no elements"),
    ],
)
def test_sizes_that_there_cannot_be(shape, given, words):
    with pytest.raises(ValueError, match=words):
        resized(np.zeros(shape, np.float32), **given)


def test_ways_that_there_are_not():
    for name in ("mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"):
        with pytest.raises(ep.onnx.UnsupportedError, match=f"{name} is sideways; it must be one of"):
            resized(np.zeros((3, 4), np.float32), (3, 4), **{name: "sideways"})
