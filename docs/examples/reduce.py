import numpy as np

from ep import DeviceManagerRegistry, DeviceType, ReduceOp, RequirePrimitive
from ep.include.primitive import ReduceFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
mean = RequirePrimitive(ReduceFactory, DeviceType.kCPU, ReduceOp.kMean, "float32", max_num_dims=2)
x = np.array([[1, 2, 3], [5, 5, 5]], np.float32)
means = np.empty(2, np.float32)
mean.Launch(stream, (2, 3), x, (1,), means)
assert means.tolist() == [2, 5]
