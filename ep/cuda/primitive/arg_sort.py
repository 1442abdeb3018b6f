"""ArgSort on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import ARG_SORT
from ep.common.primitive.sort_keys import as_sort_sizes, key_words
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.arg_sort_plan import ArgSortVariant, Task, arg_sort_plan, arg_sort_steps
from ep.cuda.engine.reduce.segment_plan import StepVariant
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.arg_sort import ArgSort, ArgSortFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request


@implements(ArgSortFactory, on=DeviceType.kCUDA, keys=ARG_SORT)
class ArgSortImpl(CudaPrimitive, ArgSort):
    signature = signatures.ARG_SORT

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._key_words = key_words(request.op, self._types[0])  # type: ignore[arg-type]

    def _data_types(self, request: Request) -> Any:
        return (*(request.dtypes or ()), DataType.kInt64)

    def _kernel(self, variant: Any) -> Any:
        from ep.cuda.engine.reduce.segment_kernels import step_kernel
        from ep.cuda.kernels.arg_sort import kernel

        of_digits = isinstance(variant, StepVariant)
        return step_kernel(variant, *self._types) if of_digits else kernel(self._types[0], variant)

    def _usual_variant(self) -> ArgSortVariant:
        return ArgSortVariant(Task.FIND)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, checked = check_stream(stream), as_sort_sizes(*sizes)
        x, places = self._read(stream, buffers, self.signature.counts(checked))
        if all(checked):
            plan, given = arg_sort_plan(self._types[0].itemsize, checked), (self._key_words, x, places)
            self._queue_steps(stream, plan.arrays[-1], lambda memory: arg_sort_steps(plan, *given, memory))
