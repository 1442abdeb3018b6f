"""Inputs and outputs of models: what inputs may be, what is said about others, and what a file may leave out."""

import copy
import pickle

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper

import ep.onnx
from ep.ops import copy_to_device, copy_to_host
from tests.onnx.test_models import model_of

F = TensorProto.FLOAT
X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Tensor:
    """A tensor of another library, whose dtype NumPy does not know."""

    dtype = "another.float32"

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Gradient(Tensor):
    """A tensor that its library does not export."""

    def __dlpack__(self, **options):
        raise BufferError("tensors that require gradient are not exported")


class Series:
    """What NumPy makes an array of."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.fixture
def doubled(device):
    return ep.onnx.load(model_of([("Add", ["x", "x"], ["y"])], [("x", ("n", 3))], [("y", ("n", 3))]), device.type)


FORMS = {
    "array": np.array,
    "read-only": read_only,
    "by columns": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(">f4"),
    "DLPack": Tensor,
    "DLPack of columns": lambda x: Tensor(np.asfortranarray(x)),
    "__array__": Series,
    "list of rows": list,
    "nested tuples": lambda x: tuple(map(tuple, x)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_inputs(device, doubled, form):
    for k in range(4):
        x = X + np.float32(k)
        np.testing.assert_array_equal(copy_to_host(doubled(x=FORMS[form](x))[0]), 2 * x)


def test_arrays_of_the_device(device, doubled):
    np.testing.assert_array_equal(copy_to_host(doubled(x=copy_to_device(X, device.type))[0]), 2 * X)


def test_arrays_of_another_device_are_not_copied_back(device):
    if device.type.tag == "cpu":
        pytest.skip("the array is of the device of the model")
    model = ep.onnx.load(model_of([("Neg", ["x"], ["y"])], [("x", ("n", 3))], [("y", ("n", 3))]))
    with pytest.raises(TypeError, match=r"input x \(CudaArray\) is on .*; the model is on the host"):
        model(x=copy_to_device(X, device.type))


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (X.astype(np.float64), TypeError, "input x has dtype float64; it must be float32"),
        (X.astype(">f8"), TypeError, "input x has dtype >f8; it must be float32"),
        (X.astype(object), TypeError, "input x has dtype object; it must be float32"),
        (Tensor(X.astype(np.int32)), TypeError, "input x has dtype int32; it must be float32"),
        (
            X.tolist(),
            TypeError,
            r"input x is a list, of dtype float64 as an array; it must be float32: give numpy\.asarray\(x, 'float32'\)",
        ),
        ([[1.0], [2.0, 3.0]], ValueError, r"input x is \[\[1.0\], \[2.0, 3.0\]\]; all its parts must have one shape"),
        (None, TypeError, "input x has dtype object; it must be one of"),
        (Gradient(X), TypeError, r"input x \(Gradient\) cannot be read through DLPack: tensors that require gradient"),
        (np.ma.masked_array(X, X > 2), TypeError, "input x has a mask"),
        (1.0, ValueError, r"input x has shape \(\); it must have 2 axes, \('n', 3\)"),
        (X[0], ValueError, r"input x has shape \(3,\); it must have 2 axes, \('n', 3\)"),
        (X.T, ValueError, r"input x has shape \(3, 2\); it must be \('n', 3\)"),
    ],
)
def test_values_that_do_not_fit(doubled, value, error, words):
    for _ in range(2):
        with pytest.raises(error, match=words):
            doubled(x=value)


@pytest.mark.parametrize("value", [3, 3.0, True, np.float32(3), np.array(3, np.float32), Series(np.float32(3))])
def test_numbers(device, value):
    model = ep.onnx.load(model_of([("Add", ["x", "x"], ["y"])], [("x", ())], [("y", ())]), device.type)
    (y,) = map(copy_to_host, model(x=value))
    assert (y.dtype, y.shape, y.item()) == (np.float32, (), 2 * float(copy_to_host(value)))


def test_numbers_that_a_type_does_not_hold():
    model = ep.onnx.load(model_of([("Neg", ["x"], ["y"])], [("x", ())], [("y", ())]))
    for value in (1e40, 2j):
        with pytest.raises((TypeError, ValueError), match="input x is "):
            model(x=value)


NAMES = ["self", "outputs", "inputs", "args", "kwargs", "progress", "class", "two words", "x.y:0"]


def test_any_name_of_an_input():
    model = ep.onnx.load(model_of([("Sum", NAMES, ["y"])], [(name, ("n",)) for name in NAMES], [("y", ("n",))]))
    given = {name: np.full(2, k, np.float32) for k, name in enumerate(NAMES)}
    for (y,) in (model(**given), model.run(None, given)):
        assert y.tolist() == [36, 36]
    assert "kernel" in model.explain(**dict.fromkeys(NAMES, (2,)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["tokens", "maks"], r"inputs: the model has no maks; it has tokens, mask; did you mean 'mask'\?"),
        (["token"], r"inputs: the model has no token; it has tokens, mask; did you mean 'tokens'\?"),
        (["tokens", "mask", "other"], "inputs: the model has no other; it has tokens, mask$"),
        (["mask"], "inputs: tokens is missing"),
    ],
)
def test_names_that_the_model_does_not_have(given, words):
    pair = [("tokens", (2,)), ("mask", (2,))]
    model = ep.onnx.load(model_of([("Add", ["tokens", "mask"], ["y"])], pair, [("y", (2,))]))
    with pytest.raises(ValueError, match=words):
        model(**{name: np.zeros(2, np.float32) for name in given})
    with pytest.raises(ValueError, match=r"outputs: the model has no Y; it has y"):
        model.run(["Y"], {})
    with pytest.raises(ValueError, match="inputs: the model has no tok"):
        model.explain(tok=(2,))


@pytest.mark.parametrize("given", [[X], X, None, "x", ("x",)], ids=lambda given: type(given).__name__)
def test_inputs_that_are_not_given_by_name(doubled, given):
    words = rf"inputs is of type {type(given).__name__}; it must be a mapping of names to arrays; the model takes x"
    for _ in range(2):
        with pytest.raises(TypeError, match=words):
            doubled.run(None, given)


@pytest.mark.parametrize("names", ["y", "", b"y", 3, ["y", 3], [["y"]], X])
def test_outputs_that_are_not_names(doubled, names):
    for _ in range(2):
        with pytest.raises(TypeError, match=r"(?s)outputs is .*; it must be a sequence of names, or None .*has y(;|$)"):
            doubled.run(names, {"x": X})


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("logits", TypeError, r"has logits, hidden; did you mean \['logits'\]\?$"),
        ("Logit", TypeError, r"has logits, hidden; did you mean 'logits'\?$"),
        (["logit", "hidden"], ValueError, r"outputs: the model has no logit; it has logits, hidden; did you mean 'log"),
        ({"hiden"}, ValueError, r"the model has no hiden; it has logits, hidden; did you mean 'hidden'\?$"),
    ],
)
def test_names_of_outputs_that_the_model_does_not_have(given, error, words):
    nodes = [("Neg", ["x"], ["hidden"]), ("Exp", ["hidden"], ["logits"])]
    model = ep.onnx.load(model_of(nodes, [("x", (2, 3))], [("logits", (2, 3)), ("hidden", (2, 3))]))
    np.testing.assert_array_equal(model.run(["hidden"], {"x": X})[0], -X)
    with pytest.raises(error, match=words):
        model.run(given, {"x": X})


@pytest.fixture
def difference(device):
    """A model of two inputs, whose order counts."""
    pair = [("tokens", ("n", 3)), ("mask", ("n", None))]
    return ep.onnx.load(model_of([("Sub", ["tokens", "mask"], ["y"])], pair, [("y", None)]), device.type)


def test_inputs_by_position(difference):
    x, y = X, np.full((2, 3), 5, np.float32)
    for _ in range(3):
        for (found,) in (difference(x, y), difference(x, mask=y), difference(tokens=x, mask=y)):
            np.testing.assert_array_equal(copy_to_host(found), x - y)
    assert repr(difference.explain(x, mask=(2, 3))) == difference.explain((2, 3), (2, 3))


@pytest.mark.parametrize(
    ("arrays", "named", "error", "words"),
    [
        ((X, X, X), {}, TypeError, "inputs: 3 are given by position; the model takes 2: tokens, mask"),
        ((X,), {"tokens": X}, TypeError, "input tokens is given twice, by position and by name"),
        ((X,), {}, ValueError, "inputs: mask is missing; the model takes tokens, mask"),
        ((), {}, ValueError, "inputs: tokens, mask are missing; the model takes tokens, mask"),
        ((X,), {"maks": X}, ValueError, r"the model has no maks; it has tokens, mask; did you mean 'mask'\?"),
        (({"tokens": X},), {}, TypeError, r"input tokens is a dict; give inputs by name as model\(\*\*inputs\)"),
        ((X.astype(int), X), {}, TypeError, "input tokens has dtype int64; it must be float32"),
        ((X, X[0]), {}, ValueError, r"input mask has shape \(3,\); it must have 2 axes"),
    ],
)
def test_inputs_by_position_that_do_not_fit(difference, arrays, named, error, words):
    with pytest.raises(error, match=words):
        difference(*arrays, **named)


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        (3, TypeError, "tokens is 3; it must be a shape, or an array"),
        ((2, 1.5), TypeError, r"tokens is \(2, 1.5\); it must be a shape"),
        ("23", TypeError, "tokens is '23'; it must be a shape"),
        ((2, -3), ValueError, r"tokens is \(2, -3\); sizes must not be below 0"),
    ],
)
def test_shapes_that_are_none(difference, shape, error, words):
    for call in (lambda: difference.explain(shape, (2, 3)), lambda: difference.explain(tokens=shape, mask=X)):
        with pytest.raises(error, match=words):
            call()


def test_the_repr_of_a_model(device, difference):
    assert repr(difference).splitlines() == [
        f"ep.onnx.Model on {device.type.tag}",
        "  input   tokens: float32 (n, 3)",
        "  input   mask: float32 (n, ?)",
        "  output  y: float32 (any shape)",
    ]
    scalars = model_of([("Neg", ["s"], ["t"])], [("s", ()), ("v", (7,), TensorProto.INT64)], [("t", ())])
    assert repr(ep.onnx.load(scalars)).splitlines()[1:] == [
        "  input   s: float32 ()",
        "  input   v: int64 (7,)",
        "  output  t: float32 ()",
    ]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "wrong"),
    [
        ("Concat", ["x", "", "x"], {"axis": 0}, "omits input 1, one of inputs"),
        ("Concat", ["", "x"], {"axis": 0}, "omits input 0, one of inputs"),
        ("Max", ["x", ""], {}, "omits input 1, one of data_0"),
        ("Min", ["x", "", "x"], {}, "omits input 1, one of data_0"),
        ("Sum", ["", "x"], {}, "omits input 0, one of data_0"),
        ("Mean", [""], {}, "omits input 0, one of data_0"),
        ("Einsum", ["x", ""], {"equation": "ij,ij->i"}, "omits input 1, one of Inputs"),
        ("Loop", ["", "", ""], {}, "omits input 2, one of v_initial"),
        ("Scan", ["", "x"], {"num_scan_inputs": 1}, "omits input 0, one of initial_state_and_scan_inputs"),
        ("Scan", ["x", "x"], {"num_scan_inputs": 0}, "has num_scan_inputs 0; it must be 1 to 2"),
        ("Scan", ["x", "x"], {"num_scan_inputs": 3}, "has num_scan_inputs 3; it must be 1 to 2"),
        ("Scan", ["x", "x"], {"num_scan_inputs": -1}, "has num_scan_inputs -1; it must be 1 to 2"),
    ],
)
def test_inputs_of_nodes_of_which_there_must_be_each(name, inputs, attributes, wrong):
    if name in ("Loop", "Scan"):
        taken = [value(f"{name}{k}") for k in range(len(inputs))]
        body = [helper.make_node("Identity", [f"{name}1"], [one]) for one in ("told", "next")]
        attributes["body"] = helper.make_graph(body, "body", taken, [value("told"), value("next")])
    model = model_of([(name, inputs, ["y"], attributes)], [("x", (2, 3))], [("y", None)])
    with pytest.raises(ep.onnx.ModelError, match=rf"node 'n0' \({name}\) {wrong}"):
        ep.onnx.load(model)


def value(name, kind=F, shape=None, has_type=True):
    """Return an input or an output; without a shape, a type of its elements or any type if they are None or False."""
    made = ValueInfoProto(name=name)
    if has_type:
        made.type.tensor_type.SetInParent()
    if kind is not None:
        made.type.tensor_type.elem_type = kind
    if shape is not None:
        made.CopyFrom(helper.make_tensor_value_info(name, kind or 0, shape))
    return made


PARTS = {
    "no shape": (value("y"), value("places", TensorProto.INT64)),
    "no type of elements": (value("y", None, (None, 3)), value("places", None, (2, None))),
    "a tensor": (value("y", None), value("places", None)),
    "no type": (value("y", None, has_type=False), value("places", None, has_type=False)),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("as_bytes", [True, False])
def test_outputs_without_a_part_of_their_type(device, part, as_bytes):
    """ONNX infers the types: here of a function of its own, and of a result whose size depends on data."""
    nodes = [("LayerNormalization", ["x", "s"], ["y"]), ("NonZero", ["x"], ["places"])]
    given = model_of(nodes, [("x", ("n", 3))], [], [("s", np.ones(3, np.float32))])
    given.graph.output.extend(PARTS[part])
    before = given.SerializeToString()
    model = ep.onnx.load(before if as_bytes else given, device.type)
    assert given.SerializeToString() == before
    assert [one.dtype for one in model.outputs] == [np.float32, np.int64]
    y, places = map(copy_to_host, model(x=X))
    rest = X - X.mean(1, keepdims=True)
    np.testing.assert_allclose(y, rest / np.sqrt((rest**2).mean(1, keepdims=True) + 1e-5), rtol=1e-5)
    np.testing.assert_array_equal(places, np.nonzero(X))


def test_types_that_onnx_does_not_infer():
    """It has none for Compress of opset 9, and for the second output of Attention alone."""
    chosen = [("Compress", ["x", "some"], ["c"], {"axis": 0}), ("Neg", ["c"], ["y"])]
    given = model_of(chosen, [("x", ("n", 3))], [], [("some", np.array([False, True]))], 9)
    given.graph.output.append(value("y", None, has_type=False))
    np.testing.assert_array_equal(ep.onnx.load(given)(x=X)[0], -X[1:])
    heads = [("Attention", ["x", "x", "x"], ["out", "k"]), ("Exp", ["k"], ["y"])]
    given = model_of(heads, [("x", ("n", 1, 2, 3))], [], opset=24)
    given.graph.output.append(value("y", None, has_type=False))
    given.graph.output.append(value("k", None, has_type=False))
    x = X[None, None]
    y, keys = ep.onnx.load(given)(x=x)
    np.testing.assert_array_equal(keys, x)
    np.testing.assert_allclose(y, np.exp(x), 1e-6)


def test_inputs_without_a_part_of_their_type():
    given = model_of([("Neg", ["x"], ["y"])], [], [("y", (None,))])
    given.graph.input.append(value("x"))
    model = ep.onnx.load(given)
    for shape in ((2,), (2, 3), ()):
        np.testing.assert_array_equal(model(x=np.ones(shape, np.float32))[0], -np.ones(shape))
    for kind in (None, TensorProto.UNDEFINED):
        given.graph.input[0].CopyFrom(value("x", kind))
        with pytest.raises(ep.onnx.ModelError, match="does not give the type of 'x'"):
            ep.onnx.load(given)


def test_a_model_is_copied_and_pickled_before_and_after_runs(device):
    given = model_of([("Neg", ["x"], ["y"])], [("x", ("n", 3))], [("y", ("n", 3))])
    model = ep.onnx.load(given.SerializeToString(), device.type)
    for _ in range(2):
        for one in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(copy_to_host(one(x=X)[0]), -X)
            assert (one.inputs, one.outputs) == (model.inputs, model.outputs)
        model(x=X)
    model = ep.onnx.load(given, device.type)
    for _ in range(2):
        for way in (copy.deepcopy, pickle.dumps):
            with pytest.raises(
                TypeError, match="a model of a ModelProto cannot be copied or pickled; load it from a file"
            ):
                way(model)
        model(x=X)
