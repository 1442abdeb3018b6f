"""The base of the primitives on CUDA whose launches have dims."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.primitive.primitive import Request


class PlannedPrimitive(CudaPrimitive):
    """A primitive that keeps what follows from the dims of its launches, their *shapes*, for later ones."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._shapes = BoundedCache()

    @abstractmethod
    def _check(self, dims: Any) -> tuple[Hashable, Any]:
        """Check dims, strides or axes as Launch takes them; return them in tuples, in this order, and the shape."""

    def _shape(self, *dims: Any) -> Any:
        """Return the shape of a launch; raises what `_check` raises."""
        shape = self._shapes.find(*dims)
        if shape is None:
            key, shape = self._check(dims)
            self._shapes.put(key, shape)
        return shape
