"""The base of the primitives on CUDA: it checks buffers by a signature, and resolves kernels once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar

from ep.common.compiling import compiling
from ep.common.primitive.signature import Signature
from ep.cuda.arrays.launch_buffers import ARRAY_TYPES, reader
from ep.cuda.compile.launch_config import Grid
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.current import driver
from ep.cuda.launch.known import ArrayTypes, Launched, launched
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Primitive, Request


class KernelPrimitive(Primitive):
    """A primitive whose Launch queues one of a few kernels, its *variants*."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._kernels: dict[tuple[int, Hashable], Any] = {}

    @abstractmethod
    def _kernel(self, variant: Any) -> Any:
        """Return the `KernelSource` of a variant; here Numba is imported."""

    @abstractmethod
    def _usual_variant(self) -> Any:
        """The variant of most launches."""

    def Prepare(self) -> None:
        self._load(driver().current_device(), self._usual_variant())

    def _queue(self, stream: CudaStream, variant: Hashable, num_items: int, *words: int) -> None:
        """Queue the kernel of a variant with threads for `num_items` > 0 items."""
        kernel = self._kernels.get((stream.device_index, variant))
        if kernel is None:
            kernel = self._load(stream.device_index, variant)
        kernel.launch(stream, num_items, *words)

    def _queue_grid(self, stream: CudaStream, variant: Hashable, grid: Grid, *words: int) -> None:
        """Queue the kernel of a variant with the blocks and threads of `grid`."""
        kernel = self._kernels.get((stream.device_index, variant))
        if kernel is None:
            kernel = self._load(stream.device_index, variant)
        kernel.launch_grid(stream, grid, *words)

    def _queue_steps(
        self, stream: CudaStream, num_bytes: int, steps: Callable[[int], Iterable[tuple[Any, Grid | int, Any]]]
    ) -> None:
        """Queue kernels in sequence.

        steps: returns the variant, the grid or the number of items, and the words of each, given the address of
            `num_bytes` bytes for what is between them; 0 for none.
        """
        if num_bytes:
            with stream.scratch(num_bytes) as memory:
                self._queue_each(stream, steps(memory.address))
        else:
            self._queue_each(stream, steps(0))

    def _queue_each(self, stream: CudaStream, steps: Iterable[tuple[Any, Grid | int, Any]]) -> None:
        for variant, extent, words in steps:
            if isinstance(extent, Grid):
                self._queue_grid(stream, variant, extent, *words)
            else:
                self._queue(stream, variant, extent, *words)

    def _queue_parts(
        self, stream: CudaStream, variants: tuple[Hashable, Hashable], plan: Any, dst: int, *read: Any
    ) -> None:
        """Queue a reduction by `plan`: one kernel, or one that reduces parts and one that merges them.

        variants: those of the two kernels. read: the operands of the first one.
        """
        first, finish = variants
        if plan.parts == 1:
            self._queue_grid(stream, first, plan.grid, *plan.part_words(dst, *read))
            return
        with stream.scratch(plan.scratch_bytes) as memory:
            self._queue_grid(stream, first, plan.grid, *plan.part_words(memory.address, *read))
            self._queue_grid(stream, finish, plan.finish_grid, *plan.finish_words(memory.address, dst))

    def _load(self, device: int, variant: Hashable) -> Any:
        def load() -> Any:
            from ep.cuda.compile import loader  # here Numba is imported

            return loader.load(driver(), device, self._kernel(variant))

        kernel = self._kernels[device, variant] = compiling(self.request, "cuda", load)
        return kernel


class CudaPrimitive(Launched, KernelPrimitive):
    """A primitive whose Launch checks its arguments by its signature."""

    signature: ClassVar[Signature]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._forward is None and cls._has_launch_of_contract():
            cls.Launch = launched(cls.Launch)  # type: ignore[method-assign]
            cls._forward = cls, cls.Launch.forward  # type: ignore[attr-defined]

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._types: Any = self.signature.data_types(self._data_types(request))

    def Prepare(self) -> None:
        super().Prepare()
        self.prepare_entry()

    def _array_types(self) -> ArrayTypes:
        return ARRAY_TYPES

    def _data_types(self, request: Request) -> Sequence[DataType]:
        """Return the data types by the numbers of the signature: those of New, unless an operand has another."""
        return request.dtypes or ()

    def _read(
        self,
        stream: CudaStream,
        buffers: Sequence[Any],
        counts: Sequence[int],
        in_place: bool = True,
        types: Sequence[DataType] | None = None,
    ) -> list[Any]:
        """Check the buffers of a launch, which must have this many elements each; return their addresses.

        types: the types of the operands, if Launch declares any type.
        """
        return self.signature.read(buffers, types or self._types, counts, reader(stream), in_place)
