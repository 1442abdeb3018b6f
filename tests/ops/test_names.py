"""The functions of the ops: each op has one, with a docstring."""

import inspect
import pickle
import pydoc
import re

import numpy as np
import pytest

import ep
import ep.ops
from ep import BinaryOp, UnaryOp
from ep.include.primitive.op_table import OPS, attributes_of, function_name
from ep.mesh import GlobalTensor, Placement
from ep.sbp import Broadcast
from tests.subprocesses import run

ALIASES = {op: row.alias for op, row in OPS.items() if row.alias}
WITH_FUNCTION = [op for op in OPS if op is not UnaryOp.kCast]


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (UnaryOp.kFastGelu, "fast_gelu"),
        (UnaryOp.kSquareReLU, "square_relu"),
        (UnaryOp.kLogicalNot, "logical_not"),
        (UnaryOp.kExp2, "exp2"),
        (UnaryOp.kLog1p, "log1p"),
        (UnaryOp.kLog10, "log10"),
        (UnaryOp.kExpm1, "expm1"),
        (UnaryOp.kIsNan, "is_nan"),
        (BinaryOp.kMax, "maximum"),
        (BinaryOp.kMin, "minimum"),
        (UnaryOp.kReciprocalNoNan, "reciprocal_no_nan"),
        (UnaryOp.kLogSigmoid, "log_sigmoid"),
        (BinaryOp.kAdd, "add"),
        (BinaryOp.kIsCloseEqualNan, "is_close_equal_nan"),
        (BinaryOp.kReluBackwardWithDyX, "relu_backward_with_dy_x"),
        (BinaryOp.kTanhBackwardWithDyY, "tanh_backward_with_dy_y"),
        (BinaryOp.kLog1pBackwardWithDyX, "log1p_backward_with_dy_x"),
        (BinaryOp.kSquareReLUBackwardWithDyX, "square_relu_backward_with_dy_x"),
    ],
)
def test_name(op, name):
    assert function_name(op) == name
    assert getattr(ep.ops, name).__name__ == name


def test_every_op_has_a_function():
    names = [function_name(op) for op in WITH_FUNCTION]
    assert len(set(names)) == len(names)
    others = {name for name in ep.ops.__all__ if getattr(ep.ops, name).__module__ != "ep.ops"}
    assert ep.ops.__all__ == sorted({*others, *ALIASES.values(), *names, "true_divide", "divide"})
    assert not {*ALIASES.values()} & {*names, *others}
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) and name.isidentifier() for name in names)
    assert all(callable(getattr(ep.ops, name)) for name in ep.ops.__all__)


@pytest.mark.parametrize("op", ALIASES, ids=lambda op: op.name)
def test_the_array_apis_names(op):
    """NumPy has the same names for the same functions."""
    function, numpys = getattr(ep.ops, ALIASES[op]), getattr(np, ALIASES[op])
    assert function is getattr(ep.ops, function_name(op))
    operands = [np.array([7, -3, 5], np.int32), np.array([2, 4, 5], np.int32)][: len(OPS[op].operands)]
    if op in (UnaryOp.kIsNan, UnaryOp.kIsInf, UnaryOp.kIsFinite):
        operands = [operand.astype(np.float32) for operand in operands]
    assert function(*operands).tolist() == numpys(*operands).tolist()


def test_max_and_min_reduce_elsewhere():
    assert ep.ops.maximum([1, 5], [3, 4]).tolist() == [3, 5]
    assert ep.ops.minimum([1, 5], [3, 4]).tolist() == [1, 4]
    for name, function in (("max", ep.ops.max), ("min", ep.ops.min)):
        for second in ([3, 4], np.array([3, 4])):
            with pytest.raises(
                TypeError, match=rf"axis is .*; {name} takes one array, and {name}imum\(x, y\) is for two"
            ):
                function([1, 5], second)
    with pytest.raises(AttributeError, match="has no attribute 'gathr'; did you mean 'gather'"):
        getattr(ep.ops, "gathr")  # noqa: B009


