import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import TensorFillFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
fill = RequirePrimitive(TensorFillFactory, DeviceType.kCPU, "float64")
value = np.array([2.5])  # one element, in the memory of the device
out = np.empty(4)
fill.Launch(stream, value, out, out.size)
assert out.tolist() == [2.5] * 4
