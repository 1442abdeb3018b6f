import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import SoftmaxBackwardFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
backward = RequirePrimitive(SoftmaxBackwardFactory, DeviceType.kCPU, "float64")
y = np.array([[0.2, 0.3, 0.5]])  # what Softmax returned
dy = np.array([[1.0, 0.0, 0.0]])
dx = np.empty((1, 3))
backward.Launch(stream, 1, 3, y, dy, dx)
np.testing.assert_allclose(dx, y * (dy - (y * dy).sum()))
