import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import PermuteFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
permute = RequirePrimitive(PermuteFactory, DeviceType.kCPU, max_num_dims=3)
x = np.arange(6, dtype=np.int16).reshape(1, 2, 3)
y = np.empty((3, 1, 2), np.int16)
permute.Launch(stream, "int16", (1, 2, 3), x, (2, 0, 1), y)
assert np.array_equal(y, x.transpose(2, 0, 1))
