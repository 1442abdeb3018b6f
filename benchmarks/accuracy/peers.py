"""The functions of NumPy and PyTorch that compute the ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from ep import UnaryOp as U

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]

_SAME: Final = (
    *(U.kExp, U.kExp2, U.kExpm1, U.kSqrt, U.kSquare, U.kLog, U.kLog2, U.kLog10, U.kLog1p),
    *(U.kSin, U.kCos, U.kTan, U.kSinh, U.kCosh, U.kTanh, U.kReciprocal),
)
_INVERSE: Final = (U.kAsin, U.kAcos, U.kAtan, U.kAsinh, U.kAcosh, U.kAtanh)
_NUMPY: Final = {op: op.name[1:].lower() for op in _SAME} | {op: f"arc{op.name[2:].lower()}" for op in _INVERSE}
_TORCH: Final = {
    op: op.name[1:].lower() for op in (*_SAME, *_INVERSE, U.kRsqrt, U.kSigmoid, U.kErf, U.kErfc, U.kLgamma, U.kDigamma)
}
_TORCH_ACTIVATIONS: Final = {
    **{
        op: op.name[1:].lower()
        for op in (
            *(U.kElu, U.kCelu, U.kSelu, U.kGelu, U.kSilu, U.kMish, U.kSoftPlus, U.kSoftSign, U.kLogSigmoid),
            *(U.kHardSwish, U.kHardSigmoid, U.kSoftShrink),
        )
    },
    U.kLeakyRelu: "leaky_relu",
}


def peers(op: U) -> Iterator[tuple[str, Function]]:
    """Yield the function of each library that has it and is installed, by the library's name."""
    if op in _NUMPY:
        yield "numpy", getattr(np, _NUMPY[op])
    if find_spec("torch") is None:
        return
    import torch

    if op in _TORCH:
        function = getattr(torch, _TORCH[op])
    elif op in _TORCH_ACTIVATIONS:
        function = getattr(torch.nn.functional, _TORCH_ACTIVATIONS[op])
    elif op is U.kTrigamma:
        function = lambda x: torch.polygamma(1, x)  # noqa: E731
    else:
        return
    yield "torch", lambda x: function(torch.from_numpy(x)).numpy()
