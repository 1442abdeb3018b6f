"""Factories and a device manager that do nothing, for tests of the registry."""

from ep.include import DataType, Device, DeviceManager, DeviceType, DeviceUnavailableError
from ep.include.primitive import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
    CopyNd,
    CopyNdFactory,
    ElementwiseUnary,
    ElementwiseUnaryFactory,
    Fill,
    FillFactory,
    Gather,
    GatherFactory,
    Key,
    Request,
    UnaryOp,
)
from ep.include.primitive.binary_op import BinaryOp


class ToyGather(Gather):
    def Launch(
        self, stream, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, offset=0
    ):
        raise AssertionError("never launched")


class ToyGatherFactory(GatherFactory):
    keys = frozenset(
        Key(None, (data_type, index_type))
        for data_type in (DataType.kFloat, DataType.kDouble)
        for index_type in (DataType.kInt32, DataType.kInt64)
    )

    def Make(self, request: Request) -> ToyGather:
        return ToyGather(request)


class ToyUnary(ElementwiseUnary):
    def Launch(self, stream, src, dst, count):
        raise AssertionError("never launched")


class ToyUnaryFactory(ElementwiseUnaryFactory):
    keys = frozenset(
        Key(op, (DataType.kFloat, DataType.kFloat)) for op in (UnaryOp.kRelu, UnaryOp.kElu, UnaryOp.kThreshold)
    )

    def Make(self, request: Request) -> ToyUnary:
        return ToyUnary(request)


class ToyBinary(BroadcastElementwiseBinary):
    def Launch(self, stream, src0_dims, src0, src1_dims, src1, dst):
        raise AssertionError("never launched")


class ToyBinaryFactory(BroadcastElementwiseBinaryFactory):
    keys = frozenset({Key(BinaryOp.kAdd, (DataType.kFloat, DataType.kFloat))})

    def Make(self, request: Request) -> ToyBinary:
        return ToyBinary(request)


class ToyCopyNd(CopyNd):
    def Launch(self, stream, data_type, dst, dst_dims, dst_pos, src, src_dims, src_pos, extent):
        raise AssertionError("never launched")


class ToyCopyNdFactory(CopyNdFactory):
    keys = frozenset({Key(None, (DataType.kFloat,)), Key(None, (DataType.kInt8,))})

    def Make(self, request: Request) -> ToyCopyNd:
        return ToyCopyNd(request)


class ToyFill(Fill):
    def __init__(self, data_type: object) -> None:
        self.data_type = data_type

    def Launch(self, stream, dst, value, count):
        raise AssertionError("never launched")


class SelfMadeFillFactory(FillFactory):
    """A factory with its own New and without a table of keys."""

    def New(self, data_type):
        return ToyFill(data_type) if data_type in ("float32", DataType.kFloat) else None


class ToyManager(DeviceManager):
    """The manager of `count` devices, none of which can be opened."""

    count = 0
    active = 0

    def device_type(self) -> DeviceType:
        return DeviceType.kToy

    def GetDevice(self, device_index: int) -> Device:
        raise DeviceUnavailableError(self.WhyUnavailable())

    def GetDeviceCount(self) -> int:
        return self.count

    def GetActiveDeviceIndex(self) -> int:
        return self.active

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        self.active = device_index
