"""Softmax on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax import Softmax, SoftmaxFactory
from ep.include.stream import Stream


@implements(SoftmaxFactory, on=DeviceType.kCPU, keys=SOFTMAX)
class SoftmaxImpl(SoftmaxPrimitive, Softmax):
    signature = signatures.SOFTMAX

    @launched
    def Launch(self, stream: Stream, rows: int, cols: int, x: Any, y: Any) -> None:
        self._launch_unplanned(stream, (rows, cols), (x, y))
