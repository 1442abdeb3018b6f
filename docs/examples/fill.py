import ml_dtypes
import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import FillFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
fill = RequirePrimitive(FillFactory, DeviceType.kCPU, "bfloat16")
weights = np.empty(5, ml_dtypes.bfloat16)
fill.Launch(stream, weights, 0.5, weights.size)
assert (weights == 0.5).all()
