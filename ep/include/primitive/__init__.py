"""The primitives: their contracts, and the functions that return them."""

from ep.include.primitive.add import Add, AddFactory
from ep.include.primitive.arg_sort import ArgSort, ArgSortFactory
from ep.include.primitive.batch_gather import BatchGather, BatchGatherFactory
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.batch_scatter import BatchScatter, BatchScatterFactory
from ep.include.primitive.batch_unsorted_segment_sum import BatchUnsortedSegmentSum, BatchUnsortedSegmentSumFactory
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastBinary,
    BroadcastBinaryFactory,
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.broadcast_elementwise_unary import BroadcastElementwiseUnary, BroadcastElementwiseUnaryFactory
from ep.include.primitive.broadcast_matmul import BroadcastMatmul, BroadcastMatmulFactory
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.log_softmax import LogSoftmax, LogSoftmaxFactory
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward, LogSoftmaxBackwardFactory
from ep.include.primitive.matmul import Matmul, MatmulFactory
from ep.include.primitive.memcpy import Memcpy, MemcpyFactory, MemcpyKind
from ep.include.primitive.memset import Memset, MemsetFactory
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.permute import Permute, PermuteFactory
from ep.include.primitive.primitive import Factory, Key, Primitive, Request, kMaxNumDims
from ep.include.primitive.reduce import Reduce, ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.registry import (
    Entry,
    NewPrimitive,
    RequirePrimitive,
    implemented,
    register_primitive_factory,
    registered,
)
from ep.include.primitive.scan import Scan, ScanFactory
from ep.include.primitive.scan_op import ScanOp
from ep.include.primitive.scatter_op import ScatterOp
from ep.include.primitive.softmax import Softmax, SoftmaxFactory
from ep.include.primitive.softmax_backward import SoftmaxBackward, SoftmaxBackwardFactory
from ep.include.primitive.sort_order import SortOrder
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory
from ep.include.primitive.tree_aggregate import TreeAggregate
from ep.include.primitive.tree_ensemble import TreeEnsemble, TreeEnsembleFactory
from ep.include.primitive.unary_op import UnaryOp
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSum, UnsortedSegmentSumFactory
from ep.include.primitive.where import Where, WhereFactory

__all__ = [
    "Add",
    "AddFactory",
    "ArgSort",
    "ArgSortFactory",
    "BatchGather",
    "BatchGatherFactory",
    "BatchMatmul",
    "BatchMatmulFactory",
    "BatchScatter",
    "BatchScatterFactory",
    "BatchUnsortedSegmentSum",
    "BatchUnsortedSegmentSumFactory",
    "BinaryOp",
    "BlasTransposeType",
    "BroadcastBinary",
    "BroadcastBinaryFactory",
    "BroadcastElementwiseBinary",
    "BroadcastElementwiseBinaryFactory",
    "BroadcastElementwiseUnary",
    "BroadcastElementwiseUnaryFactory",
    "BroadcastMatmul",
    "BroadcastMatmulFactory",
    "Cast",
    "CastFactory",
    "ConstantPad",
    "ConstantPadFactory",
    "CopyNd",
    "CopyNdFactory",
    "ElementwiseUnary",
    "ElementwiseUnaryFactory",
    "Entry",
    "Expand",
    "ExpandFactory",
    "Expression",
    "ExpressionFactory",
    "Factory",
    "Fill",
    "FillFactory",
    "Gather",
    "GatherFactory",
    "Key",
    "LogSoftmax",
    "LogSoftmaxBackward",
    "LogSoftmaxBackwardFactory",
    "LogSoftmaxFactory",
    "Matmul",
    "MatmulFactory",
    "Memcpy",
    "MemcpyFactory",
    "MemcpyKind",
    "Memset",
    "MemsetFactory",
    "NewPrimitive",
    "OneHot",
    "OneHotFactory",
    "Permute",
    "PermuteFactory",
    "Primitive",
    "Reduce",
    "ReduceFactory",
    "ReduceOp",
    "Request",
    "RequirePrimitive",
    "Scan",
    "ScanFactory",
    "ScanOp",
    "ScatterOp",
    "Softmax",
    "SoftmaxBackward",
    "SoftmaxBackwardFactory",
    "SoftmaxFactory",
    "SortOrder",
    "TensorFill",
    "TensorFillFactory",
    "TreeAggregate",
    "TreeEnsemble",
    "TreeEnsembleFactory",
    "UnaryOp",
    "UnsortedSegmentSum",
    "UnsortedSegmentSumFactory",
    "Where",
    "WhereFactory",
    "implemented",
    "implements",
    "kMaxNumDims",
    "register_primitive_factory",
    "registered",
]


def __dir__() -> list[str]:
    return __all__