@pytest.mark.parametrize("op", WITH_FUNCTION, ids=lambda op: op.name)
def test_signature_and_docstring(op):
    function = getattr(ep.ops, function_name(op))
    assert (function.__module__, function.__qualname__) == ("ep.ops", function_name(op))
    assert pickle.loads(pickle.dumps(function)) is function

    parameters = list(inspect.signature(function).parameters.values())
    num_operands = 1 if isinstance(op, UnaryOp) else 2
    attributes = attributes_of(op)
    assert [p.name for p in parameters[:num_operands]] == list(OPS[op].operands)
    assert [p.name for p in parameters[num_operands:-1]] == [a.name.replace("lambda", "lambd") for a in attributes]
    for parameter, attribute in zip(parameters[num_operands:-1], attributes, strict=True):
        expected = parameter.empty if attribute.default is None else attribute.default
        assert parameter.default == expected
    out = parameters[-1]
    assert (out.name, out.kind, out.default) == ("out", out.KEYWORD_ONLY, None)
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters[:num_operands])
    of_attributes = out.KEYWORD_ONLY if OPS[op].by_name else out.POSITIONAL_OR_KEYWORD
    assert all(p.kind is of_attributes for p in parameters[num_operands:-1])

    lines = function.__doc__.splitlines()
    assert lines[0].strip()
    assert max(map(len, lines)) <= 120
    assert op.name in function.__doc__
    assert all(f"\n{p.name}: " in function.__doc__ for p in parameters[num_operands:])


def test_operand_names():
    assert OPS[UnaryOp.kRelu].operands == ("x",)
    assert OPS[BinaryOp.kSub].operands == ("x", "y")
    assert OPS[BinaryOp.kReluBackwardWithDyX].operands == ("dy", "x")
    assert OPS[BinaryOp.kReluBackwardWithDyY].operands == ("dy", "y")
    assert OPS[BinaryOp.kScalarExpPowerGrad].operands == ("x", "dy")
    x, dy = np.array([-1.0, 2.0]), np.array([3.0, 4.0])
    assert ep.ops.relu_backward_with_dy_x(x=x, dy=dy).tolist() == [0, 4]
    assert ep.ops.scalar_base_power_grad(x, dy, 2).tolist() == pytest.approx([-6, 16])


def test_attributes():
    x = np.array([-2.0, -1.0, 3.0])
    expected = [-1.0, -0.5, 3.0]
    for args, kwargs in [((x, 0.5), {}), ((x,), {"alpha": 0.5}), ((x,), {"attr0": 0.5}), ((), {"x": x, "alpha": 0.5})]:
        assert ep.ops.leaky_relu(*args, **kwargs).tolist() == expected
    assert ep.ops.leaky_relu(x).tolist() == [-0.02, -0.01, 3.0]
    assert ep.ops.leaky_relu(x, None).tolist() == [-0.02, -0.01, 3.0]
    assert ep.ops.hard_tanh(x, attr1=2).tolist() == [-1, -1, 2]
    assert ep.ops.hard_tanh(x, min=-1.5).tolist() == [-1.5, -1, 1]
    assert ep.ops.hard_shrink(x, lambd=1.5).tolist() == [-2, 0, 3]
    assert ep.ops.threshold(x, 0, value=20).tolist() == [20, 20, 3]


