"""numexpr: compiled expressions with `out=`; it has neither gathers nor a copy that broadcasts."""

from __future__ import annotations

from functools import partial
from typing import Final

import numexpr
import numpy as np

from benchmarks.peers import Contender
from ep.bench.case import Array, Arrays, BinaryWork, Case, UnaryWork
from ep.include.primitive import BinaryOp, UnaryOp

_DTYPES: Final = tuple(map(np.dtype, (np.float32, np.float64, np.int32, np.int64, np.bool_)))
_UNARY: Final = {
    UnaryOp.kAbs: "abs(x)",
    UnaryOp.kNegative: "-x",
    UnaryOp.kRelu: "x * (x > 0)",  # takes a quarter of the time of where
    UnaryOp.kExp: "exp(x)",
    UnaryOp.kExpm1: "expm1(x)",
    UnaryOp.kLog: "log(x)",
    UnaryOp.kLog2: "log2(x)",
    UnaryOp.kLog10: "log10(x)",
    UnaryOp.kLog1p: "log1p(x)",
    UnaryOp.kRsqrt: "1 / sqrt(x)",
    UnaryOp.kSin: "sin(x)",
    UnaryOp.kCos: "cos(x)",
    UnaryOp.kTan: "tan(x)",
    UnaryOp.kAsin: "arcsin(x)",
    UnaryOp.kAcos: "arccos(x)",
    UnaryOp.kAtan: "arctan(x)",
    UnaryOp.kSinh: "sinh(x)",
    UnaryOp.kCosh: "cosh(x)",
    UnaryOp.kTanh: "tanh(x)",
    UnaryOp.kAsinh: "arcsinh(x)",
    UnaryOp.kAcosh: "arccosh(x)",
    UnaryOp.kAtanh: "arctanh(x)",
    UnaryOp.kSigmoid: "1 / (1 + exp(-x))",
    UnaryOp.kSilu: "x / (1 + exp(-x))",
    UnaryOp.kElu: "where(x > 0, x, expm1(x))",
    UnaryOp.kSoftPlus: "log1p(exp(x))",
    UnaryOp.kMish: "x * tanh(log1p(exp(x)))",
}
_BINARY: Final = {BinaryOp.kAdd: "x + y", BinaryOp.kMul: "x * y", BinaryOp.kPow: "x ** y", BinaryOp.kLessThan: "x < y"}


class Adapter:
    name = "numexpr"
    version = numexpr.__version__
    note = ""

    def __init__(self, threads: int) -> None:
        numexpr.set_num_threads(threads)

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        match case.work:
            case UnaryWork(op):
                expression = _UNARY.get(op)
                if op is UnaryOp.kAbs and out.dtype.kind == "i":
                    expression = "where(x < 0, -x, x)"  # its abs returns float64
            case BinaryWork(op):
                expression = _BINARY.get(op)
            case _:
                expression = None
        if expression is None or any(array.dtype not in _DTYPES for array in (*inputs, out)):
            return None
        operands = dict(zip("xy", inputs, strict=False))
        # compiled once; a call runs the last compiled expression, so only one contender can exist at a time
        if error := numexpr.validate(expression, operands, out=out):
            raise error
        return Contender(partial(numexpr.re_evaluate, operands), lambda: out)
