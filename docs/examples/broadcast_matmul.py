import numpy as np

from ep import BlasTransposeType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BroadcastMatmulFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
plain = BlasTransposeType.N
matmul = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, "float32", plain, plain, max_num_dims=3)
a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
weights = np.ones((3, 1), np.float32)  # the same for both batches
c = np.empty((2, 2, 1), np.float32)
matmul.Launch(stream, 1.0, a.shape, a, weights.shape, weights, 0.0, c.shape, c)
assert c.ravel().tolist() == [3, 12, 21, 30]
