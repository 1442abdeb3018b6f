import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import ArgSortFactory, SortOrder

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
arg_sort = RequirePrimitive(ArgSortFactory, DeviceType.kCPU, SortOrder.kDescending, "float32")
x = np.float32([[[5], [7], [6]], [[2], [2], [1]]])  # two rows of three elements: of inner size 1
places = np.empty((2, 2, 1), np.int64)
arg_sort.Launch(stream, 2, 3, 1, 2, x, places)  # the first two of each row
assert places.tolist() == [[[1], [2]], [[0], [1]]]
