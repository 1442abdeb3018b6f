"""Errors of functions that are made of operators name the function or its argument, and never those inside of it."""

import inspect
import re

import numpy as np
import pytest

import ep
import ep.ops
from ep import DataType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.number_kind import ALL, COMPLEXES, FLOATS, REAL
from tests.fuse.placing import placed

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = X[::-1].copy()
AT = np.zeros((2, 1), np.int64)
HEADS, MASK = np.ones((2, 3, 3, 2), np.float32), np.ones(3, bool)
ROW, COLUMN = X[0].copy(), X[:, :1].copy()
QUANTIZED = np.uint8([[3, 0, 9], [255, 1, 7]])
WRONG_AXES = (2, -3, 1.5, True, "0", np.float64(1), np.array(0.5), [0, 1.5], (0, 2), (1, True))
WRONG_SHAPES = ((2, 2), (6, 1.5), (True, 6), "66", (7,), -3)
NOT_NUMBERS = ("1", X, None)
NOT_SCALES = [X[:, :2], np.arange(3), 1j, np.ones((1, 2, 3), np.float32)]

CALLS = {
    "isclose": ((X, Y), {"x": [X[:, :2]], "y": [X[:, :2], X.astype("float64"), 1j], "rtol": ("1", 1j)}, REAL),
    "clip": (
        (X, X, Y),
        {"x": [Y[0, :2]], "min": ["a", X[:, :2], 1j, Y.astype("float64")], "max": ["a", X[:, :2], 1j, 10**39]},
        REAL,
    ),
    "hypot": ((X, Y), {"x": [X[:, :2], 1j], "y": [X.astype("float64"), 1j, 10**39, "a"]}, FLOATS),
    "logaddexp": ((X, Y), {"x": [X[:, :2], 1j], "y": [X.astype("float64"), 1j, 10**39, "a"]}, FLOATS),
    "var": ((X,), {"axis": WRONG_AXES, "correction": ("a", None, X, 1j), "keepdims": (1, None, "a")}, ALL),
    "std": ((X,), {"axis": WRONG_AXES, "correction": ("a", None, X, 1j), "keepdims": (1, None, "a")}, ALL),
    "vecdot": ((X, Y), {"x1": [X.astype("float64"), X[:, :2], 1j], "axis": (2, 1.5, True, (0, 1))}, ALL),
    "tensordot": (
        (X, Y),
        {"x2": [X.astype("float64"), X.T.copy()], "axes": (3, -1, 1.5, True, (0,), (0, 2), (0, 1.5), ((0, 0), (0, 0)))},
        FLOATS + COMPLEXES,
    ),
    "reshape": ((X, (3, 2)), {"shape": WRONG_SHAPES}, ALL),
    "squeeze": ((X,), {"axis": (*WRONG_AXES, 1, (0, 0))}, ALL),
    "expand_dims": ((X, 0), {"axis": (3, -4, 1.5, True, "0", (0, 0), (0, 4), None)}, ALL),
    "moveaxis": ((X, 0, 1), {"source": (*WRONG_AXES, (0, 1)), "destination": (*WRONG_AXES, (0, 1))}, ALL),
    "matrix_transpose": ((X,), {"x": (X[0], 3.0)}, ALL),
    "broadcast_to": ((X, (2, 3)), {"shape": ((2, 2), (3,), (2, -1), (True, 3), 1.5, "23")}, ALL),
    "flip": ((X,), {"axis": (*WRONG_AXES, (0, 0))}, ALL),
    "roll": ((X, 1, 0), {"shift": (1.5, True, "1", None), "axis": WRONG_AXES}, ALL),
    "take_along_axis": (
        (X, AT),
        {"x": (3.0, X[0]), "indices": (AT[0], X, [[0]] * 3), "axis": (2, -3, 1.5, None), "mode": ("wrap", None)},
        ALL,
    ),
    "scatter": (
        (X, AT, X[:, :1].copy()),
        {
            "x": (3.0, X[0]),
            "indices": (AT[0], X, [[0]] * 3, [[3], [0]]),
            "updates": (X, X[:, :1].astype("float64"), 10**39, 1j, "a"),
            "axis": (2, -3, 1.5, None),
            "reduction": ("sum", None, 1),
            "mode": ("wrap", None),
        },
        ALL,
    ),
    "index": (
        (X, [AT, AT], 0),
        {
            "x": (X[0], 3.0),
            "indices": (AT, [], [X], [AT] * 3, [AT, [[0, 1, 2]] * 3], [[2]], 0),
            "axis": (1, -1, 2, 1.5, None),
            "mode": ("zero", "wrap", None),
        },
        ALL,
    ),
    "index_put": (
        (X, [AT], X[:1].copy(), 0),
        {
            "x": (3.0,),
            "indices": (AT, [], [X], [AT] * 3, [[[2], [0]]]),
            "updates": (X[:, :2], X.astype("float64"), 10**39, 1j, "a"),
            "axis": (2, -3, 1.5, None),
            "reduction": ("sum", None),
            "mode": ("zero", "wrap", None),
        },
        ALL,
    ),
    "gather_nd": (
        (X, AT),
        {"x": (3.0,), "indices": (0, X, [[0] * 3], [[2]]), "batch_dims": (2, -3, 1.5, None), "mode": ("zero", "wrap")},
        ALL,
    ),
    "scatter_nd": (
        (X, AT, X[:, None].copy()[:, 0]),
        {
            "x": (3.0,),
            "indices": (0, X, [[0] * 3], [[2]]),
            "updates": (X[:, :2], X.astype("float64"), 10**39, 1j, "a"),
            "reduction": ("sum", None),
            "mode": ("zero", "wrap"),
        },
        ALL,
    ),
    "full_like": ((X, 2.0), {"fill_value": (*NOT_NUMBERS, 10**39, 1j), "dtype": ("float31", 7)}, ALL),
    "zeros_like": ((X,), {"dtype": ("float31", 7)}, ALL),
    "ones_like": ((X,), {"dtype": ("float31", 7)}, ALL),
    "zeros": (((2, 3),), {"shape": ((-1,), (1.5,), True, "2"), "dtype": ("float31", 7), "device": ("gpux", 7)}, ()),
    "ones": (((2, 3),), {"shape": ((-1,), (1.5,), True, "2"), "dtype": ("float31", 7), "device": ("gpux", 7)}, ()),
    "arange": (
        (0, 5, 2),
        {"start": (*NOT_NUMBERS, 1j, np.nan, 2**64), "stop": (*NOT_NUMBERS[:2], np.inf), "step": (*NOT_NUMBERS, 0)},
        (),
    ),
    "linspace": ((0, 5, 2), {"start": (*NOT_NUMBERS, 2**64), "stop": NOT_NUMBERS, "num": (-1, 1.5, True)}, ()),
    "attention": (
        (HEADS, HEADS, HEADS, MASK, False, 0, 1.0, 0.0, False),
        {
            **{"q": [ROW, HEADS[0], X.astype("float64")], "k": [ROW, HEADS[:, :, :, :1], X, HEADS[:, [0, 0]]]},
            **{"v": [ROW, X, HEADS[:, :, :1]], "mask": [np.ones((2, 2), bool), np.ones(3, np.int8), 1j]},
            **{
                "is_causal": (1, None, "a"),
                "offset": (1.5, True, None),
                "scale": ("1", 1j, X),
                "return_lse": (1, None),
            },
        },
        FLOATS,
    ),
    "attention_grad": (
        (HEADS, HEADS, HEADS, HEADS, HEADS, HEADS[..., 0].copy(), MASK, False, 0, 1.0),
        {
            "dy": [X],
            "y": [X],
            "lse": [HEADS],
            "mask": [np.ones((2, 2), bool)],
            "is_causal": (1, None),
            "scale": ("1", 1j),
        },
        FLOATS,
    ),
    "quantize": (
        (X, ROW, None, None, 1, 0),
        {
            **{"x": [1j], "scale": [1j, X, X[:, :2], np.arange(3)], "zero_point": [ROW, np.uint8([1, 2])]},
            **{"dtype": ("int32", "a", 3), "axis": (2, 1.5, None, True), "block_size": (-1, 1.5, None)},
        },
        FLOATS,
    ),
    "dequantize": (
        (QUANTIZED, ROW, QUANTIZED[0].copy(), None, 1, 0),
        {
            **{"x": [1j, X], "scale": [1j, X, np.arange(3)], "zero_point": [ROW, np.uint8([1, 2]), np.int8([1, 2, 3])]},
            **{"dtype": ("int32", "a", 3), "axis": (2, 1.5, None, True), "block_size": (-1, 1.5, None)},
        },
        (),
    ),
    "layer_norm": (
        (X, ROW, ROW, -1, 1e-5),
        {"x": [1j], "weight": NOT_SCALES, "bias": NOT_SCALES, "axis": WRONG_AXES[:-2], "epsilon": ("1", 1j, X, None)},
        FLOATS,
    ),
    "rms_norm": ((X, ROW, -1), {"weight": NOT_SCALES, "axis": WRONG_AXES[:-2], "epsilon": ("1", 1j, X)}, FLOATS),
    "group_norm": (
        (X, ROW, ROW, 3),
        {"x": [ROW], "weight": [*NOT_SCALES, COLUMN], "num_groups": (2, 0, -1, 1.5, True, None), "epsilon": ("1", 1j)},
        FLOATS,
    ),
    "layer_norm_grad": (
        (X, X, COLUMN, COLUMN, ROW, ROW, -1),
        {
            **{"dy": [ROW], "mean": [ROW, X], "inverse": [ROW], "weight": NOT_SCALES, "bias": NOT_SCALES},
            **{"axis": WRONG_AXES[:-2], "wanted": (True, (True, True), (1, 1, 1), "abc")},
        },
        FLOATS,
    ),
    "rms_norm_grad": (
        (X, X, COLUMN, ROW),
        {"inverse": [X, ROW], "weight": NOT_SCALES, "wanted": (True, (1, 1))},
        FLOATS,
    ),
    "group_norm_grad": (
        (X, X, X, X, ROW, ROW, 3),
        {"mean": [ROW, COLUMN], "weight": [X], "num_groups": (2, 0, 1.5, True, None), "wanted": (True, (True, True))},
        FLOATS,
    ),
    "eye": ((2, 3), {"n_rows": (-1, 1.5, True, None), "n_cols": (-1, 1.5, True), "k": (1.5, True, None)}, ()),
}
"""For each function: arguments that it takes, wrong values of some of them, and the types of its operands."""
_FAMILIES = ("composed", "shaped", "creation", "along_axis", "at_indices", "norms", "norms_grad", "attention")
_FILES = [f"ep.ops.{one}" for one in (*_FAMILIES, "quantize")]
COMPOSED = [name for name in ep.ops.__all__ if getattr(ep.ops, name).__module__ in _FILES]
WORDS = {name: set(inspect.signature(getattr(ep.ops, name)).parameters) for name in COMPOSED}


