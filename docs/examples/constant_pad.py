import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import ConstantPadFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
pad = RequirePrimitive(ConstantPadFactory, DeviceType.kCPU, "int32")
x = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
y = np.empty((3, 3), np.int32)
pad.Launch(stream, (2, 3), x, (1, -1), (0, 1), 0, y)  # a row before; a column less on the left, one more on the right
assert y.tolist() == [[0, 0, 0], [2, 3, 0], [5, 6, 0]]
