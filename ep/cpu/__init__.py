"""The CPU device. Importing it registers the device.

The module of a primitive registers its factory, and is imported when the primitive is first asked for. Numba is
imported when a kernel is first compiled.
"""

from ep.cpu.device_manager import CpuDeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.registry import register_primitive_package

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCPU, CpuDeviceManager)
register_primitive_package(DeviceType.kCPU, "ep.cpu.primitive")
