import numpy as np

from ep import BlasTransposeType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import MatmulFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
matmul = RequirePrimitive(
    MatmulFactory, DeviceType.kCPU, "float32", BlasTransposeType.N, transpose_b=BlasTransposeType.T
)
a, b = np.ones((2, 3), np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
c = np.ones((2, 4), np.float32)
matmul.Launch(stream, 2, 4, 3, 2.0, a, b, 1.0, c)  # c = 2 a b^T + c
assert c.tolist() == [[7, 25, 43, 61]] * 2
