import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import BroadcastElementwiseUnaryFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
negative = RequirePrimitive(
    BroadcastElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kNegative, "float32", "float32", max_num_dims=2
)
x = np.arange(6, dtype=np.float32)
y = np.empty((3, 2), np.float32)
negative.Launch(stream, (3, 2), x, (3, 2), y, src_strides=(1, 3))  # x read as a matrix of 2 x 3, transposed
assert y.tolist() == [[0, -3], [-1, -4], [-2, -5]]
