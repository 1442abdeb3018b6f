import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import SoftmaxFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
softmax = RequirePrimitive(SoftmaxFactory, DeviceType.kCPU, "float32")
x = np.array([[1, 2, 3], [0, 0, 0]], np.float32)
y = np.empty((2, 3), np.float32)
softmax.Launch(stream, 2, 3, x, y)
e = np.exp(x)
np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-6)
