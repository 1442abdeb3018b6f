import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import CastFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
cast = RequirePrimitive(CastFactory, DeviceType.kCPU, "float32", "int8")
x = np.array([1.9, -2.9, 100], np.float32)
y = np.empty(3, np.int8)
cast.Launch(stream, x, y, 3)
assert y.tolist() == [1, -2, 100]
