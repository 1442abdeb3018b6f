"""The CUDA device. Importing it registers the device and its factories, and imports neither Numba nor CUDA packages."""

from ep.cuda.device_manager import CudaDeviceManager
from ep.cuda.primitive import (
    batch_gather,
    broadcast_elementwise_binary,
    constant_pad,
    copy_nd,
    elementwise_unary,
    expand,
    gather,
    memcpy,
    memset,
    permute,
)
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

__all__ = [
    "batch_gather",
    "broadcast_elementwise_binary",
    "constant_pad",
    "copy_nd",
    "elementwise_unary",
    "expand",
    "gather",
    "memcpy",
    "memset",
    "permute",
]

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCUDA, CudaDeviceManager)
