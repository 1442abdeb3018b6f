import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import AddFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
add = RequirePrimitive(AddFactory, DeviceType.kCPU, "float32")
branches = [np.full(5, value, np.float32) for value in (1, 2, 3)]
add.Launch(stream, branches, branches[0], 5)  # the result may be the memory of an operand
assert branches[0].tolist() == [6] * 5
