import numpy as np

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
elu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kElu, "float32", "float32", attr0=2.0)
x = np.array([-1, 0, 3], np.float32)
elu.Launch(stream, x, x, x.size)  # in place
np.testing.assert_allclose(x, [2 * np.expm1(-1), 0, 3], rtol=1e-6)
