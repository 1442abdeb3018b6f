"""The parts of an op that are written by hand, and those of them that are missing."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ep import BinaryOp, UnaryOp
from ep.cpu.kernels.functors import row_functions
from ep.cuda.engine.map.functor import op_function
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, number_kind
from ep.include.primitive.op_definition import Gives
from ep.include.primitive.op_table import OPS, function_name
from ep.testing.references import binary, slopes, unary
from tests.ops.gradient_cases import RULES
from tests.ops.test_gradients_torch import THEIRS

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_GRADIENT = {
    BinaryOp.kScalarBasePowerGrad: "a gradient of second order",
    BinaryOp.kScalarExpPowerGrad: "a gradient of second order",
    BinaryOp.kZeta: "no op is its derivative with respect to x",
}
"""Ops of floating-point results without a gradient, and the reasons. Those of `is_backward` need none, either."""


def is_backward(op: UnaryOp | BinaryOp) -> bool:
    return "BackwardWith" in op.name


def missing_parts(op: UnaryOp | BinaryOp) -> Iterator[str]:
    """Yield what `op` lacks, and where it belongs; nothing for an op that is whole."""
    by_kind = {number_kind(source): source for source in OPS[op].takes}
    for kind, source in by_kind.items():
        for device, function in (("the CPU", _on_cpu), ("CUDA", op_function)):
            try:
                function(op, source)
            except (LookupError, AttributeError) as error:
                yield f"a functor for {kind.value} numbers on {device} ({error})"
        try:
            _reference(op, source)
        except (KeyError, TypeError):  # a function of mpmath takes no arrays
            yield f"a reference for {kind.value} numbers in ep/testing/references"
    if is_backward(op):
        if op not in slopes._SLOPES:
            yield "a slope in ep/testing/references/slopes.py"
        if not any(op in row.gradient for row in OPS.values()):
            yield "an op in ep/include/primitive/binary_op.py that it is the gradient of"
    elif _is_differentiable(op) and function_name(op) not in RULES and op not in WITHOUT_GRADIENT:
        yield "a gradient in ep/include/primitive/binary_op.py or in ep/ops, or a reason in WITHOUT_GRADIENT"
    elif function_name(op) in RULES.keys() - THEIRS.keys() and not any(map(is_backward, OPS[op].gradient)):
        yield "a gradient of PyTorch's to compare with, in tests/ops/test_gradients_torch.py"
    if op is not UnaryOp.kCast:
        if not re.search(rf"^def {function_name(op)}\(", (ROOT / "ep/ops/__init__.pyi").read_text(), re.MULTILINE):
            yield "its types in ep/ops/__init__.pyi: run python -m tools.ops_stub"
        if not re.search(rf"^\| \w+ \|.*\b{op.name}\b", (ROOT / "docs/support.md").read_text(), re.MULTILINE):
            yield "its row in docs/support.md: run python -m tools.support_table"


def _is_differentiable(op: UnaryOp | BinaryOp) -> bool:
    row = OPS[op]
    return row.gives is not Gives.BOOLEAN and not {*row.takes}.isdisjoint(FLOATS + COMPLEXES)


def _on_cpu(op: UnaryOp | BinaryOp, source: DataType) -> None:
    row_functions(op, source, OPS[op].result_type(source))


def _reference(op: UnaryOp | BinaryOp, source: DataType) -> None:
    x = np.ones(1, source.dtype)
    attributes = [1.0 if one.default is None else one.default for one in OPS[op].attributes]
    if isinstance(op, UnaryOp):
        unary.exact(op, x, *attributes)
    else:
        binary.exact(op, x, x, *attributes)
