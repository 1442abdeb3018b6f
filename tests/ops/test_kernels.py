"""The choice of kernels: conditions, priorities, ties, kept kernels, and kernels that another package registers."""

from pathlib import Path

import numpy as np
import pytest

import ep.ops
from ep import DataType, DeviceType, UnsupportedPrimitiveError
from ep.include.errors import DuplicateRegistrationError
from ep.include.primitive import GatherFactory, UnaryOp
from ep.include.primitive.elementwise_unary import ElementwiseUnaryFactory
from ep.ops.declare.operator import operator_named, operators
from ep.ops.kernels import (
    Subject,
    always,
    attribute,
    data_type,
    device_type,
    kernels_of,
    primitive_exists,
    register_kernel,
)
from ep.ops.kernels.registry import choose
from tests.subprocesses import run

EXAMPLE = Path(__file__).parents[2] / "examples/ep_numpy_device"
TYPES = {"x": DataType.kFloat, "indices": DataType.kInt64, "out": DataType.kFloat}
SUBJECT = Subject(DeviceType.kCPU, TYPES, {"axis": 1, "mode": "raise"})
HOLDS = {
    "device_type() == DeviceType.kCPU": device_type() == DeviceType.kCPU,
    'data_type("x") == DataType.kFloat': data_type("x") == "float32",
    'data_type("x") != DataType.kHalf': data_type("x") != DataType.kFloat16,
    'data_type("x").one_of(DataType.kDouble, DataType.kFloat)': data_type("x").one_of("float64", "float32"),
    'attribute("axis") == 1': attribute("axis") == 1,
    "always()": always(),
    '(attribute("axis") == 1) & (attribute("mode") == \'raise\') & always()': (attribute("axis") == 1)
    & (attribute("mode") == "raise")
    & always(),
    '(attribute("axis") == 2) | (device_type() == DeviceType.kCPU)': (attribute("axis") == 2)
    | (device_type() == DeviceType.kCPU),
    '~(attribute("axis") == 0)': ~(attribute("axis") == 0),
    'primitive_exists(GatherFactory, params_type=data_type("x"), indices_type=data_type("indices"))': primitive_exists(
        GatherFactory, params_type=data_type("x"), indices_type=data_type("indices")
    ),
}


@pytest.mark.parametrize("text", HOLDS)
def test_conditions_are_printed_and_evaluated(text):
    condition = HOLDS[text]
    assert str(condition).replace("kHalf", "kFloat16") == text.replace("kHalf", "kFloat16")
    assert condition.holds(SUBJECT)
    assert not (~condition).holds(SUBJECT)
    assert not (condition & (attribute("axis") == 7)).holds(SUBJECT)
    assert ((attribute("axis") == 7) | condition).holds(SUBJECT)


def test_explanations_have_every_part():
    condition = (device_type() == DeviceType.kCPU) & ~((data_type("x") == "float64") | (attribute("axis") == 1))
    found = [(part.depth, part.text, part.holds, part.why) for part in condition.explain(SUBJECT)]
    assert found == [
        (0, str(condition), False, ""),
        (1, "device_type() == DeviceType.kCPU", True, "device_type() is DeviceType.kCPU"),
        (1, '~((data_type("x") == DataType.kDouble) | (attribute("axis") == 1))', False, ""),
        (2, '(data_type("x") == DataType.kDouble) | (attribute("axis") == 1)', True, ""),
        (3, 'data_type("x") == DataType.kDouble', False, 'data_type("x") is DataType.kFloat'),
        (3, 'attribute("axis") == 1', True, 'attribute("axis") is 1'),
    ]


