"""Operators of ai.onnx.ml on features and labels, by ONNX's text; ZipMap, strings, and contradictory attributes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ep.onnx
from tests.onnx.kept import loaded, written
from tests.onnx.trees import ML, model_of

F, WHOLE, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def ran(model, x, device):
    return [
        one if isinstance(one, np.ndarray | list) else one.copy_to_host()
        for one in ep.onnx.load(model, device.type.tag)(x)
    ]


X = np.float32([[1, -2, 3], [0, 0, 0], [-5, 0.5, 4], [np.inf, 1, 2]])[:3]
CASES = {
    "Scaler of one": ("Scaler", {"offset": [1.0], "scale": [2.0]}, X, (X - 1) * 2),
    "Scaler of each": (
        "Scaler",
        {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 0.5, 1.0]},
        X,
        (X - [1, 2, 3]) * [2, 0.5, 1],
    ),
    "Normalizer MAX": ("Normalizer", {"norm": "MAX"}, X, [[1 / 3, -2 / 3, 1], [0, 0, 0], [-1.25, 0.125, 1]]),
    "Normalizer L1": ("Normalizer", {"norm": "L1"}, X, [[1 / 6, -1 / 3, 0.5], [0, 0, 0], X[2] / 9.5]),
    "Normalizer L2": ("Normalizer", {"norm": "L2"}, X, [X[0] / np.sqrt(14), [0, 0, 0], X[2] / np.sqrt(41.25)]),
    "Binarizer": ("Binarizer", {"threshold": 0.5}, X, [[1, 0, 1], [0, 0, 0], [0, 0, 1]]),
    "Imputer of NaN": (
        "Imputer",
        {"imputed_value_floats": [1.0, 2.0], "replaced_value_float": float("nan")},
        np.float32([[np.nan, 3], [4, np.nan]]),
        [[1, 3], [4, 2]],
    ),
    "Imputer of 0": (
        "Imputer",
        {"imputed_value_floats": [9.0], "replaced_value_float": 0.0},
        X,
        np.where(X == 0, 9, X),
    ),
    "OneHotEncoder": (
        "OneHotEncoder",
        {"cats_int64s": [3, -5, 0]},
        X,
        np.stack([np.trunc(X) == one for one in (3, -5, 0)], -1),
    ),
    "LinearRegressor": (
        "LinearRegressor",
        {"coefficients": [1.0, 2.0, 3.0, 0.0, -1.0, 0.5], "intercepts": [1.0, -1.0], "targets": 2},
        X,
        X @ np.float32([[1, 0], [2, -1], [3, 0.5]]) + [1, -1],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name, device):
    operator, attributes, x, expected = CASES[name]
    for rows in (len(x), 1):
        (found,) = ran(model_of(operator, attributes), x[:rows], device)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.asarray(expected)[:rows], 1e-6, 1e-6)


def test_elements_of_no_category(device):
    """They have rows of zeros only if the model says so: scikit-learn's encoder raises an error for them by default."""
    cats, x = [3, -5, 0], np.int64([[3, 0], [-5, 3]])
    model = model_of("OneHotEncoder", {"cats_int64s": cats, "zeros": 0}, WHOLE)
    for rows in (2, 1, 0):
        (found,) = ran(model, x[:rows], device)
        assert np.array_equal(found, (x[:rows, :, None] == cats).astype(np.float32))
    name = r"the category of X\[0, 1\]" if device.type.tag == "cpu" else r"indices\.flat\[1\]"
    with pytest.raises(IndexError, match=rf"{name} is 3; the axis holds 0 \.\.\. 2"):
        ran(model, np.int64([[3, 7]]), device)


def test_integers_that_are_imputed_and_compared(device):
    x = np.int64([[3, -1], [0, 7]])
    given = {"imputed_value_int64s": [5, 6], "replaced_value_int64": -1}
    (found,) = ran(model_of("Imputer", given, WHOLE, {"y": WHOLE}), x, device)
    assert found.tolist() == [[3, 6], [0, 7]]
    (found,) = ran(model_of("Binarizer", {"threshold": 2.5}, WHOLE, {"y": WHOLE}), x, device)
    assert found.tolist() == [[1, 0], [0, 1]]


