"""A device for ep: the host's memory, and a few primitives in NumPy. Importing the package registers them."""

from ep import DeviceManagerRegistry
from ep_numpy_device import primitives
from ep_numpy_device.device import NumpyDeviceManager, kNumpy

DeviceManagerRegistry.RegisterDeviceManagerFactory(kNumpy, NumpyDeviceManager)

__all__ = ["kNumpy", "primitives"]