def test_primitives_are_asked_of_new_primitive():
    exists = primitive_exists(ElementwiseUnaryFactory, UnaryOp.kExp, data_type("x"), data_type("out"))
    (part,) = exists.explain(SUBJECT)
    assert (part.holds, part.why) == (True, "there is ElementwiseUnary(kExp, kFloat, kFloat)")
    integers = SUBJECT._replace(data_types={"x": DataType.kInt64, "out": DataType.kInt64})
    (part,) = exists.explain(integers)
    assert not part.holds
    assert "ElementwiseUnary(kExp, kInt64, kInt64) on cpu is not supported: its data types" in part.why
    assert exists.make(SUBJECT).request.op is UnaryOp.kExp


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: bool(always()), TypeError, "join conditions by &, | and ~"),
        (lambda: always() & True, TypeError, "not with True"),
        (
            lambda: device_type() == "cpu",
            TypeError,
            "compared with a DeviceType such as DeviceType.kCPU, not",
        ),
        (lambda: data_type("x") == "float31", ValueError, "float31"),
        (lambda: (data_type("y") == "float32").holds(SUBJECT), LookupError, "no input or output 'y'"),
        (lambda: (attribute("axes") == 1).holds(SUBJECT), LookupError, "no attribute 'axes'; did you mean 'axis'"),
        (lambda: register_kernel("gather", matches=True), TypeError, "matches must be a condition"),
    ],
)
def test_wrong_conditions(make, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(").replace(")", r"\)").replace("|", r"\|")):
        make()


def test_the_highest_priority_that_matches_is_chosen():
    register_kernel("test_priority", matches=always(), name="any")(lambda subject: subject)
    register_kernel("test_priority", matches=attribute("axis") == 1, priority=2, name="one")(lambda subject: subject)
    register_kernel("test_priority", matches=attribute("axis") == 0, priority=3, name="zero")(lambda subject: subject)
    assert [kernel.name for kernel in kernels_of("test_priority")] == ["zero", "one", "any"]
    assert choose("test_priority", SUBJECT).name == "one"
    assert choose("test_priority", SUBJECT._replace(attributes={"axis": 0})).name == "zero"
    assert choose("test_priority", SUBJECT._replace(attributes={"axis": 5})).name == "any"


def test_ties_are_errors():
    register = register_kernel("test_ties", matches=attribute("axis") == 1, name="first")
    register(lambda subject: subject)
    with pytest.raises(DuplicateRegistrationError, match=r"ties with first \(priority 0\): attribute\(\"axis\"\) == 1"):
        register_kernel("test_ties", matches=attribute("axis") == 1)(lambda subject: subject)
    with pytest.raises(DuplicateRegistrationError, match="give one of them another priority"):
        register_kernel("test_ties")(lambda subject: subject)
    register_kernel("test_ties", matches=data_type("x") == "float32", name="second")(lambda subject: subject)
    with pytest.raises(DuplicateRegistrationError, match=r"kernels of test_ties tie for .* on cpu: first .*; second"):
        choose("test_ties", SUBJECT)
    assert choose("test_ties", SUBJECT._replace(attributes={"axis": 2})).name == "second"


def test_nothing_matches():
    exists = primitive_exists(ElementwiseUnaryFactory, UnaryOp.kExp, data_type("indices"), data_type("indices"))
    register_kernel("test_missing", matches=exists, name="only")(lambda subject: subject)
    words = r"^test_missing has no kernel for x float32, indices int64, out float32, .* on cpu: ElementwiseUnary\(kExp"
    with pytest.raises(UnsupportedPrimitiveError, match=words):
        choose("test_missing", SUBJECT)
    with pytest.raises(UnsupportedPrimitiveError, match=r"^test_none has no kernel for .* on cpu: it has none"):
        choose("test_none", SUBJECT)
    register_kernel("test_none", matches=attribute("axis") == 2, name="two")(lambda subject: subject)
    register_kernel("test_none", matches=attribute("axis") == 3, name="three")(lambda subject: subject)
    with pytest.raises(UnsupportedPrimitiveError, match=r"two: attribute\(\"axis\"\) is 1; three: attribute"):
        choose("test_none", SUBJECT)


def test_every_operator_has_a_kernel_and_says_what_it_is():
    for one in operators():
        assert kernels_of(one.name), one.name
        assert one.meaning.splitlines()[0].strip()
        # a call determines the layout of operands and the form of the work
        assert set(one.asked_for) <= {"strided", "is_piece", "is_depthwise"} | {
            attribute.name for attribute in one.attributes
        }
        assert getattr(ep.ops, one.name).__doc__
        assert all(getattr(ep.ops, alias) is getattr(ep.ops, one.name) for alias in one.aliases)


