import numpy as np

from ep import DeviceManagerRegistry, DeviceType, MemcpyKind, RequirePrimitive
from ep.include.primitive import MemcpyFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
copy = RequirePrimitive(MemcpyFactory, DeviceType.kCPU, MemcpyKind.kAuto)
src, dst = np.arange(5), np.zeros(5, np.int64)
copy.Launch(stream, dst, src, 3 * src.itemsize)  # the count is in bytes
assert dst.tolist() == [0, 1, 2, 0, 0]
