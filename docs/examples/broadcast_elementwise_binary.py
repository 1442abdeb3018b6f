import numpy as np

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BroadcastElementwiseBinaryFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
add = RequirePrimitive(
    BroadcastElementwiseBinaryFactory, DeviceType.kCPU, BinaryOp.kAdd, "float32", "float32", max_num_dims=2
)
x, bias = np.ones((2, 3), np.float32), np.array([1, 2, 3], np.float32)
y = np.empty((2, 3), np.float32)
add.Launch(stream, (2, 3), x, (3,), bias, y)
assert y.tolist() == [[2, 3, 4]] * 2
add.Launch(stream, (2, 3), x, (), 0.5, y)  # an operand without dims may be a number
assert y.tolist() == [[1.5] * 3] * 2