def chain(nodes, inputs, outputs, tensors=()):
    """Return a model of nodes (operator, inputs, outputs, attributes). outputs: ONNX's types or ValueInfos, by name."""
    made = [
        helper.make_node(*one[:3], name=f"n{k}", domain=ML if one[0] in OF_ML else "", **(one[3] if one[3:] else {}))
        for k, one in enumerate(nodes)
    ]
    infos = [
        one if not isinstance(one, int) else helper.make_tensor_value_info(name, one, None)
        for name, one in outputs.items()
    ]
    given = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    held = [
        helper.make_tensor(name, TEXT, array.shape, [str(one).encode() for one in array.reshape(-1)])
        if array.dtype.kind in "UO"
        else numpy_helper.from_array(array, name)
        for name, array in tensors
    ]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(ML, 4)]
    graph = helper.make_graph(made, "g", given, infos, held)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


OF_ML = {
    "ArrayFeatureExtractor", "FeatureVectorizer", "LabelEncoder", "LinearClassifier", "Scaler", "ZipMap",
}  # fmt: skip


def maps(name, key):
    """Return what ONNX has for a list of maps to float32."""
    kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(F, None))
    return helper.make_value_info(name, helper.make_sequence_type_proto(kind))


def test_maps_of_scores(device):
    """ZipMap gives a list of dicts, on any device, also beside the scores themselves."""
    for labels, kind, name in (([7, 3], WHOLE, "int64s"), (["a", "b"], TEXT, "strings")):
        nodes = [("Scaler", ["x"], ["s"], {"scale": [2.0]}), ("ZipMap", ["s"], ["m"], {f"classlabels_{name}": labels})]
        model = chain(nodes, [("x", F, ["rows", 2])], {"m": maps("m", kind), "s": F})
        loaded = ep.onnx.load(model, device.type.tag)
        assert loaded.outputs[0].dtype == np.dtype(object)
        for rows in (1, 3, 0, 50):
            x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
            for _ in range(3):
                found, scores = loaded(x)
                assert found == [dict(zip(labels, row, strict=True)) for row in (2 * x).tolist()]
                assert type(scores) is type(ep.onnx.load(model, device.type.tag).run(["s"], {"x": x})[0])
            assert loaded.run(["m"], {"x": x})[0] == found


def test_strings_and_maps_of_a_plan_on_disk(tmp_path):
    """The next process reads what outputs stand for, and needs no graph."""
    nodes = [
        (
            "LinearClassifier",
            ["x"],
            ["y", "p"],
            {"coefficients": [1.0, 0.0, 0.0, 1.0], "classlabels_strings": ["a", "b"]},
        ),
        ("ZipMap", ["p"], ["m"], {"classlabels_strings": ["a", "b"]}),
    ]
    path = written(tmp_path, chain(nodes, [("x", F, ["rows", 2])], {"y": TEXT, "m": maps("m", TEXT)}))
    x = np.float32([[3, 1], [2, 5]])
    first, _ = loaded(path)
    expected = first(x)
    again, is_read = loaded(path)
    assert (again.inputs, again.outputs) == (first.inputs, first.outputs)
    found = again(x)
    assert not is_read()
    assert found[0].tolist() == expected[0].tolist() == ["a", "b"]
    assert found[1] == expected[1] == [{"a": 3.0, "b": 1.0}, {"a": 2.0, "b": 5.0}]


def test_labels_that_are_moved(device):
    """Strings are chosen from a tensor, moved, and encoded."""
    nodes = [
        ("ArgMax", ["x"], ["at"], {"axis": 1, "keepdims": 0}),
        ("ArrayFeatureExtractor", ["names", "at"], ["row"]),
        ("Reshape", ["row", "flat"], ["text"]),
        ("Cast", ["text"], ["y"], {"to": TEXT}),
        ("LabelEncoder", ["text"], ["z"], {"keys_strings": ["c", "a"], "values_int64s": [30, 10], "default_int64": -7}),
        ("LabelEncoder", ["z"], ["w"], {"keys_int64s": [10, 30], "values_strings": ["ten", "thirty"]}),
    ]
    tensors = [("names", np.array(["a", "b", "c"])), ("flat", np.array([-1]))]
    model = chain(nodes, [("x", F, ["rows", 3])], {"y": TEXT, "z": WHOLE, "w": TEXT}, tensors)
    x = np.float32([[0, 1, 0], [2, 1, 0], [0, 1, 7], [3, 3, 3]])
    y, z, w = ran(model, x, device)
    assert y.tolist() == ["b", "a", "c", "a"]
    assert z.tolist() == [-7, 10, 30, 10]
    assert w.tolist() == ["_Unused", "ten", "thirty", "ten"]
    assert y.dtype.kind == w.dtype.kind == "U"


