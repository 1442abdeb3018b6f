"""The CPU device. Importing it registers the device and its factories; Numba is imported by the first launch."""

from ep.cpu.device_manager import CpuDeviceManager
from ep.cpu.primitive import (
    batch_gather,
    broadcast_elementwise_binary,
    elementwise_unary,
    expand,
    gather,
)
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

__all__ = ["batch_gather", "broadcast_elementwise_binary", "elementwise_unary", "expand", "gather"]

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCPU, CpuDeviceManager)
