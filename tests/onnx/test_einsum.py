"""Einsum, compared with NumPy's."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host

CASES = [
    ("ij,jk->ik", [(3, 5), (5, 7)]),
    ("bij,bjk->bik", [(2, 3, 5), (2, 5, 4)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 5, 7), (2, 3, 4, 7)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 5), (4, 5, 3)]),
    ("...i,...i", [(3, 5), (5,)]),
    ("i,j->ij", [(3,), (5,)]),
    ("i,i", [(7,), (7,)]),
    ("i,i->i", [(7,), (7,)]),
    ("ii", [(5, 5)]),
    ("iij->ji", [(3, 3, 4)]),
    ("ij->", [(3, 5)]),
    ("ij->ji", [(3, 5)]),
    ("ij", [(3, 5)]),
    ("ba", [(3, 5)]),
    (" i j , j -> i ", [(3, 5), (5,)]),
    ("ij,jk,kl->il", [(3, 5), (5, 2), (2, 4)]),
    ("ij,ij,ij->j", [(3, 5), (3, 5), (3, 5)]),
    ("i,->i", [(3,), ()]),
    ("...->...", [(2, 3)]),
    ("a...,a...->...", [(3, 2, 5), (3, 5)]),
    ("ij,jk->ik", [(0, 5), (5, 3)]),
    ("ij,jk->ik", [(3, 0), (0, 2)]),
    ("ij,j->i", [(3, 5), (1,)]),
]


def model_of(equation, shapes, axes=1, dtype=TensorProto.FLOAT):
    names = "abc"[: len(shapes)]
    infos = [helper.make_tensor_value_info(name, dtype, shape) for name, shape in zip(names, shapes, strict=True)]
    node = helper.make_node("Einsum", list(names), ["y"], name="sums", equation=equation)
    graph = helper.make_graph(
        [node], "g", infos, [helper.make_tensor_value_info("y", dtype, [f"n{k}" for k in range(axes)])]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize(("equation", "shapes"), CASES, ids=lambda one: str(one).replace(" ", ""))
def test_equations(device, rng, equation, shapes):
    operands = [rng.standard_normal(shape, np.float32) for shape in shapes]
    wide = [one.astype(np.float64) for one in operands]
    if equation == "ij,j->i":  # NumPy repeats an axis of one element too, in its optimised form alone
        wide[1] = np.repeat(wide[1], 5)
    expected = np.einsum(equation, *wide)
    model = ep.onnx.load(model_of(equation, shapes, expected.ndim), device.type)
    (y,) = model(**dict(zip("abc", operands, strict=False)))
    y = copy_to_host(y)
    assert (y.shape, y.dtype) == (expected.shape, np.float32)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,jk->k", "ij,ji->ij"])
def test_integers(device, equation):
    x = np.arange(15, dtype=np.int64).reshape(3, 5)
    y = (x.reshape(5, 3) - 2**40) // 3
    expected = np.einsum(equation, x, y)
    model = ep.onnx.load(model_of(equation, [x.shape, y.shape], expected.ndim, TensorProto.INT64), device.type)
    np.testing.assert_array_equal(copy_to_host(model(a=x, b=y)[0]), expected)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(3, 5), (4, 7)], "axes j have 5 and 4 elements"),
        ("ij->i", [(3, 5, 2)], "'ij' for an operand of 3 axes"),
        ("ii", [(3, 4)], "3 and 4 elements"),
        ("ij->ik", [(3, 4)], "axes are not those of operands"),
        ("ij->ii", [(3, 4)], "axes are not those of operands"),
        ("ij,jk->ik", [(3, 4)], "2 operands; the node has 1"),
        ("i1->i", [(3, 4)], "'i1->i'"),
        ("i.j->i", [(3, 4)], "'i.j->i'"),
    ],
)
def test_equations_that_are_refused(equation, shapes, message):
    model = ep.onnx.load(model_of(equation, shapes))
    arrays = {name: np.ones(shape, np.float32) for name, shape in zip("abc", shapes, strict=False)}
    with pytest.raises(ValueError, match=message) as caught:
        model.run(None, arrays)
    assert "node 'sums' (Einsum)" in caught.value.__notes__[0]
