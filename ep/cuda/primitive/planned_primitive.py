"""The base of the primitives on CUDA whose launches have dims."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.primitive.primitive import Request


class PlannedPrimitive(CudaPrimitive):
    """A primitive that caches the plans for the dims of its launches, their *shapes*."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._shapes = BoundedCache()

    @abstractmethod
    def _check(self, dims: Any) -> tuple[Hashable, Any]:
        """Check dims, strides or axes, the arguments of Launch; return them as tuples, in this order, and the shape."""

    def _shape(self, *dims: Any) -> Any:
        """Return the shape of a launch; raises the errors of `_check`."""
        shape = self._shapes.find(*dims)
        if shape is None:
            key, shape = self._check(dims)
            self._shapes.put(key, shape)
        return shape
