import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import TreeAggregate, TreeEnsembleFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
ensemble = RequirePrimitive(TreeEnsembleFactory, DeviceType.kCPU, TreeAggregate.kSum, "float32")
threshold, low, high = np.float32([2.5, 10, 20]).view(np.int32).tolist()
nodes = np.int32([threshold, 1, 10, 5, 5, low, 0, 0, 0, 0, high, 0, 0, 0, 0])  # feature 1 above 2.5 leads to the last
x = np.float32([[9, 1], [9, 3], [9, np.nan]])
out = np.empty((3, 1), np.float32)
ensemble.Launch(stream, 3, 2, 1, nodes.size, 1, x, nodes, np.zeros(1, np.int32), out)
assert out.tolist() == [[10], [20], [10]]
