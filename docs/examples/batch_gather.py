import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BatchGatherFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
gather = RequirePrimitive(BatchGatherFactory, DeviceType.kCPU, "float32", "int32")
params = np.arange(12, dtype=np.float32).reshape(2, 1, 3, 2)  # for each of 2 batches, a table of 3 rows of 2 elements
indices = np.array([[2], [0]], np.int32)  # each batch has its own
out = np.empty((2, 1, 1, 2), np.float32)
gather.Launch(stream, 2, 1, 3, 2, params, 1, indices, out)
assert out.tolist() == [[[[4, 5]]], [[[6, 7]]]]
