"""Softmax on the CPU, and the base class of the four softmaxes."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX
from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax import Softmax, SoftmaxFactory
from ep.include.primitive.structure import RowOp


class SoftmaxPrimitive(CpuPrimitive):
    """A primitive on `[rows, cols]` elements."""

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.softmax import softmax_launcher

        (data_type,) = self.request.dtypes or ()
        op = RowOp[f"k{self.request.interface.__name__}"]
        return softmax_launcher(op, self.signature, self._state, data_type)


@implements(SoftmaxFactory, on=DeviceType.kCPU, keys=SOFTMAX)
class SoftmaxImpl(SoftmaxPrimitive, Softmax):
    signature = signatures.SOFTMAX
