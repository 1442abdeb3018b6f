import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import MemsetFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
set_bytes = RequirePrimitive(MemsetFactory, DeviceType.kCPU)
out = np.zeros(3, np.int16)
set_bytes.Launch(stream, out, 1, 2 * out.itemsize)  # the count is in bytes
assert out.tolist() == [257, 257, 0]