def test_kernels_are_made_once():
    relu, cast = operator_named("relu"), operator_named("cast")
    x = np.dtype(np.float32)
    assert relu.kernel(DeviceType.kCPU, [x], {})[0] is relu.kernel(DeviceType.kCPU, [x], {})[0]
    to = {name: cast.kernel(DeviceType.kCPU, [x], {"dtype": DataType[name]}) for name in ("kInt8", "kDouble")}
    assert [dtype for _, dtype in to.values()] == [np.int8, np.float64]
    threshold = operator_named("threshold")
    made = [
        threshold.kernel(DeviceType.kCPU, [x], {"threshold": 0.0, "value": value})[0]
        for value in (0.0, -0.0, float("nan"), float("nan"))
    ]
    assert len({id(kernel) for kernel in made}) == 3


OTHER_PACKAGE = """
import numpy as np
import ep.ops
from ep import DataType, DeviceType
from ep.ops.kernels import Kernel, data_type, device_type, register_kernel
from ep_numpy_device.device import kNumpy

x = np.array([[3, 1], [2, 4]], np.float32)
assert ep.ops.relu(-x).max() == 0

# for an operator that exists, on a device that exists, and types that it matches
@register_kernel("relu", matches=(device_type() == DeviceType.kCPU) & (data_type("x") == DataType.kFloat), priority=1)
class Seven(Kernel):
    def compute(self, call):
        call.outputs[0][...] = 7

assert (ep.ops.relu(-x) == 7).all() and ep.ops.relu(-x.astype("f8")).max() == 0

# on a device of its own, which has no primitive for this
y = ep.ops.copy_to_device(x, kNumpy)
try:
    ep.ops.permute(y, (1, 0))
    raise AssertionError
except ep.UnsupportedPrimitiveError as error:
    assert "no factory on numpy makes Permute" in str(error), error

@register_kernel("permute", matches=device_type() == kNumpy, priority=1)
class NumpyPermute(Kernel):
    def compute(self, call):
        call.outputs[0][...] = call.inputs[0].transpose(call.attributes["axes"])

assert ep.ops.copy_to_host(ep.ops.permute(y, (1, 0))).tolist() == [[3, 2], [1, 4]]
assert ep.ops.permute(x, (1, 0)).tolist() == [[3, 2], [1, 4]]
"""


def test_another_package_registers_kernels():
    run(OTHER_PACKAGE, str(EXAMPLE))


RENAMED = """
import numpy as np
import ep.ops
from ep import DataType
from ep.include.errors import Argument, ArgumentValueError
from ep.ops.kernels import PreparedKernel, data_type, register_kernel

class Two(ValueError):
    def __init__(self, one, two):
        super().__init__(one, two)

raised = []

@register_kernel("relu", matches=data_type("x") == DataType.kFloat, priority=1)
class Refuses(PreparedKernel):
    names = {"src": "x", "dst": "out", "a": "b"}

    def prepare(self, shapes, attributes):
        def launches(arrays, inputs, outputs):
            raise raised[-1]

        return launches

def refused(error):
    raised.append(error)
    try:
        ep.ops.relu(np.ones(3, np.float32))
    except ValueError as caught:
        assert caught is error and caught.__cause__ is None
        return str(caught)

known = ArgumentValueError("dst[0]", "is a 'src'; it must be", Argument("src"), "or a 'dst'")
assert refused(known) == "out[0] is a 'src'; it must be x or a 'dst'"
assert refused(ValueError("src is a src")) == "src is a src"  # it does not say which words are arguments
assert refused(Two("src", 2)) == "('src', 2)"
"""


def test_names_of_arguments_in_errors():
    """In errors of a kernel's launch, the operator's names replace those of arguments; all else is unchanged."""
    run(RENAMED)
