"""The CUDA device. Importing it registers the device and its factories, and imports neither Numba nor CUDA packages."""

from ep.cuda import kernel_cache  # first: from here on it watches the kernel sources
from ep.cuda.device_manager import CudaDeviceManager
from ep.cuda.primitive import batch_gather, broadcast_elementwise_binary, elementwise_unary, expand, gather
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

__all__ = ["batch_gather", "broadcast_elementwise_binary", "elementwise_unary", "expand", "gather", "kernel_cache"]

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCUDA, CudaDeviceManager)
