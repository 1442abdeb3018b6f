"""Errors of types that an operator does not take: in its words, with the types that it takes."""

import re

import numpy as np
import pytest

import ep
import ep.ops
from ep import DataType, UnaryOp, UnsupportedPrimitiveError
from ep.include.primitive.op_table import OPS, function_name
from tests.fuse.placing import placed

X = np.array([[1, 0, 1], [0, 1, 1]])
TYPES = [one for one in DataType if one is not DataType.kChar]
REFUSED = [
    (op, next(one for one in TYPES if one not in OPS[op].takes))
    for op in OPS
    if op is not UnaryOp.kCast and any(one not in OPS[op].takes for one in TYPES)
]
OTHERS = {
    "softmax": (lambda x: ep.ops.softmax(x), "int64", "x has"),
    "softmax_grad": (lambda x: ep.ops.softmax_grad(dy=x, y=x), "int32", "y and dy have"),
    "matmul": (lambda x: ep.ops.matmul(x, ep.ops.transpose(x)), "bool", "x1 and x2 have"),
    "max": (lambda x: ep.ops.max(x, 1), "complex64", "x has"),
    "conv": (lambda x: ep.ops.conv(ep.ops.expand(x, 1, 2, 3), ep.ops.expand(x, 1, 2, 3)), "int8", "x and w have"),
    "segment_sum": (lambda x: ep.ops.segment_sum(x, ep.ops.cast(ep.ops.any(x, 1), "int32"), 2), "bool", "data has"),
}


def checked(error, name, dtype, has):
    found = re.fullmatch(rf"{has} dtype {dtype}; {name} takes (.*) on (cpu|cuda); convert with astype, .*", str(error))
    assert found, error
    assert not re.search(r"\bk[A-Z]|Factory|primitive", str(error))
    return found[1].split(", ")


@pytest.mark.parametrize(("op", "given"), REFUSED, ids=lambda one: one.name)
def test_ops(op, given, device):
    operands, name = OPS[op].operands, function_name(op)
    attributes = {one.name: 1.0 for one in OPS[op].attributes if one.default is None}
    x = placed(device, X.astype(given.dtype))
    function = lambda *args: getattr(ep.ops, name)(*args, **attributes)  # noqa: E731
    has = f"{operands[0]} has" if len(operands) == 1 else f"{operands[0]} and {operands[1]} have"
    for each in (function, ep.fuse(function)):
        with pytest.raises(UnsupportedPrimitiveError) as error:
            each(*[x] * len(operands))
        takes = checked(error.value, name, given.dtype, has)
        for dtype in takes:
            function(*[placed(device, X.astype(dtype))] * len(operands))
        assert given.dtype.name not in takes


@pytest.mark.parametrize("name", OTHERS)
def test_other_operators(name, device):
    function, dtype, has = OTHERS[name]
    x = placed(device, X.astype(dtype))
    for each in (function, ep.fuse(function)):
        with pytest.raises(UnsupportedPrimitiveError) as error:
            each(x)
        assert "float32" in checked(error.value, name, dtype, has)
