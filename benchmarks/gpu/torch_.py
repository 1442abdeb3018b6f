"""PyTorch, on the same memory and stream: the `out=` forms of the CPU's benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import torch

from benchmarks.gpu.measure import Call, Operand
from benchmarks.peers import torch_
from ep.bench.case import BatchGatherWork, Case


class Adapter(torch_.Adapter):
    """The adapter of PyTorch. Makes the stream PyTorch's current one for this thread, permanently."""

    def __init__(self, stream: Any) -> None:
        super().__init__(1)
        self._device = torch.device("cuda", stream.device_index)
        torch.cuda.set_stream(torch.cuda.ExternalStream(stream.handle, device=self._device))

    def _tensor(self, operand: Operand) -> torch.Tensor:
        buffer = operand.buffer
        is_bfloat16 = buffer.dtype == ml_dtypes.bfloat16
        # without the device, PyTorch would copy to the host
        tensor = torch.as_tensor(buffer.view(np.int16) if is_bfloat16 else buffer, device=self._device)
        if tensor.data_ptr() != buffer.address:
            raise RuntimeError("PyTorch made a copy of the buffer")
        return (tensor.view(torch.bfloat16) if is_bfloat16 else tensor).view(operand.dims)

    def ways(self, case: Case, inputs: Sequence[Operand], out: Operand) -> Mapping[str, Call]:
        """Return the functions that compute a case into `out`, by name; empty if there is none."""
        tensors, result = list(map(self._tensor, inputs)), self._tensor(out)
        call = self._call(case, tensors, result)
        calls = {} if call is None else {"torch": call}
        if isinstance(case.work, BatchGatherWork):  # indexing reads an index once per row, gather once per element
            batches = torch.arange(case.work.batch, device=self._device)[:, None]
            index = [batches, tensors[1]]
            calls["torch index"] = partial(torch.ops.aten.index.Tensor_out, tensors[0], index, out=result)
        return calls
