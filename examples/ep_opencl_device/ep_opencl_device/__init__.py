"""A device for ep: the memory, queues and compiler of OpenCL. Importing the package registers it."""

from ep import DeviceManagerRegistry
from ep.common.structured.register import register_structured
from ep_opencl_device.kernels import OpenCLKernels
from ep_opencl_device.manager import OpenCLDeviceManager
from ep_opencl_device.opencl import kOpenCL

DeviceManagerRegistry.RegisterDeviceManagerFactory(kOpenCL, OpenCLDeviceManager)
register_structured(OpenCLKernels())

__all__ = ["kOpenCL"]
