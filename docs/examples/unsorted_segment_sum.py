import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import UnsortedSegmentSumFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
segment_sum = RequirePrimitive(UnsortedSegmentSumFactory, DeviceType.kCPU, "float32", "int64")
gradients = np.array([[1, 1], [2, 2], [4, 4]], np.float32)
words = np.array([2, 0, 2])  # the rows that a gather read
out = np.empty((3, 2), np.float32)
segment_sum.Launch(stream, 1, 3, 2, gradients, words.size, words, out)
assert out.tolist() == [[2, 2], [0, 0], [5, 5]]
