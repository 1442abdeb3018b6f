import numpy as np

from ep import BlasTransposeType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BatchMatmulFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
plain = BlasTransposeType.N
matmul = RequirePrimitive(BatchMatmulFactory, DeviceType.kCPU, "float32", plain, plain)
a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
b = np.ones((2, 3, 1), np.float32)
c = np.empty((2, 2, 1), np.float32)
matmul.Launch(stream, 2, 2, 1, 3, 1.0, a, b, 0.0, c)
assert c.ravel().tolist() == [3, 12, 21, 30]
