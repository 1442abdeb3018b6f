"""Cases of unary ops: some are bound by memory, some by computation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.cases.common import FLOATS, RELATIVE_ERROR
from ep.bench import numpy_ways
from ep.bench.builders import unary
from ep.bench.case import Case
from ep.include.primitive import UnaryOp

_MEMORY_BOUND: Final = (UnaryOp.kRelu, UnaryOp.kAbs, UnaryOp.kNegative, UnaryOp.kIdentity)
_CORE: Final = (
    *(UnaryOp.kExp, UnaryOp.kLog, UnaryOp.kSin, UnaryOp.kTanh, UnaryOp.kSigmoid),
    *(UnaryOp.kErf, UnaryOp.kGelu, UnaryOp.kSilu),
)
_TRANSCENDENTAL: Final = (
    *_CORE,
    *(UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kLog1p, UnaryOp.kRsqrt),
    *(UnaryOp.kCos, UnaryOp.kTan, UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtan),
    *(UnaryOp.kSinh, UnaryOp.kCosh, UnaryOp.kAsinh, UnaryOp.kAcosh, UnaryOp.kAtanh),
    *(UnaryOp.kElu, UnaryOp.kSelu, UnaryOp.kFastGelu, UnaryOp.kQuickGelu, UnaryOp.kMish, UnaryOp.kSoftPlus),
    *(UnaryOp.kLogSigmoid, UnaryOp.kErfc, UnaryOp.kLgamma, UnaryOp.kDigamma),
)
_FLOAT32_CONSTANT: Final = 1e-6  # upstream has 0.044715 in float32
_POSITIVE: Final = (0.01, 100.0)
_DOMAINS: Final = {
    **dict.fromkeys((UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kRsqrt), _POSITIVE),
    **dict.fromkeys((UnaryOp.kLog1p, UnaryOp.kDigamma, UnaryOp.kLgamma), (0.01, 10.0)),
    **dict.fromkeys((UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtanh), (-0.99, 0.99)),
    **dict.fromkeys((UnaryOp.kSin, UnaryOp.kCos), (-100.0, 100.0)),
    UnaryOp.kTan: (-1.5, 1.5),
    UnaryOp.kAcosh: (1.01, 100.0),
}


def unary_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield every unary op that exists for `dtype`, on `size` elements."""
    for op in _MEMORY_BOUND:
        if op is not UnaryOp.kNegative or dtype in FLOATS:
            core = op in (UnaryOp.kRelu, UnaryOp.kAbs)
            yield unary_case(op, size, dtype, group="memory-bound", core=core)
    if dtype in FLOATS:
        for op in _TRANSCENDENTAL:
            error = max(RELATIVE_ERROR[dtype], _FLOAT32_CONSTANT if op is UnaryOp.kFastGelu else 0)
            yield unary_case(op, size, dtype, relative_error=error, group="transcendental", core=op in _CORE)


def unary_case(op: UnaryOp, size: int, dtype: np.dtype[Any], **about: Any) -> Case:
    """Return a case of an op on numbers of its domain."""
    way = numpy_ways.UNARY.get(op) or numpy_ways.ONE_BY_ONE[op]
    has_it = op in numpy_ways.UNARY
    name = op.name.removeprefix("k").lower()
    return unary(name, op, (size,), way, dtype=dtype, domain=_DOMAINS.get(op), numpy_has_it=has_it, **about)
