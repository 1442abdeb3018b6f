import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import GatherFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, "float32", "int64")
words = np.arange(12, dtype=np.float32).reshape(1, 4, 3)  # a table of 4 rows of 3 elements
indices = np.array([2, 0, 9])
out = np.empty((1, 3, 3), np.float32)
gather.Launch(stream, 1, 4, 3, words, indices.size, indices, out)
assert out.tolist() == [[[6, 7, 8], [0, 1, 2], [0, 0, 0]]]  # there is no row 9
