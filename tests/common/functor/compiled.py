"""Functors compiled with the CPU's math library and applied to arrays; the kernel cache keeps their loops."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.functor.lookup import functor_maker
from ep.common.source import function_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import loader, storer
from ep.cpu.kernels.math_library import cpu_math_library
from ep.include.data_type import as_data_type
from ep.include.number_kind import number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp

_LOOP = """
def loop(count, dst, attributes, {sources}):
    for i in range(count):
        store(dst, i, functor({elements}))
"""


@cache
def functor(op: UnaryOp | BinaryOp, scalar_type: type[np.generic]) -> Any:
    """Return the functor of `op` in the arithmetic of `scalar_type`, for calls from compiled code."""
    kind = number_kind(as_data_type(scalar_type))
    return cpu_math_library(scalar_type).use(functor_maker(op, kind))


def apply(
    op: UnaryOp | BinaryOp, operands: Sequence[np.ndarray], result: np.dtype, attributes: Sequence[float]
) -> np.ndarray:
    """Return `op` of the elements of the operands, of one type, as an array of type `result`."""
    dtype = operands[0].dtype
    values = np.array(attributes, _attribute_type(dtype.type))
    out = np.empty(operands[0].size, result)
    sources = [np.ascontiguousarray(operand) for operand in operands]
    assert {(source.dtype, source.size) for source in sources} == {(dtype, out.size)}
    assert values.size == len(attributes_of(op))
    loop = _loop(op, dtype.type, out.dtype.type)
    loop(out.size, *(array.ctypes.data for array in (out, values, *sources)))
    return out


def _attribute_type(scalar_type: type[np.generic]) -> type[np.generic]:
    return scalar_type if issubclass(scalar_type, np.floating) else np.float64


@cache
def _loop(op: UnaryOp | BinaryOp, scalar_type: type[np.generic], result: type[np.generic]) -> Callable[..., None]:
    """Return the compiled function (count, address of the result, of the attributes, and of each operand)."""
    sources = ("src0", "src1")[: 2 if isinstance(op, BinaryOp) else 1]
    elements = [f"load({source}, i)" for source in sources]
    elements += [f"load_attribute(attributes, {k})" for k in range(len(attributes_of(op)))]
    names = {
        "functor": functor(op, scalar_type),
        "load": loader(as_data_type(scalar_type)),
        "load_attribute": loader(as_data_type(_attribute_type(scalar_type))),
        "store": storer(as_data_type(result)),
    }
    source = _LOOP.format(sources=", ".join(sources), elements=", ".join(elements))
    words = 3 + len(sources)
    # as if the package defined it: only its sources are part of the keys of kernels on disk
    task = function_of(source, "loop", compile_task.__module__, names)
    name = f"test.functor.{op.name}.{scalar_type.__name__}.{result.__name__}"
    address = compile_task(name, task, words)
    return ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * words)(address)
