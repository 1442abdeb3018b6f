"""What the group `pauses` calls: calculations of ep, NumPy and PyTorch, with results in arrays that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include import primitive as p
from ep.include.primitive import BlasTransposeType

Call = Callable[[], object]

SIDE: Final = 1024
PRODUCT: Final = 512
_F32: Final = np.dtype(np.float32)
_SEED: Final = 20


def array() -> np.ndarray[Any, Any]:
    """Return the array that is computed with."""
    return np.random.default_rng(_SEED).standard_normal((SIDE, SIDE)).astype(_F32)


def of_ep(a: np.ndarray[Any, Any], threads: int) -> dict[str, Call]:
    """Return launches by their names. a: from `array`."""
    _set_threads_of_ep(threads)
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    stream, out, size = device.CreateStream(), np.empty_like(a), a.size
    b, n = a[:PRODUCT, :PRODUCT].copy(), PRODUCT
    result, wide, rows = np.empty_like(b), np.empty_like(a, np.float64), _rows()

    def primitive(factory: Any, *key: Any) -> Any:
        return RequirePrimitive(factory, DeviceType.kCPU, *key)

    relu = primitive(p.ElementwiseUnaryFactory, UnaryOp.kRelu, _F32, _F32)
    add = primitive(p.BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, _F32, _F32, 2)
    matmul = primitive(p.MatmulFactory, _F32, BlasTransposeType.N, BlasTransposeType.N)
    softmax = primitive(p.SoftmaxFactory, _F32)
    gather = primitive(p.GatherFactory, _F32, rows.dtype)
    permute = primitive(p.PermuteFactory, 2)
    cast = primitive(p.CastFactory, _F32, wide.dtype)
    return {
        "relu": lambda: relu.Launch(stream, a, out, size),
        "add": lambda: add.Launch(stream, a.shape, a, a.shape, a, out),
        "matmul": lambda: matmul.Launch(stream, n, n, n, 1.0, b, b, 0.0, result),
        "softmax": lambda: softmax.Launch(stream, *a.shape, a, out),
        "gather": lambda: gather.Launch(stream, 1, *a.shape, a, rows.size, rows, out),
        "permute": lambda: permute.Launch(stream, _F32, a.shape, a, (1, 0), out),
        "cast": lambda: cast.Launch(stream, a, wide, size),
    }


def of_numpy(a: np.ndarray[Any, Any]) -> dict[str, Call]:
    """Return the calculations that NumPy has written kernels for."""
    out, b = np.empty_like(a), a[:PRODUCT, :PRODUCT].copy()
    result = np.empty_like(b)
    return {
        "relu": lambda: np.maximum(a, 0, out=out),
        "add": lambda: np.add(a, a, out=out),
        "matmul": lambda: np.matmul(b, b, out=result),
    }


def of_torch(array: np.ndarray[Any, Any], threads: int) -> dict[str, Call]:
    """Return the same calculations of PyTorch's."""
    import torch

    _set_threads_of_torch(threads)
    a = torch.from_numpy(array)
    out, b = torch.empty_like(a), a[:PRODUCT, :PRODUCT].clone()
    result, wide, rows = torch.empty_like(b), torch.empty_like(a, dtype=torch.float64), torch.from_numpy(_rows())
    return {
        "relu": lambda: torch.clamp_min(a, 0, out=out),
        "add": lambda: torch.add(a, a, out=out),
        "matmul": lambda: torch.matmul(b, b, out=result),
        "softmax": lambda: torch.softmax(a, -1, out=out),
        "gather": lambda: torch.index_select(a, 0, rows, out=out),
        "permute": lambda: out.copy_(a.t()),
        "cast": lambda: wide.copy_(a),
    }


def _rows() -> np.ndarray[Any, Any]:
    return np.random.default_rng(_SEED).integers(0, SIDE, SIDE)


def _set_threads_of_ep(number: int) -> None:
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    device.SetNumThreads(number)


def _set_threads_of_torch(number: int) -> None:
    import torch

    torch.set_num_threads(number)


SET_THREADS: Final[Mapping[str, Callable[[int], object]]] = {"ep": _set_threads_of_ep, "torch": _set_threads_of_torch}
"""Sets the threads of a library, by its name."""
