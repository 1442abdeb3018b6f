"""PyTorch: the `out=` forms, including those of the activations, which `torch.nn.functional` does not expose."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import ml_dtypes
import numpy as np
import torch

from benchmarks.peers import Contender
from ep.bench import numpy_ways
from ep.bench.case import (
    AddWork,
    Array,
    Arrays,
    BatchGatherWork,
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
    ScanWork,
    ScatterWork,
    SegmentSumWork,
    SetBytesWork,
    SliceWork,
    SoftmaxWork,
    SortWork,
    UnaryWork,
    WhereWork,
)
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

_NN: Final[Any] = torch._C._nn
_SELU: Final = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
_SAME_NAME: Final = (
    *(UnaryOp.kAbs, UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10),
    *(UnaryOp.kLog1p, UnaryOp.kSqrt, UnaryOp.kRsqrt, UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kTan, UnaryOp.kAsin),
    *(UnaryOp.kAcos, UnaryOp.kAtan, UnaryOp.kSinh, UnaryOp.kCosh, UnaryOp.kTanh, UnaryOp.kAsinh, UnaryOp.kAcosh),
    *(UnaryOp.kAtanh, UnaryOp.kSigmoid, UnaryOp.kErf, UnaryOp.kErfc, UnaryOp.kLgamma, UnaryOp.kDigamma),
    UnaryOp.kNegative,
)
_UNARY: Final[dict[UnaryOp, Callable[..., object]]] = {
    **{op: getattr(torch, op.name[1:].lower()) for op in _SAME_NAME},
    UnaryOp.kIdentity: lambda x, out: out.copy_(x),
    UnaryOp.kRelu: lambda x, out: torch.clamp_min(x, 0, out=out),  # relu has no out=
    UnaryOp.kGelu: _NN.gelu,
    UnaryOp.kFastGelu: partial(_NN.gelu, approximate="tanh"),
    UnaryOp.kQuickGelu: lambda x, out: torch.mul(x, 1.702, out=out).sigmoid_().mul_(x),
    UnaryOp.kSilu: _NN.silu,
    UnaryOp.kMish: _NN.mish,
    UnaryOp.kSoftPlus: _NN.softplus,
    UnaryOp.kElu: _NN.elu,
    UnaryOp.kSelu: lambda x, out: _NN.elu(x, *_SELU, out=out),
    UnaryOp.kLogSigmoid: _NN.log_sigmoid,
}
_BINARY: Final[dict[BinaryOp, Callable[..., object]]] = {
    BinaryOp.kAdd: torch.add,
    BinaryOp.kMul: torch.mul,
    BinaryOp.kMax: torch.maximum,
    BinaryOp.kPow: torch.pow,
    BinaryOp.kLessThan: torch.lt,
}


class Adapter:
    name = "torch"
    version = torch.__version__
    note = ""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        call = self._call(case, [_tensor(array) for array in inputs], _tensor(out))
        return None if call is None else Contender(call, lambda: out)

    def _call(self, case: Case, inputs: list[torch.Tensor], out: torch.Tensor) -> Callable[[], object] | None:
        match case.work:
            case UnaryWork(op) if op in _UNARY:
                return partial(_UNARY[op], inputs[0], out=out)
            case BinaryWork(op) if op in _BINARY:
                return partial(_BINARY[op], *inputs, out=out)
            case GatherWork(outer=1):
                return partial(torch.index_select, inputs[0][0], 0, inputs[1], out=out[0])
            case GatherWork():
                return partial(torch.index_select, inputs[0], 1, inputs[1], out=out)
            case BatchGatherWork():
                index = inputs[1][:, :, None].expand(out.shape)
                return partial(torch.gather, inputs[0], 1, index, out=out)
            case ExpandWork():
                return partial(out.copy_, inputs[0].expand(out.shape))
            case CastWork(transposed=True):
                return partial(out.copy_, inputs[0].T)
            case CastWork():
                return partial(out.copy_, inputs[0])
            case WhereWork():
                return partial(torch.where, *inputs, out=out)
            case AddWork():
                return partial(_add, inputs, out)
            case FillWork(value):
                return partial(out.fill_, inputs[0][0] if value is None else value)
            case OneHotWork():
                return partial(_one_hot, inputs[0].to(torch.int64)[:, None], out)
            case PermuteWork(permutation):
                return partial(out.copy_, inputs[0].permute(permutation))
            case PadWork(before, _, value):
                return partial(_pad, out, value, *numpy_ways.inside_border(inputs[0], before, out))
            case SliceWork(begin):
                return partial(out.copy_, inputs[0][numpy_ways.box(begin, out.shape)])
            case JoinWork(axis):
                return partial(torch.cat, inputs, axis, out=out)
            case MatmulWork(transpose_b=transpose_b):
                a, b = inputs
                return partial(torch.matmul, a, b.mT if transpose_b else b, out=out)
            case SoftmaxWork(log, backward):
                return partial(_SOFTMAXES[log, backward], inputs, out)
            case ReduceWork(op, axes):
                return _reduce(op, inputs[0], axes, out)
            case ScanWork(axis):
                return partial(torch.cumsum, inputs[0], axis, dtype=out.dtype, out=out)
            case SortWork(1):
                return partial(torch.argmax, inputs[0], -1, keepdim=True, out=out)
            case SortWork(num_places):
                return partial(_places, inputs[0], num_places, out)
            case SegmentSumWork():
                return partial(_segment_sum, *inputs, out)
            case ScatterWork():
                return partial(out.index_copy_, 0, inputs[1], inputs[0])
            case SetBytesWork(value):
                return partial(out.view(torch.uint8).fill_, value)
        return None


_SOFTMAXES: Final[dict[tuple[bool, bool], Callable[..., object]]] = {
    (False, False): lambda inputs, out: torch.softmax(inputs[0], -1, out=out),
    (True, False): lambda inputs, out: torch.log_softmax(inputs[0], -1, out=out),
    (False, True): lambda inputs, out: torch.ops.aten._softmax_backward_data.out(
        inputs[1], inputs[0], -1, out.dtype, grad_input=out
    ),
    (True, True): lambda inputs, out: torch.ops.aten._log_softmax_backward_data.out(
        inputs[1], inputs[0], -1, out.dtype, out=out
    ),
}


def _reduce(op: ReduceOp, src: torch.Tensor, axes: tuple[int, ...], out: torch.Tensor) -> Callable[[], object] | None:
    match op:
        case ReduceOp.kSum:
            return partial(torch.sum, src, axes, dtype=out.dtype, out=out)
        case ReduceOp.kMean:
            return partial(torch.mean, src, axes, out=out)
        case ReduceOp.kMax:
            return partial(torch.amax, src, axes, out=out)
        case ReduceOp.kMin:
            return partial(torch.amin, src, axes, out=out)
        case ReduceOp.kAny if len(axes) == 1:
            return partial(torch.any, src, axes[0], out=out)
    return None


def _places(x: torch.Tensor, num_places: int, out: torch.Tensor) -> None:
    if num_places == x.shape[-1]:
        torch.sort(x, dim=-1, descending=True, stable=True, out=(torch.empty_like(x), out))
    else:
        torch.topk(x, num_places, out=(torch.empty_like(x[:, :num_places]), out))


def _segment_sum(rows: torch.Tensor, ids: torch.Tensor, out: torch.Tensor) -> None:
    if out.ndim > 2:  # one batch after the other
        ids = (ids + out.shape[1] * torch.arange(len(ids))[:, None]).flatten()
        rows, out = rows.flatten(0, 1), out.flatten(0, 1)
    out.zero_().index_add_(0, ids, rows)


def _add(srcs: list[torch.Tensor], out: torch.Tensor) -> None:
    torch.add(srcs[0], srcs[1], out=out)
    for src in srcs[2:]:
        out.add_(src)


def _one_hot(indices: torch.Tensor, out: torch.Tensor) -> None:
    out.zero_().scatter_(1, indices, 1)


def _pad(out: torch.Tensor, value: int, inside: torch.Tensor, src: torch.Tensor) -> None:
    out.fill_(value)  # like torch.nn.functional.pad, which has no out=
    inside.copy_(src)


def _tensor(array: Array) -> torch.Tensor:
    """Return a tensor on the array's memory."""
    is_bfloat16 = array.dtype == ml_dtypes.bfloat16
    tensor: torch.Tensor = torch.from_numpy(array.view(np.int16) if is_bfloat16 else array)
    return tensor.view(torch.bfloat16) if is_bfloat16 else tensor
