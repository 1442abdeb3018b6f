"""The CUDA device. Importing it registers the device and its factories, and imports neither Numba nor CUDA packages."""

from ep.cuda.device_manager import CudaDeviceManager
from ep.cuda.primitive import (
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

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCUDA, CudaDeviceManager)
