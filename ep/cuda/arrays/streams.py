"""The streams that operators launch on, and their order with those of other libraries."""

from __future__ import annotations

import sys
from typing import Any

from ep.common.lazy import once
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.interface import LEGACY_STREAM
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType


@once
def default_stream(device_index: int) -> CudaStream:
    """Return the stream that operators launch on, one for each device."""
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, device_index)
    stream: CudaStream = device.CreateStream()
    return stream


def current_stream_of(value: Any, device_index: int) -> int:
    """Return the handle of the current stream of the library of an array.

    It is the default stream if the current one is unknown.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        return int(sys.modules["torch"].cuda.current_stream(device_index).cuda_stream)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream(device_index).ptr)
    return LEGACY_STREAM
