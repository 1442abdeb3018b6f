"""CuPy: ufuncs with `out=`, including those of `cupyx.scipy.special`, `take` and `copyto`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import cupy
import cupyx
import cupyx.scipy.special

from benchmarks.gpu.peers import Operand
from ep.bench import numpy_ways
from ep.bench.case import (
    AddWork,
    BinaryWork,
    Case,
    CastWork,
    ExpandWork,
    FillWork,
    GatherWork,
    JoinWork,
    MatmulWork,
    OneHotWork,
    PadWork,
    PermuteWork,
    ReduceWork,
    SetBytesWork,
    SliceWork,
    UnaryWork,
    WhereWork,
)
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

_SPECIAL: Final[Any] = cupyx.scipy.special
_UNARY: Final[dict[UnaryOp, Any]] = {
    UnaryOp.kIdentity: lambda x, out: cupy.copyto(out, x),
    UnaryOp.kAbs: cupy.absolute,
    UnaryOp.kNegative: cupy.negative,
    UnaryOp.kRelu: lambda x, out: cupy.maximum(x, 0, out=out),
    UnaryOp.kExp: cupy.exp,
    UnaryOp.kExp2: cupy.exp2,
    UnaryOp.kExpm1: cupy.expm1,
    UnaryOp.kLog: cupy.log,
    UnaryOp.kLog2: cupy.log2,
    UnaryOp.kLog10: cupy.log10,
    UnaryOp.kLog1p: cupy.log1p,
    UnaryOp.kSqrt: cupy.sqrt,
    UnaryOp.kRsqrt: cupyx.rsqrt,
    UnaryOp.kSin: cupy.sin,
    UnaryOp.kCos: cupy.cos,
    UnaryOp.kTan: cupy.tan,
    UnaryOp.kAsin: cupy.arcsin,
    UnaryOp.kAcos: cupy.arccos,
    UnaryOp.kAtan: cupy.arctan,
    UnaryOp.kSinh: cupy.sinh,
    UnaryOp.kCosh: cupy.cosh,
    UnaryOp.kTanh: cupy.tanh,
    UnaryOp.kAsinh: cupy.arcsinh,
    UnaryOp.kAcosh: cupy.arccosh,
    UnaryOp.kAtanh: cupy.arctanh,
    UnaryOp.kSigmoid: _SPECIAL.expit,
    UnaryOp.kLogSigmoid: _SPECIAL.log_expit,
    UnaryOp.kErf: _SPECIAL.erf,
    UnaryOp.kErfc: _SPECIAL.erfc,
    UnaryOp.kLgamma: _SPECIAL.gammaln,
    UnaryOp.kDigamma: _SPECIAL.digamma,
}
_BINARY: Final[dict[BinaryOp, Any]] = {
    BinaryOp.kAdd: cupy.add,
    BinaryOp.kMul: cupy.multiply,
    BinaryOp.kPow: cupy.power,
    BinaryOp.kLessThan: cupy.less,
}
_REDUCE: Final[dict[ReduceOp, Any]] = {
    ReduceOp.kSum: cupy.sum,
    ReduceOp.kProd: cupy.prod,
    ReduceOp.kMin: cupy.min,
    ReduceOp.kMax: cupy.max,
    ReduceOp.kMean: cupy.mean,
    ReduceOp.kAny: cupy.any,
    ReduceOp.kAll: cupy.all,
}


class Adapter:
    """The adapter of CuPy. Makes the stream CuPy's current one for this thread, permanently."""

    name = "cupy"
    version: str = cupy.__version__

    def __init__(self, stream: Any) -> None:
        if not cupy.cuda.is_available():
            raise RuntimeError(f"CuPy {cupy.__version__} finds no GPU")
        cupy.cuda.Device(stream.device_index).use()
        self._device = stream.device_index
        self._stream = _external(stream)
        self._stream.use()

    def array(self, operand: Operand) -> Any:
        buffer = operand.buffer
        memory = cupy.cuda.UnownedMemory(buffer.address, buffer.nbytes, buffer, self._device)
        return cupy.ndarray(operand.dims, buffer.dtype, cupy.cuda.MemoryPointer(memory, 0))

    def prepare(self, case: Case, inputs: Sequence[Operand], out: Operand) -> Mapping[str, Callable[[], object]]:
        arrays, result = [self.array(operand) for operand in inputs], self.array(out)
        call: Callable[[], object] | None = None
        match case.work:
            case UnaryWork(op) if op in _UNARY:
                call = partial(_UNARY[op], arrays[0], out=result)
            case BinaryWork(op) if op in _BINARY:
                call = partial(_BINARY[op], *arrays, out=result)
            case GatherWork(outer=1):
                call = partial(cupy.take, arrays[0][0], arrays[1], axis=0, out=result[0])
            case GatherWork():
                call = partial(cupy.take, arrays[0], arrays[1], axis=1, out=result)
            case ExpandWork():
                call = partial(cupy.copyto, result, cupy.broadcast_to(arrays[0], out.dims))
            case CastWork(transposed=transposed):
                call = partial(cupy.copyto, result, arrays[0].T if transposed else arrays[0], casting="unsafe")
            case WhereWork():
                call = partial(_where, *arrays, result)
            case AddWork():
                call = partial(_add, arrays, result)
            case FillWork(value=None):
                call = partial(cupy.copyto, result, cupy.broadcast_to(arrays[0], out.dims))
            case FillWork(value=value):
                call = partial(result.fill, value)
            case OneHotWork():
                call = partial(_one_hot, cupy.arange(out.dims[0]), arrays[0], result)
            case PermuteWork(permutation):
                call = partial(cupy.copyto, result, arrays[0].transpose(permutation))
            case PadWork(before, _, value):
                call = partial(_pad, result, value, *numpy_ways.inside_border(arrays[0], before, result))
            case SliceWork(begin):
                call = partial(cupy.copyto, result, arrays[0][numpy_ways.box(begin, out.dims)])
            case JoinWork(axis):
                call = partial(cupy.concatenate, arrays, axis, out=result)
            case MatmulWork(transpose_b=transposed):
                second = arrays[1].swapaxes(-1, -2) if transposed else arrays[1]
                call = partial(cupy.matmul, arrays[0], second, out=result)
            case ReduceWork(op, axes):
                call = partial(_REDUCE[op], arrays[0], axis=axes, out=result)
            case SetBytesWork(value):
                call = partial(result.view(cupy.uint8).fill, value)
        # take_along_axis and softmax allocate their results, and scatter_add adds to existing values
        return {} if call is None else {"cupy": call}


def _where(chosen: Any, x: Any, y: Any, out: Any) -> None:
    """Compute where in two steps, since `cupy.where` allocates its result."""
    cupy.copyto(out, y)
    cupy.copyto(out, x, where=chosen)


def _add(srcs: Sequence[Any], out: Any) -> None:
    cupy.add(srcs[0], srcs[1], out=out)
    for src in srcs[2:]:
        cupy.add(out, src, out=out)


def _pad(out: Any, value: int, inside: Any, src: Any) -> None:
    out.fill(value)
    cupy.copyto(inside, src)


def _one_hot(rows: Any, indices: Any, out: Any) -> None:
    out.fill(0)
    out[rows, indices] = 1


class _Protocol:
    """A stream in the form in which libraries exchange it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def _external(stream: Any) -> Any:
    """Return CuPy's object for a stream; CuPy 14 creates it differently from earlier versions."""
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Protocol(stream.handle))
    return cupy.cuda.ExternalStream(stream.handle, stream.device_index)
