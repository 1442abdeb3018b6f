"""The CPU device. Importing it registers the device; `ep.cpu.primitive` registers its factories."""

from ep.cpu.device_manager import CpuDeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCPU, CpuDeviceManager)
