"""JAX: functions compiled by XLA. They have no `out=`; each call donates the previous result as memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

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
    ScatterWork,
    SegmentSumWork,
    SliceWork,
    UnaryWork,
    WhereWork,
)
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp

_SAME_NAME: Final = (
    *(UnaryOp.kAbs, UnaryOp.kNegative, UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kLog, UnaryOp.kLog2),
    *(UnaryOp.kLog10, UnaryOp.kLog1p, UnaryOp.kSqrt, UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kTan, UnaryOp.kAsin),
    *(UnaryOp.kAcos, UnaryOp.kAtan, UnaryOp.kSinh, UnaryOp.kCosh, UnaryOp.kTanh, UnaryOp.kAsinh, UnaryOp.kAcosh),
    UnaryOp.kAtanh,
)
_UNARY: Final[dict[UnaryOp, Callable[[Any], Any]]] = {
    **{op: getattr(jnp, op.name[1:].lower()) for op in _SAME_NAME},
    UnaryOp.kIdentity: lambda x: jnp.array(x, copy=True),
    UnaryOp.kRelu: lambda x: jnp.maximum(x, 0),
    UnaryOp.kRsqrt: jax.lax.rsqrt,
    UnaryOp.kSigmoid: jax.nn.sigmoid,
    UnaryOp.kLogSigmoid: jax.nn.log_sigmoid,
    UnaryOp.kErf: jax.lax.erf,
    UnaryOp.kErfc: jax.lax.erfc,
    UnaryOp.kLgamma: jax.lax.lgamma,
    UnaryOp.kDigamma: jax.lax.digamma,
    UnaryOp.kGelu: lambda x: jax.nn.gelu(x, approximate=False),
    UnaryOp.kFastGelu: jax.nn.gelu,
    UnaryOp.kQuickGelu: lambda x: x * jax.nn.sigmoid(1.702 * x),
    UnaryOp.kSilu: jax.nn.silu,
    UnaryOp.kMish: jax.nn.mish,
    UnaryOp.kSoftPlus: jax.nn.softplus,
    UnaryOp.kElu: jax.nn.elu,
    UnaryOp.kSelu: jax.nn.selu,
}
_BINARY: Final = {
    BinaryOp.kAdd: jnp.add,
    BinaryOp.kMul: jnp.multiply,
    BinaryOp.kPow: jnp.power,
    BinaryOp.kLessThan: jnp.less,
}
_REDUCTIONS: Final = {
    ReduceOp.kSum: jnp.sum,
    ReduceOp.kMean: jnp.mean,
    ReduceOp.kMax: jnp.max,
    ReduceOp.kMin: jnp.min,
    ReduceOp.kAny: jnp.any,
    ReduceOp.kAll: jnp.all,
}


class Adapter:
    name = "jax"
    version = jax.__version__
    note = "no out=: the result before is donated to the call; threads through NPROC, read when it starts"

    def __init__(self, threads: int) -> None:
        jax.config.update("jax_enable_x64", True)

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        function = _function(case)
        if function is None:
            return None
        # the last argument is not read: its memory becomes the result's
        compiled = jax.jit(lambda *given: function(*given[:-1]), donate_argnums=len(inputs), keep_unused=True)
        arrays = [jax.device_put(array, may_alias=True) for array in inputs]
        results = [jnp.zeros(case.out_dims, case.out_type)]

        def call() -> None:
            results[0] = compiled(*arrays, results[0])
            results[0].block_until_ready()

        return Contender(call, lambda: np.asarray(results[0]))


def _function(case: Case) -> Any:
    match case.work:
        case UnaryWork(op):
            return _UNARY.get(op)
        case BinaryWork(op):
            return _BINARY.get(op)
        case GatherWork():
            return lambda params, indices: jnp.take(params, indices, axis=1, mode="clip")
        case BatchGatherWork():
            return lambda params, indices: jax.vmap(lambda p, i: jnp.take(p, i, axis=0, mode="clip"))(params, indices)
        case ExpandWork():
            return lambda src: jnp.broadcast_to(src, case.out_dims)
        case CastWork(transposed):
            return lambda src: (src.T if transposed else src).astype(case.out_type)
        case MatmulWork(transpose_b=transpose_b):
            return lambda a, b: jnp.matmul(a, jnp.matrix_transpose(b) if transpose_b else b)
        case WhereWork():
            return jnp.where
        case AddWork():
            return lambda *srcs: functools.reduce(jnp.add, srcs)
        case FillWork(value):
            return lambda *src: jnp.full(case.out_dims, src[0][0] if value is None else value, case.out_type)
        case OneHotWork():
            return lambda indices: jax.nn.one_hot(indices, case.out_dims[-1], dtype=case.out_type)
        case PermuteWork(permutation):
            return lambda src: jnp.transpose(src, permutation)
        case PadWork(before, after, value):
            config = [(front, behind, 0) for front, behind in zip(before, after, strict=True)]
            return lambda src: jax.lax.pad(src, src.dtype.type(value), config)
        case SliceWork(begin):
            return lambda src: src[numpy_ways.box(begin, case.out_dims)]
        case JoinWork(axis):
            return lambda *srcs: jnp.concatenate(srcs, axis)
        case ReduceWork(op, axes) if op in _REDUCTIONS:
            return lambda src: _REDUCTIONS[op](src, axes).astype(case.out_type)
        case SegmentSumWork():
            return lambda rows, ids: _segment_sum(rows, ids, jnp.zeros(case.out_dims, case.out_type))
        case ScatterWork():
            return lambda rows, places: jnp.zeros(case.out_dims, case.out_type).at[places].set(rows)
    return None


def _segment_sum(rows: Any, ids: Any, out: Any) -> Any:
    return out.at[ids if ids.ndim == 1 else (jnp.arange(len(ids))[:, None], ids)].add(rows)
