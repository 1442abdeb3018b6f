"""The manager of the devices of OpenCL."""

from ep.common.indexed_devices import IndexedDeviceManager
from ep.common.lazy import lazy
from ep.include.process import exclusively
from ep_opencl_device.arrays import ARRAYS
from ep_opencl_device.device import OpenCLDevice
from ep_opencl_device.opencl import cl, kOpenCL


class OpenCLDeviceManager(IndexedDeviceManager):
    """The devices of all platforms that compute in float64. OpenCL is loaded when they are first asked for."""

    def __init__(self):
        super().__init__(kOpenCL)

    @lazy
    def _found(self):
        """The devices, and why there are none."""
        return exclusively(_search)

    def new_device(self, index):
        return OpenCLDevice(self, index, self._found[0][index])

    def GetDeviceCount(self):
        return len(self._found[0])

    def WhyUnavailable(self):
        return self._found[1]

    def arrays(self):
        return ARRAYS


def _search():
    """Return the usable devices of OpenCL, and the reason if there are none."""
    try:
        present = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except Exception as error:  # without the library, without a platform, or from a driver
        return [], f"OpenCL cannot be used: {error}; pip install pyopencl pocl-binary-distribution runs it on the CPU"
    found = [device for device in present if "cl_khr_fp64" in device.extensions]
    return found, None if found else f"none of {len(present)} OpenCL devices has cl_khr_fp64, arithmetic in float64"
