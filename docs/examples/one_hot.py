import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import OneHotFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
one_hot = RequirePrimitive(OneHotFactory, DeviceType.kCPU, "int64", "float32")
labels = np.array([1, 3])
out = np.empty((2, 2), np.float32)
one_hot.Launch(stream, labels, out, 1.0, 0.0, labels.size, 0, 2)  # the classes 0 and 1 of more
assert out.tolist() == [[0, 1], [0, 0]]
