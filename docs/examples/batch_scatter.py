import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BatchScatterFactory, ScatterOp

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
scatter = RequirePrimitive(BatchScatterFactory, DeviceType.kCPU, ScatterOp.kAdd, "float32", "int64")
updates = np.array([[1, 2, 4], [8, 16, 32]], np.float32)
indices = np.array([[0, 1, 0], [1, 1, 1]])  # each batch has its own
out = np.full((2, 2), 0.5, np.float32)
scatter.Launch(stream, 2, 1, 2, 1, updates, 3, indices, out)
assert out.tolist() == [[5.5, 2.5], [0.5, 56.5]]
