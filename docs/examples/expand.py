import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import ExpandFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
expand = RequirePrimitive(ExpandFactory, DeviceType.kCPU, "bool", 4)
mask = np.array([True, False, True])
masks = np.empty((2, 2, 3), np.bool_)
expand.Launch(stream, (1, 1, 3), mask, (2, 2, 3), masks)
assert masks.tolist() == [[[True, False, True]] * 2] * 2
