"""Models on a device that lacks most kernels: another device computes what needs them."""

import pytest

from benchmarks import models
from tests.beside import TANH
from tests.onnx import nodes
from tests.onnx.test_packages import path_of

BEGIN = """
import warnings
warnings.simplefilter("ignore")
import onnx
import ep.onnx
from onnx import TensorProto
from tests.onnx.test_models import model_of
"""


@pytest.mark.parametrize("chunk", range(3, nodes.CHUNKS, 8))
def test_cases(run_beside, chunk):
    """ONNX's own cases have the results that they have on the CPU, in any division between two devices."""
    run_beside(
        f"""{BEGIN}
from tests.onnx import nodes
for case in nodes.chunks()[{chunk}]:
    if ep.onnx.Backend.is_compatible(case.model):
        model = ep.onnx.load(case.model, "numpy", "cpu")
        nodes.check(case, lambda inputs: [ops.copy_to_host(one) for one in model(*inputs)])
"""
    )


MODEL = """
rng = np.random.default_rng(7)
nodes = [("Relu", ["x"], ["r"]), ("MatMul", ["r", "w"], ["m"]), ("Neg", ["m"], ["n"]), ("Softmax", ["n"], ["y"])]
inputs, outputs = [("x", ("rows", 5), TensorProto.FLOAT)], [("y", ("rows", 3)), ("n", ("rows", 3))]
model = model_of(nodes, inputs, outputs, [("w", rng.standard_normal((5, 3), np.float32))])
x = rng.standard_normal((4, 5), np.float32)
"""


def test_models_of_any_sizes_and_a_list_of_what_lacks(run_beside):
    run_beside(
        f"""{BEGIN}{MODEL}
mixed, expected = ep.onnx.load(model, "numpy", "cpu"), ep.onnx.load(model)
for rows in (4, 1, 4, 3):
    for one, other in zip(mixed(x[:rows]), expected(x[:rows]), strict=True):
        assert isinstance(one, NumpyArray)
        np.testing.assert_array_equal(ops.copy_to_host(one), other)
text = str(mixed.explain((4, 5)))
assert "computed on the host" in text and "copy to numpy:0" in text, text
try:
    ep.onnx.load(model, "numpy")
except ep.UnsupportedPrimitiveError as error:
    head, *lines = str(error).splitlines()
    assert head == 'numpy lacks kernels; with otherwise="cpu", the CPU computes what needs them:'
    assert [line.split()[0] for line in lines] == ["matmul", "softmax"], lines
else:
    raise AssertionError
"""
    )


def test_constants_are_on_the_devices_that_read_them(run_beside):
    run_beside(
        f"""{BEGIN}
import gc
from weakref import ref
from tests.borders import counting
made = []

def noting(self, array, copy=NumpyArrays.copy_from_host):
    found = copy(self, array)
    made.append(ref(found.array))
    return found

NumpyArrays.copy_from_host = noting
rng, FLOAT = np.random.default_rng(7), TensorProto.FLOAT
w, v = rng.standard_normal((5, 3), np.float32), rng.standard_normal((2, 3), np.float32)
nodes = [("MatMul", ["x", "w"], ["m"]), ("Gather", ["v", "i"], ["g"]), ("MatMul", ["g", "u"], ["o"])]
constants = [("w", w), ("v", v), ("u", rng.standard_normal((3, 11), np.float32))]
inputs, outputs = [("x", ("n", 5), FLOAT), ("i", ("n",), TensorProto.INT64)], [("y", None), ("o", None)]
model = model_of([*nodes, ("Relu", ["m"], ["y"])], inputs, outputs, constants)
mixed, expected = ep.onnx.load(model, "numpy", "cpu"), ep.onnx.load(model)
for rows in (4, 3, 4):
    x, i = rng.standard_normal((rows, 5), np.float32), rng.integers(0, 2, rows)
    given = [ops.copy_to_device(one, "numpy") for one in (x, i)]
    for turn in range(2):
        with counting(TAG) as counts:
            found = mixed(*given)
        for one, other in zip(found, expected(x, i), strict=True):
            np.testing.assert_array_equal(ops.copy_to_host(one), other)
    assert (counts.from_host, counts.to_host) == (4 * rows * (3 + 11), 4 * rows * (5 + 3)), counts
    del found, given, one, other
    gc.collect()
    assert [one().shape for one in made if one() is not None] == [(2, 3)]
assert "constants: 192 bytes" in mixed.explain((4, 5), (4,)), mixed.explain((4, 5), (4,))  # both matrices
assert sum([*mixed._plans.values()][0].holds.values()) == 192 + 24
"""
    )