def test_labels_of_numbers(device):
    encode = {"keys_floats": [1.5, float("nan"), 1.5], "values_floats": [10.0, 20.0, 30.0], "default_float": -1.0}
    model = chain([("LabelEncoder", ["x"], ["y"], encode)], [("x", F, ["rows"])], {"y": F})
    (found,) = ran(model, np.float32([1.5, np.nan, 2, -np.inf]), device)
    assert found.tolist() == [10, 20, -1, -1]
    encode = {"keys_int64s": [2, 0, -4], "values_int64s": [5, 6, 7]}
    model = chain([("LabelEncoder", ["x"], ["y"], encode)], [("x", WHOLE, ["rows", 2])], {"y": WHOLE})
    (found,) = ran(model, np.int64([[0, 1], [-4, 2]]), device)
    assert found.tolist() == [[6, -1], [7, 5]]


def test_features_beside_one_another(device):
    nodes = [("FeatureVectorizer", ["x", "n"], ["y"], {"inputdimensions": [2, 1]})]
    model = chain(nodes, [("x", F, ["rows", 2]), ("n", F, ["rows", 3])], {"y": F})
    x, n = np.float32([[1, 2], [3, 4]]), np.float32([[5, 6, 7], [8, 9, 0]])
    found = ep.onnx.load(model, device.type.tag)(x, n)[0]
    assert np.asarray(found if isinstance(found, np.ndarray) else found.copy_to_host()).tolist() == [
        [1, 2, 5],
        [3, 4, 8],
    ]


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_classifiers(device, transform):
    w = np.float32([[1, -1, 0.5], [0, 2, -1], [-1, 0, 1]])
    given = {"coefficients": w.reshape(-1).tolist(), "intercepts": [0.0, 1.0, -1.0], "post_transform": transform}
    scores = X.astype(np.float64) @ w.T + [0, 1, -1]
    for labels, name in (([4, 2, 9], "ints"), (["p", "q", "r"], "strings")):
        model = model_of(
            "LinearClassifier",
            {**given, f"classlabels_{name}": labels},
            outputs={"l": WHOLE if name == "ints" else TEXT, "p": F},
        )
        found, values = ran(model, X, device)
        assert found.tolist() == [labels[k] for k in scores.argmax(1)]
        wide = {
            "NONE": scores,
            "LOGISTIC": 1 / (1 + np.exp(-scores)),
            "SOFTMAX": np.exp(scores) / np.exp(scores).sum(1, keepdims=True),
        }[transform]
        np.testing.assert_allclose(values, wide, 1e-5, 1e-6)


WRONG = {
    "LinearClassifier": ({"coefficients": [1.0] * 4, "classlabels_ints": [0, 1, 2]}, "coefficients has 4 elements"),
    "LinearRegressor": ({"coefficients": [1.0] * 4, "targets": 2, "intercepts": [1.0]}, "intercepts has 1 elements"),
    "Imputer": ({"imputed_value_floats": [1.0], "imputed_value_int64s": [1]}, "both is given"),
    "ZipMap": ({}, "classlabels: neither"),
    "OneHotEncoder": ({}, "cats_int64s: there are no categories"),
    "LabelEncoder": ({"keys_int64s": [1, 2], "values_int64s": [1]}, "values has 1 elements; it must have 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_contradictory_attributes(name):
    given, words = WRONG[name]
    outputs = {"l": WHOLE, "p": F} if name == "LinearClassifier" else {"y": F if name != "LabelEncoder" else WHOLE}
    kind = WHOLE if name == "LabelEncoder" else F
    with pytest.raises(ep.onnx.ModelError) as caught:
        ep.onnx.load(model_of(name, given, kind, outputs, version=3 if name != "LabelEncoder" else 2))
    assert f"node 'the_node' ({name})" in str(caught.value)
    assert words in str(caught.value)


def test_what_does_not_compute_with_strings():
    nodes = [("ArrayFeatureExtractor", ["names", "at"], ["t"]), ("Concat", ["t", "t"], ["y"], {"axis": 0})]
    model = chain(nodes, [("at", WHOLE, ["n"])], {"y": TEXT}, [("names", np.array(["a", "b"]))])
    with pytest.raises(ep.onnx.UnsupportedError, match=r"\(Concat\): it does not compute with strings or maps"):
        ep.onnx.load(model)
    with pytest.raises(ep.onnx.UnsupportedError, match="input 'x'"):
        ep.onnx.load(chain([("Identity", ["x"], ["y"])], [("x", TEXT, ["n"])], {"y": TEXT}))
