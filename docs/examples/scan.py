import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import ScanFactory, ScanOp

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
scan = RequirePrimitive(ScanFactory, DeviceType.kCPU, ScanOp.kSum, "float32")
src = np.float32([[[1], [2], [3]], [[4], [5], [6]]])  # two rows of three elements: of inner size 1
dst = np.empty_like(src)
scan.Launch(stream, 2, 3, 1, src, dst)
assert dst.tolist() == [[[1], [3], [6]], [[4], [9], [15]]]
