import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import LogSoftmaxBackwardFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
backward = RequirePrimitive(LogSoftmaxBackwardFactory, DeviceType.kCPU, "float64")
y = np.log([[0.2, 0.3, 0.5]])  # what LogSoftmax returned
dy = np.array([[1.0, 0.0, 0.0]])
dx = np.empty((1, 3))
backward.Launch(stream, 1, 3, y, dy, dx)
np.testing.assert_allclose(dx, dy - np.exp(y) * dy.sum())
