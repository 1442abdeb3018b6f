"""Operators: functions on arrays that compute with primitives and nothing else.

Some move data, such as `gather`, `expand` and `permute`; and there is one function for each UnaryOp and BinaryOp. Those
are named in snake_case after the enumerator (kMax and kMin are `maximum` and `minimum`), and have the array API's names
as well: `multiply` is `mul`. All run on the device that their operands are on; a Python number goes along with any.

On the CPU they take whatever NumPy makes an array of and what exports DLPack from host memory, and return ndarrays. On
CUDA they take what exports DLPack or `__cuda_array_interface__` (PyTorch, CuPy, Numba, buffers of this package), and
return arrays that export both, at once: the work goes on while the host does. `copy_to_device` and `copy_to_host` move
arrays between host and device, which nothing else does.
"""

from __future__ import annotations

from typing import Any

from ep.include.suggest import did_you_mean
from ep.ops import binary, unary
from ep.ops.cast import astype, cast
from ep.ops.devices import copy_to_device, copy_to_host
from ep.ops.expand import expand
from ep.ops.full import full
from ep.ops.gather import gather
from ep.ops.join import concat, stack
from ep.ops.names import ALIASES, function_name
from ep.ops.one_hot import one_hot
from ep.ops.pad import pad
from ep.ops.permute import permute, permute_dims, transpose
from ep.ops.repeat import repeat, tile
from ep.ops.slice import slice
from ep.ops.split import split
from ep.ops.where import where

_OF_OPS = unary.FUNCTIONS | binary.FUNCTIONS
_OF_OPS |= {alias: _OF_OPS[function_name(op)] for op, alias in ALIASES.items()}
globals().update(_OF_OPS)

__all__ = [
    "astype",
    "cast",
    "concat",
    "copy_to_device",
    "copy_to_host",
    "expand",
    "full",
    "gather",
    "one_hot",
    "pad",
    "permute",
    "permute_dims",
    "repeat",
    "slice",
    "split",
    "stack",
    "tile",
    "transpose",
    "where",
]
__all__ += [*_OF_OPS]
__all__.sort()


def __getattr__(name: str) -> Any:
    hint = f"; did you mean '{name}imum'?" if name in ("max", "min") else did_you_mean(name, __all__)
    raise AttributeError(f"module 'ep.ops' has no attribute {name!r}{hint}")
