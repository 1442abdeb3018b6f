"""The device type and its device: that of `ep.common.host.device`, with facts for `ep devices` and `ep doctor`."""

import sys

import numpy as np

from ep import DeviceType
from ep.common.host.device import HostDevice, HostDeviceManager
from ep.include import Finding

kNumpy = DeviceType.Register("kNumpy", "numpy")


class NumpyDeviceManager(HostDeviceManager):
    """The manager of one device, number 0, which is always present."""

    def __init__(self):
        super().__init__(kNumpy)

    def new_device(self, index):
        return NumpyDevice(self)


class NumpyDevice(HostDevice):
    """The host as a device. Its buffers are ndarrays."""

    def facts(self):
        return {"numpy": np.__version__}

    def findings(self):
        yield Finding("byte order", "pass" if sys.byteorder == "little" else "fail", sys.byteorder)
