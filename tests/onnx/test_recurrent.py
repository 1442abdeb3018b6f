"""Recurrent operators: directions, lengths, functions, clipping and layouts, compared with loops in float64."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host
from tests.onnx.test_models import model_of as model_of_nodes
from tests.onnx.test_repetition import FEW
from tests.profiles import calls_of

STEPS, ROWS, INNER, SIZE = 5, 3, 4, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

FUNCTIONS = {
    "Affine": lambda x, a=1.0, b=0.0: a * x + b,
    "Elu": lambda x, a=1.0, b=0: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))),
    "HardSigmoid": lambda x, a=0.2, b=0.5: np.clip(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a=0.01, b=0: np.where(x > 0, x, a * x),
    "Relu": lambda x: np.maximum(x, 0),
    "ScaledTanh": lambda x, a=1.0, b=1.0: a * np.tanh(b * x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Tanh": np.tanh,
    "ThresholdedRelu": lambda x, a=1.0, b=0: np.where(x > a, x, 0),
}


def step(kind, functions, clip, w, r, b, p, x, h, c, *, reset_last=0, coupled=0):
    """Return the next h and c of one row, by the formulas of ONNX."""

    def limited(value):
        return np.clip(value, -clip, clip)

    wb, rb = np.split(b, 2)
    ws, rs, wbs, rbs = (np.split(one, GATES[kind]) for one in (w, r, wb, rb))
    of_x = [one @ x + bias for one, bias in zip(ws, wbs, strict=True)]
    of_h = [one @ h + bias for one, bias in zip(rs, rbs, strict=True)]
    if kind == "RNN":
        return functions[0](limited(of_x[0] + of_h[0])), c
    if kind == "GRU":
        update, reset = (functions[0](limited(of_x[k] + of_h[k])) for k in (0, 1))
        inner = reset * of_h[2] if reset_last else rs[2] @ (reset * h) + rbs[2]
        return (1 - update) * functions[1](limited(of_x[2] + inner)) + update * h, c
    i, o, f, g = (a + d for a, d in zip(of_x, of_h, strict=True))
    of_i, of_o, of_f = np.split(p, 3)
    i = functions[0](limited(i + of_i * c))
    f = 1 - i if coupled else functions[0](limited(f + of_f * c))
    c = f * c + i * functions[1](limited(g))
    return functions[0](limited(o + of_o * c)) * functions[2](c), c


def reference(kind, functions, x, w, r, b, p, lengths, h, c, direction, clip, **attributes):
    """Return h of all steps, and the last h and c."""
    directions = len(w)
    y, last_h, last_c = np.zeros((len(x), directions, ROWS, SIZE)), h.copy(), c.copy()
    for d in range(directions):
        for row in range(ROWS):
            now, cell = h[d, row], c[d, row]
            times = range(lengths[row])
            for t in reversed(times) if direction == "reverse" or d else times:
                now, cell = step(kind, functions[d], clip, w[d], r[d], b[d], p[d], x[t, row], now, cell, **attributes)
                y[t, d, row] = now
            last_h[d, row], last_c[d, row] = now, cell
    return y, last_h, last_c


CASES = [
    ("LSTM", "forward", [("Sigmoid",), ("Tanh",), ("Tanh",)], {}),
    ("LSTM", "reverse", [("HardSigmoid", 0.3, 0.4), ("Elu", 0.7), ("Softsign",)], {"clip": 0.5}),
    ("LSTM", "bidirectional", [("Sigmoid",), ("Relu",), ("Affine", 0.5, 0.1)] * 2, {"input_forget": 1}),
    ("GRU", "forward", [("Sigmoid",), ("Tanh",)], {"linear_before_reset": 1}),
    ("GRU", "reverse", [("Sigmoid",), ("ScaledTanh", 0.8, 1.2)], {"clip": 0.4}),
    ("GRU", "bidirectional", [("Sigmoid",), ("LeakyRelu", 0.2)] * 2, {"linear_before_reset": 1, "clip": 0.6}),
    ("RNN", "forward", [("Softplus",)], {}),
    ("RNN", "bidirectional", [("ThresholdedRelu", 0.3), ("Tanh",)], {"clip": 0.5}),
]


def model_of(kind, direction, names, attributes, optional):
    """Return a model of one node, and the shapes of its inputs."""
    directions, gates = 1 + (direction == "bidirectional"), GATES[kind]
    shapes = {"x": (STEPS, ROWS, INNER), "w": (directions, gates * SIZE, INNER), "r": (directions, gates * SIZE, SIZE)}
    if optional:
        shapes |= {"b": (directions, 2 * gates * SIZE), "lengths": (ROWS,), "h": (directions, ROWS, SIZE)}
        if kind == "LSTM":
            shapes |= {"c": (directions, ROWS, SIZE), "p": (directions, 3 * SIZE)}
    numbers = [[*one[1:], *[0.0] * (3 - len(one))] for one in names]
    given = {"activations": [one[0] for one in names], "direction": direction, "hidden_size": SIZE, **attributes}
    for k, name in enumerate(("activation_alpha", "activation_beta")):
        values = [one[1 + k] for one in names if len(one) > 1 + k]
        given |= {name: values} if values else {}
    assert len(numbers) == len(names)
    outputs = ["y", "last_h", "last_c"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, [*shapes], outputs, **given)
    kinds = {"lengths": TensorProto.INT32}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(one, kinds.get(one, TensorProto.FLOAT), shapes[one]) for one in shapes],
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, (None,) * (4 - (one != "y"))) for one in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10), shapes


def inputs_of(rng, shapes):
    inputs = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return inputs | ({"lengths": np.array([STEPS, 0, 3], np.int32)} if "lengths" in shapes else {})


@pytest.mark.parametrize(("kind", "direction", "names", "attributes"), CASES)
@pytest.mark.parametrize("optional", [False, True])
def test_recurrent_operators(device, rng, kind, direction, names, attributes, optional):
    model, shapes = model_of(kind, direction, names, attributes, optional)
    inputs = inputs_of(rng, shapes)
    found = [*map(copy_to_host, ep.onnx.load(model, device.type)(**inputs))]
    wide = {name: array.astype(np.float64) for name, array in inputs.items() if name != "lengths"}
    directions, gates = shapes["w"][0], GATES[kind]
    state = np.zeros((directions, ROWS, SIZE))
    functions = [lambda x, one=one: FUNCTIONS[one[0]](x, *one[1:]) for one in names]
    each = len(functions) // directions
    renamed = {"linear_before_reset": "reset_last", "input_forget": "coupled"}
    expected = reference(
        kind,
        [functions[k * each : (k + 1) * each] for k in range(directions)],
        wide["x"],
        wide["w"],
        wide["r"],
        wide.get("b", np.zeros((directions, 2 * gates * SIZE))),
        wide.get("p", np.zeros((directions, 3 * SIZE))),
        inputs.get("lengths", np.full(ROWS, STEPS)),
        wide.get("h", state),
        wide.get("c", state),
        direction,
        attributes.get("clip", np.inf),
        **{renamed[name]: value for name, value in attributes.items() if name != "clip"},
    )
    for one, wanted in zip(found, expected, strict=False):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "direction", "names", "attributes"), CASES)
def test_onnx_runtime_has_the_same(rng, kind, direction, names, attributes):
    runtime = pytest.importorskip("onnxruntime")
    model, shapes = model_of(kind, direction, names, attributes, True)
    inputs = inputs_of(rng, shapes) | {"lengths": np.array([STEPS, 1, 3], np.int32)}  # of no step it returns no state
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for one, wanted in zip(ep.onnx.load(model)(**inputs), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_steps_have_the_bits_of_separate_runs(rng, kind, direction):
    """The steps of a sequence are part of a plan, however many they are, and of its one call of compiled code."""
    shapes = {"x": ("n", ROWS, INNER), "w": (1, GATES[kind] * SIZE, INNER), "r": (1, GATES[kind] * SIZE, SIZE)}
    states = ["h", "c"][: 1 + (kind == "LSTM")]
    shapes |= {"b": (1, 2 * GATES[kind] * SIZE), "": (), **dict.fromkeys(states, (1, ROWS, SIZE))}
    node = helper.make_node(kind, [*shapes], ["y", *(f"{one}2" for one in states)], hidden_size=SIZE,
                            direction=direction)  # fmt: skip
    del shapes[""]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (None,) * (4 - (name != "y"))) for name in node.output],
    )
    model = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10))
    given = {name: rng.standard_normal((9, *shape[1:]), np.float32) for name, shape in shapes.items()}
    given |= {name: given[name][:1] for name in shapes if name != "x"}
    y, *last = model(**given)
    said = model.explain(x=(9, ROWS, INNER))
    assert "operator of 9 steps" in said
    assert "which is computed by itself" not in said
    assert model.explain(x=(1009, ROWS, INNER)).count("\n") == said.count("\n")  # a step is planned once
    now = [given[one] for one in states]
    for t in range(9)[:: 1 if direction == "forward" else -1]:
        part, *now = model(**given | {"x": given["x"][t : t + 1]} | dict(zip(states, now, strict=True)))
        np.testing.assert_array_equal(part[0], y[t])
    model(**given)
    again = []
    assert calls_of(lambda: again.extend(model(**given))) <= FEW
    for one, wanted in zip(again, [y, *now], strict=True):
        np.testing.assert_array_equal(one, wanted)
    for one, wanted in zip(last, now, strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("layout", [0, 1])
def test_lengths_that_are_others_in_each_run(device, rng, layout):
    """A plan ends where lengths are checked. Two plans follow: for sequences that all go on to the end, and others."""
    gates = [rng.standard_normal((1, 3 * SIZE, size), np.float32) for size in (INNER, SIZE)]
    x = rng.standard_normal((ROWS, STEPS, INNER) if layout else (STEPS, ROWS, INNER), np.float32)
    nodes = [
        ("Neg", ["x"], ["n"]),
        ("GRU", ["n", "w", "r", "", "lengths"], ["y", "h"], {"hidden_size": SIZE, "layout": layout}),
        ("Abs", ["y"], ["z"]),
    ]
    given = [("x", x.shape), ("lengths", (ROWS,), TensorProto.INT32)]
    model = model_of_nodes(nodes, given, [("z", (None,) * 4), ("h", (None,) * 3)], [("w", gates[0]), ("r", gates[1])])
    loaded = ep.onnx.load(model, device.type)
    states = np.zeros((1, ROWS, SIZE))
    functions = [[lambda one: 1 / (1 + np.exp(-one)), np.tanh]]
    wide = [one.astype(np.float64) for one in (np.negative(x.swapaxes(0, 1) if layout else x), *gates)]
    others = np.zeros((1, 6 * SIZE)), np.zeros((1, 3 * SIZE))
    for run, lengths in enumerate([(5, 5, 5), (1, 5, 0), (5, 5, 5), (2, 4, 3), (4, 3, 2), (5, 5, 5), (0, 0, 0)]):
        found, given = [], np.array(lengths, np.int32)
        calls = calls_of(lambda: found.extend(loaded(x=x, lengths=given)))  # noqa: B023
        assert run < 4 or device.type.tag != "cpu" or calls <= 4 * FEW, calls
        z, h = map(copy_to_host, found)
        y, last, _ = reference("GRU", functions, *wide, *others, lengths, states, states, "forward", np.inf)
        if layout:
            y, last = y.transpose(2, 0, 1, 3), last.transpose(1, 0, 2)
        np.testing.assert_allclose(z, abs(y), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h, last, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"sequence_lens is \[1, 6, 2\]") as caught:
        loaded(x=x, lengths=np.array([1, 6, 2], np.int32))
    assert caught.value.__notes__[0] == "in node 'n1' (GRU)"


def test_sequences_that_are_constants(rng):
    """They are computed when the model is planned."""
    constants = [("x", rng.standard_normal((7, 1, 2), np.float32))]
    constants += [(name, rng.standard_normal((1, 2, size), np.float32)) for name, size in (("w", 2), ("r", 2))]
    nodes = [("RNN", ["x", "w", "r"], ["y"], {"hidden_size": 2}), ("Add", ["y", "a"], ["z"])]
    model = ep.onnx.load(model_of_nodes(nodes, [("a", (1,))], [("z", (7, 1, 1, 2))], constants))
    h, (x, w, r) = np.zeros((1, 2)), (one for _, one in constants)
    for found, part in zip(model(a=np.ones(1, np.float32))[0], x, strict=True):
        h = np.tanh(part @ w[0].T + h @ r[0].T)
        np.testing.assert_allclose(found[0], h + 1, rtol=1e-5, atol=1e-6)
    assert "steps" not in model.explain()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_no_steps_and_no_rows(rng, kind):
    for steps, rows in ((0, 3), (2, 0), (7, 0)):
        node = helper.make_node(kind, ["x", "w", "r"], ["y", "h"], hidden_size=SIZE)
        gates = GATES[kind]
        x, w = np.zeros((steps, rows, INNER), np.float32), rng.standard_normal((1, gates * SIZE, INNER), np.float32)
        r = rng.standard_normal((1, gates * SIZE, SIZE), np.float32)
        y, h = ep.onnx.Backend.run_node(node, [x, w, r])
        assert (y.shape, h.shape) == ((steps, 1, rows, SIZE), (1, rows, SIZE))


def test_what_is_wrong_is_named(rng):
    model, shapes = model_of("GRU", "forward", [("Sigmoid",), ("Tanh",)], {}, True)
    inputs = inputs_of(rng, shapes) | {"lengths": np.array([1, 6, 2], np.int32)}
    with pytest.raises(ValueError, match=r"sequence_lens is \[1, 6, 2\]; it must be numbers of 0 to 5 steps"):
        ep.onnx.load(model)(**inputs)
    wrong = model_of("RNN", "forward", [("Sine",)], {}, False)[0]
    with pytest.raises(ep.onnx.UnsupportedError, match="activation Sine is none of"):
        ep.onnx.load(wrong)
