"""Operators: functions on arrays that compute with primitives and nothing else.

`gather`, `expand`, `repeat`, and one function for each UnaryOp (but kCast) and BinaryOp, named in snake_case after the
enumerator. They run on the device that their operands are on, all on one; a Python number goes along with any.

On the CPU they take whatever NumPy makes an array of and what exports DLPack from host memory, and return ndarrays. On
CUDA they take what exports DLPack or `__cuda_array_interface__` (PyTorch, CuPy, Numba, buffers of this package), and
return arrays that export both, at once: the work goes on while the host does. `copy_to_device` and `copy_to_host` move
arrays between host and device, which nothing else does.
"""

from __future__ import annotations

from ep.ops import binary, unary
from ep.ops.devices import copy_to_device, copy_to_host
from ep.ops.expand import expand
from ep.ops.gather import gather
from ep.ops.repeat import repeat

globals().update(unary.FUNCTIONS)
globals().update(binary.FUNCTIONS)

__all__ = ["copy_to_device", "copy_to_host", "expand", "gather", "repeat"]
__all__ += [*unary.FUNCTIONS, *binary.FUNCTIONS]
__all__.sort()
