"""The CPU device. Importing it registers the device and its factories; Numba is imported by the first launch."""

from ep.cpu.device_manager import CpuDeviceManager
from ep.cpu.primitive import (
    add,
    batch_gather,
    batch_matmul,
    broadcast_elementwise_binary,
    broadcast_elementwise_unary,
    broadcast_matmul,
    cast,
    constant_pad,
    copy_nd,
    elementwise_unary,
    expand,
    fill,
    gather,
    matmul,
    memcpy,
    memset,
    one_hot,
    permute,
    tensor_fill,
    where,
)
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

__all__ = [
    "add",
    "batch_gather",
    "batch_matmul",
    "broadcast_elementwise_binary",
    "broadcast_elementwise_unary",
    "broadcast_matmul",
    "cast",
    "constant_pad",
    "copy_nd",
    "elementwise_unary",
    "expand",
    "fill",
    "gather",
    "matmul",
    "memcpy",
    "memset",
    "one_hot",
    "permute",
    "tensor_fill",
    "where",
]

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCPU, CpuDeviceManager)
