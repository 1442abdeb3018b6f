"""PyTorch on the GPU: the same `out=` forms as on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import torch

from benchmarks.gpu.peers import Operand
from benchmarks.peers import torch_
from ep.bench.case import BatchGatherWork, Case


class Adapter(torch_.Adapter):
    """The adapter of PyTorch. Makes the stream PyTorch's current one for this thread, permanently."""

    def __init__(self, stream: Any) -> None:
        if not torch.cuda.is_available():
            raise RuntimeError(f"PyTorch {torch.__version__} finds no GPU")
        super().__init__(1)
        self._device = torch.device("cuda", stream.device_index)
        torch.cuda.set_stream(torch.cuda.ExternalStream(stream.handle, device=self._device))

    def array(self, operand: Operand) -> torch.Tensor:
        buffer = operand.buffer
        is_bfloat16 = buffer.dtype == ml_dtypes.bfloat16
        # without the device, PyTorch would copy to the host
        tensor = torch.as_tensor(buffer.view(np.int16) if is_bfloat16 else buffer, device=self._device)
        if tensor.data_ptr() != buffer.address:
            raise RuntimeError("PyTorch made a copy of the buffer")
        return (tensor.view(torch.bfloat16) if is_bfloat16 else tensor).view(operand.dims)

    def prepare(  # type: ignore[override]
        self, case: Case, inputs: Sequence[Operand], out: Operand
    ) -> Mapping[str, Callable[[], object]]:
        tensors, result = [self.array(operand) for operand in inputs], self.array(out)
        call = self._call(case, tensors, result)
        calls = {} if call is None else {"torch": call}
        if isinstance(case.work, BatchGatherWork):  # indexing reads an index once per row, gather once per element
            batches = torch.arange(case.work.batch, device=self._device)[:, None]
            calls["torch index"] = partial(
                torch.ops.aten.index.Tensor_out, tensors[0], [batches, tensors[1]], out=result
            )
        return calls
