import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BatchUnsortedSegmentSumFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
segment_sum = RequirePrimitive(BatchUnsortedSegmentSumFactory, DeviceType.kCPU, "float32", "int64")
data = np.array([[1, 2, 4], [8, 16, 32]], np.float32)
ids = np.array([[0, 1, 0], [1, 1, 1]])  # each batch has its own
out = np.empty((2, 2), np.float32)
segment_sum.Launch(stream, 2, 1, 2, 1, data, 3, ids, out)
assert out.tolist() == [[5, 2], [0, 56]]
