import numpy as np

from ep import BinaryOp, DataType, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ExpressionFactory
from ep.include.primitive.structure import Step, Structure

stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
real = DataType.kFloat
# values 0 and 1 are read; 2 is their product, 3 its square root; both are written
steps = (Step(BinaryOp.kMul, (0, 1), real), Step(UnaryOp.kSqrt, (2,), real))
expression = RequirePrimitive(ExpressionFactory, DeviceType.kCPU, Structure((real, real), (), steps, (2, 3)))
x, y = np.array([[1, 4], [9, 16]], np.float32), np.array([4, 1], np.float32)
product, root = np.empty((2, 2), np.float32), np.empty((2, 2), np.float32)
expression.Launch(stream, (product, root), (x, y))
assert product.tolist() == [[4, 4], [36, 16]]
assert root.tolist() == [[2, 2], [6, 4]]
