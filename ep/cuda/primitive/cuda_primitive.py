"""What the primitives on CUDA have in common: kernels that are resolved once, and attributes as words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

from ep.common.compiling import compiling
from ep.cuda.driver import driver
from ep.cuda.stream import CudaStream
from ep.include.primitive.primitive import Primitive, Request


class CudaPrimitive(Primitive):
    """A primitive whose Launch checks its arguments and queues one of a few kernels, its *variants*."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._kernels: dict[tuple[int, Hashable], Any] = {}

    @abstractmethod
    def _kernel(self, variant: Any) -> Any:
        """Return the `Kernel` of a variant; here Numba is imported."""

    @abstractmethod
    def _usual_variant(self) -> Any:
        """The variant that most launches take."""

    def Prepare(self) -> None:
        self._load(driver().current_device(), self._usual_variant())

    def _queue(self, stream: CudaStream, variant: Hashable, num_items: int, *words: int) -> None:
        """Queue the kernel of a variant with threads for `num_items` > 0 items."""
        kernel = self._kernels.get((stream.device_index, variant))
        if kernel is None:
            kernel = self._load(stream.device_index, variant)
        kernel.launch(stream, num_items, *words)

    def _load(self, device: int, variant: Hashable) -> Any:
        def load() -> Any:
            from ep.cuda.kernels import loader  # here Numba is imported

            return loader.load(driver(), device, self._kernel(variant))

        kernel = self._kernels[device, variant] = compiling(self.request, "cuda", load)
        return kernel
