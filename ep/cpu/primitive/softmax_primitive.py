"""The base class of the four softmaxes on the CPU: rows that are read several times."""

from __future__ import annotations

from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.primitive.structure import RowOp


class SoftmaxPrimitive(CpuPrimitive):
    """A primitive on `[rows, cols]` elements."""

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.softmax import softmax_launcher

        (data_type,) = self.request.dtypes or ()
        op = RowOp[f"k{self.request.interface.__name__}"]
        return softmax_launcher(op, self.signature, self._state, data_type)