def test_what_lacks_is_an_error_when_a_model_is_loaded(run_beside):
    """Free sizes are assumed; a model without any that can be computed with is refused by its run."""
    run_beside(
        f"""{BEGIN}
FLOAT, BOUND = TensorProto.FLOAT, np.ones((5,), np.float32)

def lacking(act):
    try:
        act()
    except ep.UnsupportedPrimitiveError as error:
        return [line.split()[0] for line in str(error).splitlines()[1:]]

def loaded(nodes, shape, constants=()):
    return ep.onnx.load(model_of(nodes, [("x", shape, FLOAT)], [("y", None)], constants), "numpy")

relu_and_sum = [("Relu", ["x"], ["r"]), ("ReduceSum", ["r"], ["s"]), ("Exp", ["s"], ["y"])]
for shape in (("n",), ("n", 3), (4, 5), (None, None)):
    assert lacking(lambda: loaded(relu_and_sum, shape)) == ["sum", "exp"], shape

# a sum along an axis of one element is none: there are sizes for which nothing is missing
along = [("ReduceSum", ["x", "axes"], ["s"]), ("Relu", ["s"], ["y"])]
model = loaded(along, ("n", "m"), [("axes", np.array([1]))])
for size, expected in ((1, None), (2, ["sum"])):
    assert lacking(lambda: model(np.ones((3, size), np.float32))) == expected

# sizes that do not fit: the run says so
adds = [("Add", ["x", "b"], ["s"]), ("Exp", ["s"], ["y"])]
assert lacking(lambda: loaded(adds, ("n",), [("b", BOUND)])) == ["add", "exp"]  # 1 fits
joins = [("Concat", ["x", "b"], ["c"], {{"axis": 1}}), ("Exp", ["c"], ["y"])]
model = loaded(joins, ("n", 3), [("b", np.ones((7, 2), np.float32))])
assert lacking(lambda: model(np.ones((7, 3), np.float32))) == ["concat", "exp"]
try:
    model(np.ones((2, 3), np.float32))
except ValueError:
    pass
else:
    raise AssertionError
assert lacking(lambda: model.check_kernels(x=(7, 3))) == ["concat", "exp"]
"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # sizes that follow from data
        ("(float[n,5] x) => (float[k,5] y) { i = NonZero(x)\n j = Cast<to=1>(i)\n e = Exp(j)\n y = Log(e) }",
         ["cast", "exp", "log"]),
        # both branches, and what follows
        ("""(bool c, float[n,5] x) => (float[n,5] y) { t = If(c)
         <then_branch = g () => (float[n,5] a) { a = Exp(x) }, else_branch = h () => (float[n,5] b) { b = Log(x) }>
         y = Tan(t) }""", ["exp", "log", "tan"]),
        # the steps of loops, and what follows
        ("""(int64 m, bool c, float[5] x) => (float[5] y, float[k,5] w) { y, z = Loop(m, c, x)
         <body = g (int64 i, bool d, float[5] s) => (bool e, float[5] t, float[5] u) {
         e = Identity(d)\n t = Exp(s)\n u = Log(s) }>
         w = Tan(z) }""", ["exp", "log", "identity", "tan"]),
        ("""(float[2] s, float[7,2] x) => (float[2] y, float[7,2] z) { y, z = Scan<num_scan_inputs=1,
         body = g (float[2] s0, float[2] p) => (float[2] t, float[2] u) { t = Sin(s0)\n u = Cos(p) }>(s, x) }""",
         ["sin", "cos"]),
        # a recurrence whose lengths are data
        ("""(float[3,2,5] x, int32[2] n) => (float[3,1,2,4] y) { w = ConstantOfShape<value = float[1] {1}>(of_w)
         r = ConstantOfShape<value = float[1] {1}>(of_r)\n y, h = RNN<hidden_size=4>(x, w, r, , n) }""",
         ["matmul"]),
        # a step whose inputs nothing tells
        ("""(int64 m, bool c, float[5] x, int64[r] sh) => (float[r] y) { z = Reshape(x, sh)\n y = Loop(m, c, z)
         <body = g (int64 i, bool d, float s) => (bool e, float t) { e = Identity(d)\n t = Exp(s) }> }""", []),
    ],
)  # fmt: skip
def test_what_lacks_behind_data_is_an_error_when_a_model_is_loaded(run_beside, text, expected):
    run_beside(
        f"""{BEGIN}
from onnx import parser
model = parser.parse_model('<ir_version: 8, opset_import: ["": 18]> graph ' + {text!r})
constants = [("of_w", np.array([1, 4, 5])), ("of_r", np.array([1, 4, 4]))]
model.graph.initializer.extend(onnx.numpy_helper.from_array(one, name) for name, one in constants)
try:
    ep.onnx.load(model, "numpy")
except ep.UnsupportedPrimitiveError as error:
    found = [line.split()[0] for line in str(error).splitlines()[1:]]
    told = {{why.split()[0] for several in error.operators.values() for why in several}}
else:
    found, told = [], set()
assert found[:{len(expected)}] == {expected} and told <= {{*found}}, (found, told)

assert bool(found) == {bool(expected)}, found
"""
    )


def test_the_commands(run_beside, tmp_path):
    path = tmp_path / "model.onnx"
    run_beside(
        f"""{BEGIN}{MODEL}
import contextlib, io, json
from ep.cli.main import main
open({str(path)!r}, "wb").write(model.SerializeToString())
said = io.StringIO()
with contextlib.redirect_stdout(said):
    assert main(["onnx", "check", {str(path)!r}, "--device", "numpy", "--format", "json"]) == 1
found = json.loads(said.getvalue())
assert not found["served"] and [one.split()[0] for one in found["reasons"]] == ["matmul", "softmax"], found
np.save({str(tmp_path / "x.npy")!r}, x)
assert main(["run", {str(path)!r}, "--input", "x={tmp_path}/x.npy", "--out", "y={tmp_path}/y.npy",
             "--device", "numpy", "--otherwise", "cpu", "--quiet"]) == 0
np.testing.assert_array_equal(np.load({str(tmp_path / "y.npy")!r}), ep.onnx.load(model)(x)[0])
"""
    )


@pytest.mark.parametrize("what", ["types of files, 1", "speech, a frame without If", "text, its angle"])
def test_models_of_packages(run_on_example, rng, what):
    """They compute what the CPU computes, and `explain` has each launch and all bytes that are copied."""
    model = next(one for one in models.MODELS if one.what == what)
    path_of(model.package, model.file)
    run_on_example(
        f"""{BEGIN}
from benchmarks import models
from tests.borders import counting, said
model = next(one for one in models.MODELS if one.what == {what!r})
inputs = model.inputs(np.random.default_rng({rng.integers(2**31)}))
expected = ep.onnx.load(model.path()).run(None, inputs)
mixed = ep.onnx.load(model.path(), TAG, "cpu")
given = {{name: ops.copy_to_device(np.asarray(one), TAG) for name, one in inputs.items()}}
for _ in range(2):
    with counting(TAG) as counts:
        results = mixed.run(None, given)
for one, other in zip(results, expected, strict=True):
    np.testing.assert_allclose(ops.copy_to_host(one), other, 0, BOUND * abs(other).max())
text = str(mixed.explain(**{{name: np.shape(one) for name, one in inputs.items()}}))
assert counts.launches and counts == said(text, TAG), (counts, said(text, TAG))
"""
    )


def test_kernels_that_are_registered_later_compute_the_next_run(run_beside):
    run_beside(
        f"""{BEGIN}{TANH}
nodes = [("Relu", ["x"], ["r"]), ("Tanh", ["r"], ["t"]), ("Neg", ["t"], ["y"])]
model = model_of(nodes, [("x", (3, 5), TensorProto.FLOAT)], [("y", (3, 5))])
x, mixed = np.random.default_rng(7).standard_normal((3, 5), np.float32), ep.onnx.load(model, "numpy", "cpu")
for count in (0, 2):
    for _ in range(2):
        (found,) = mixed(x)
        np.testing.assert_allclose(ops.copy_to_host(found), -np.tanh(np.maximum(x, 0)), 1e-6)
    assert len(launched) == count, launched
    if not count:
        register_tanh()
"""
    )
