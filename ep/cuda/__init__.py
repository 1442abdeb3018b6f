"""The CUDA device. Importing it registers the device; `ep.cuda.primitive` registers its factories.

Neither imports Numba or CUDA packages.
"""

from ep.cuda.device_manager import CudaDeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

DeviceManagerRegistry.RegisterDeviceManagerFactory(DeviceType.kCUDA, CudaDeviceManager)
