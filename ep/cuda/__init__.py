"""The CUDA device. Importing it registers the device, and imports neither Numba nor CUDA packages.

The module of a primitive registers its factory, and is imported when the primitive is first asked for.
"""

from ep.cuda.device_manager import CudaDeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.registry import register_primitive_package

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCUDA, CudaDeviceManager)
register_primitive_package(DeviceType.kCUDA, "ep.cuda.primitive")
