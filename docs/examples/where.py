import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import WhereFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
where = RequirePrimitive(WhereFactory, DeviceType.kCPU, "bool", "float32", max_num_dims=2)
keep = np.array([True, False, True])
x = np.arange(6, dtype=np.float32).reshape(2, 3)
z = np.empty((2, 3), np.float32)
where.Launch(stream, (3,), keep, (2, 3), x, (), -1.0, z)
assert z.tolist() == [[0, -1, 2], [3, -1, 5]]
