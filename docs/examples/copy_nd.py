import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import CopyNdFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
copy = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, max_num_dims=2)
picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
box = np.zeros((2, 2), np.uint8)
copy.Launch(stream, "uint8", box, (2, 2), (0, 0), picture, (3, 4), (1, 2), extent=(2, 2))
assert box.tolist() == [[6, 7], [10, 11]]
