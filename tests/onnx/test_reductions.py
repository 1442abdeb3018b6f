"""Reductions of integers and of no elements, and values of attributes that nothing serves."""

import numpy as np
import pytest
from onnx import helper

import ep.onnx

REDUCTIONS = {
    "ReduceL1": lambda x: np.abs(x).sum(1),
    "ReduceL2": lambda x: np.sqrt(np.square(x).sum(1)),
    "ReduceMax": lambda x: x.max(1, initial=np.iinfo(x.dtype).min),
    "ReduceProd": lambda x: x.prod(1),
    "ReduceSum": lambda x: x.sum(1),
    "ReduceSumSquare": lambda x: np.square(x).sum(1),
}


def run(name, inputs, opset, rank=1, **attributes):
    given = {f"i{k}": one for k, one in enumerate(inputs)}
    types = {key: helper.np_dtype_to_tensor_dtype(one.dtype) for key, one in given.items()}
    infos = [helper.make_tensor_value_info(key, types[key], one.shape) for key, one in given.items()]
    result = helper.make_tensor_value_info("y", types["i0"], [f"size {k}" for k in range(rank)])
    graph = helper.make_graph([helper.make_node(name, [*given], ["y"], **attributes)], "node", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    (y,) = ep.onnx.load(model).run(None, given)
    return y


@pytest.mark.parametrize("shape", [(3, 5), (3, 0), (0, 3)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_integers_stay_integers(rng, name, shape):
    """Results have the type of x, and axes are an input or an attribute."""
    x = rng.integers(-9, 9, shape).astype(np.int32)
    expected = REDUCTIONS[name](x).astype(np.int32)
    np.testing.assert_array_equal(run(name, [x, np.array([-1])], 18, keepdims=0), expected, strict=True)
    np.testing.assert_array_equal(run(name, [x], 11, rank=2, axes=[1], keepdims=1), expected[:, None], strict=True)


def test_the_logarithm_of_no_sum():
    """The sum of no powers is 0."""
    for shape, expected in ((2, 0), [-np.inf, -np.inf]), ((0, 2), []):
        found = run("ReduceLogSumExp", [np.zeros(shape, np.float32), np.array([1])], 18, keepdims=0)
        np.testing.assert_array_equal(found, np.array(expected, np.float32), strict=True)


@pytest.mark.parametrize(
    ("name", "inputs", "attribute", "value"),
    [
        ("Pad", [(3,), np.array([1, 1])], "mode", "sideways"),
        ("Conv", [(1, 1, 5), (1, 1, 3)], "auto_pad", "sideways"),
        ("BatchNormalization", [(4, 2, 3), (2,), (2,), (2,), (2,)], "training_mode", 1),
    ],
)
def test_attributes_that_nothing_serves(name, inputs, attribute, value):
    """They are named when a model is loaded."""
    arrays = [np.zeros(one, np.float32) if isinstance(one, tuple) else one for one in inputs]
    with pytest.raises(ep.onnx.UnsupportedError, match=f"{attribute} is {value}; it must be one of"):
        run(name, arrays, 14, arrays[0].ndim, **{attribute: value})