def test_each_function_has_its_calls():
    assert sorted(CALLS) == sorted(COMPOSED)


def inner(name, text):
    """Return the words of a message that are functions or arguments of others."""
    found = set(re.findall(r"\b(\w+) (?:takes|has no kernel|of shapes)\b|^(\w+)(?:\[\d+\])* (?:is|has|must)\b", text))
    named = {word for pair in found for word in pair if word}
    return named - WORDS[name] - {name}


def are_arrays(values):
    return bool(values) and all(isinstance(one, np.ndarray) and one.ndim for one in values)


def forms(name, args, at, value, device):
    """Yield the calls with one argument in place of another: by position, by name, and of a fused function."""
    function, names = getattr(ep.ops, name), list(inspect.signature(getattr(ep.ops, name)).parameters)
    given = dict(zip(names, args, strict=False)) | {at: value}
    operands = [
        one
        for one in given
        if one in names[:7] and are_arrays(given[one] if isinstance(given[one], list) else [given[one]])
    ]
    there = {
        one: [placed(device, each) for each in item] if isinstance(item, list) else placed(device, item)
        for one, item in given.items()
        if one in operands
    }
    there = {one: there.get(one, item) for one, item in given.items()}
    yield lambda: function(**there)
    first = {one: item for one, item in there.items() if one in operands}
    rest = {one: item for one, item in there.items() if one not in operands}
    if first:
        yield lambda: ep.fuse(lambda arrays: function(**arrays, **rest))(first)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(name, device):
    args, wrong, _ = CALLS[name]
    for at, values in wrong.items():
        for value in values:
            for call in forms(name, args, at, value, device):
                with pytest.raises((TypeError, ValueError, LookupError)) as caught:
                    call()
                text = str(caught.value)
                assert not inner(name, text), (at, value, text)
                assert at in text or name in text, (at, value, text)


@pytest.mark.parametrize("data_type", DataType, ids=lambda one: one.name)
@pytest.mark.parametrize("name", [name for name, (*_, takes) in CALLS.items() if takes])
def test_types(name, data_type, device):
    """Each type is taken, or refused in words of the function, alone and in a fused function."""
    args, _, takes = CALLS[name]
    args = [one.astype(data_type.dtype) if isinstance(one, np.ndarray) and one is not AT else one for one in args]
    if name == "full_like":
        args[1] = 1
    first = next(iter(inspect.signature(getattr(ep.ops, name)).parameters))
    for call in forms(name, args, first, args[0], device):
        if data_type in takes:
            found = call()
            assert (found[0] if isinstance(found, list) else found).size
        else:
            words = rf" (has|have) dtype {data_type.dtype}; {name} takes .*; convert with astype"
            with pytest.raises(UnsupportedPrimitiveError, match=words):
                call()