def test_attributes_are_told_apart():
    x = np.array([-1.0])
    assert not np.signbit(ep.ops.threshold(x, 0, 0.0))
    assert np.signbit(ep.ops.threshold(x, 0, -0.0))
    assert ep.ops.threshold(x, 0, 2**60 + 1).tolist() == [2.0**60]
    assert all(np.isnan(ep.ops.threshold(x, 0, np.nan)) for _ in range(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ep.ops.threshold(x, 1), r"^value is missing and has no default"),
        (lambda x: ep.ops.threshold(x), r"^threshold is missing and has no default"),
        (lambda x: ep.ops.leaky_relu(x, "0.5"), r"^alpha must be a real number, not"),
        (lambda x: ep.ops.leaky_relu(x, [0.5]), r"^alpha must be a real number, not"),
        (lambda x: ep.ops.relu(x, 1), r"relu\(\) takes 1 positional arguments, and 2 were given"),
        (lambda x: ep.ops.relu(x, attr0=1), r"relu\(\) has no parameter 'attr0'"),
        (lambda x: ep.ops.leaky_relu(x, alhpa=1), r"leaky_relu\(\) has no parameter 'alhpa'; did you mean 'alpha'"),
        (lambda x: ep.ops.leaky_relu(x, 1, alpha=1), r"leaky_relu\(\) got two values for 'alpha'"),
        (lambda x: ep.ops.leaky_relu(x, alpha=1, attr0=1), r"leaky_relu\(\) got two values for 'alpha'"),
        (lambda x: ep.ops.add(x), r"add\(\) needs y"),
        (lambda x: ep.ops.relu(), r"relu\(\) needs x"),
        (lambda x: ep.ops.where(x), r"^where\(\) needs x and y$"),
        (lambda x: ep.ops.gather(indices=[0]), r"^gather\(\) needs params$"),
        (lambda x: ep.ops.sum(), r"^sum\(\) needs x$"),
        (lambda x: ep.ops.concat(axis=0), r"^concat\(\) needs arrays$"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(TypeError, match=message):
        call(np.zeros(2))


def test_functions_are_made_when_they_are_used_and_are_listed_before():
    code = """
import sys, ep.ops
assert "ep.ops.declare.documentation" not in sys.modules
assert "gelu" not in vars(ep.ops)
assert {name for name in ep.ops.__all__ if "_backward_with_" not in name} == {*dir(ep.ops)}
from ep.ops import gelu
assert vars(ep.ops)["gelu"] is gelu
assert hasattr(ep.ops, "multiply") and not hasattr(ep.ops, "multiplied")
print(ep.ops.multiply is ep.ops.mul, "ep.ops.declare.documentation" in sys.modules)
help(gelu)
"""
    first, *lines = run(code).splitlines()
    assert first == "True True"
    assert lines[0] == "Help on function gelu in module ep.ops:"
    signature = lines[2].replace("'", "")  # until Python 3.13, annotations are shown as texts
    assert signature.startswith("gelu(x: ArrayLike, *, out: Array | None = None)")
    assert lines[-2].endswith("The primitive's op is kGelu.")


def test_the_module_lists_all_functions():
    listed = pydoc.render_doc(ep.ops, renderer=pydoc.plaintext)
    assert all(f"    {name}" in listed for name in dir(ep.ops))
    assert "_backward_with_" not in listed
    names = {}
    exec("from ep.ops import *", names)
    assert {name: names[name] for name in ep.ops.__all__} == {name: getattr(ep.ops, name) for name in ep.ops.__all__}


def test_import_needs_no_compiler():
    code = "import sys, ep.ops; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    assert not {"numba", "llvmlite", "torch", "scipy", "cuda"} & set(run(code).split())


def test_import_needs_no_device():
    code = "import sys, ep.ops; print(*(name for name in sys.modules if name.startswith(('ep.cpu', 'ep.cuda'))))"
    assert run(code).split() == []


INTERNAL = {"boxed", "call_key", "calls", "memory", "node", "of_call", "operands", "position", "share", "trace", "view"}


def check_dir(array, public):
    listed = {name for name in dir(array) if not name.startswith("__")}
    assert {"dtype", "ndim", "shape", "size", "reshape", *public} <= listed
    assert not {name for name in listed if name.startswith("_")} | (listed & INTERNAL)
    assert "__add__" in dir(array)


def test_what_arrays_list():
    """A prompt offers what is public; the rest is for the package."""

    def traced(x):
        check_dir(x, {"T", "astype", "mean", "sum"})
        check_dir(x + 1, {"T", "astype", "mean", "sum"})
        return x

    ep.fuse(traced)(np.ones(3, np.float32))
    with ep.lazy() as block:
        check_dir(block.view(np.ones(3, np.float32)), {"T"})
    tensor = GlobalTensor(np.ones(3, np.float32), (3,), Placement(1), (Broadcast(),))
    check_dir(tensor, {"placement", "sbp", "to", "to_local"})


def test_errors_of_attributes_and_of_empty_reductions_are_in_words_of_operators():
    x = np.float32([1, 2, 3])
    for function, error, message in (
        (lambda: ep.ops.isclose(x, x, rtol=x), TypeError, r"^rtol must be a real number, not ndarray of shape \(3,\)"),
        (lambda: ep.ops.isclose(x, x, atol="a"), TypeError, "^atol must be a real number, not 'a'"),
        (lambda: ep.ops.leaky_relu(x, attr0=10**400), ValueError, "^alpha is beyond the range of float64"),
        (lambda: ep.ops.max(x[:0]), ValueError, r"axis \(0,\); a maximum of none does not exist"),
        (lambda: ep.ops.min(x[:0]), ValueError, r"axis \(0,\); a minimum of none does not exist"),
    ):
        with pytest.raises(error, match=message):
            function()
