"""The registration of all primitives of a device that has kernels of structures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ep.common.primitive import keys
from ep.common.structured import maps, moves, rows
from ep.common.structured.expression import StructuredExpression
from ep.common.structured.kernels import StructureKernels
from ep.include import primitive as contracts
from ep.include.primitive.primitive import Factory, Key, Request
from ep.include.primitive.registry import register_primitive_factory

# mypy sees the abstract Launch of the contracts, in whose place `Primitive` puts a concrete one
_PRIMITIVES: Final[dict[Any, tuple[type[Factory[Any]], Iterable[Key]]]] = {
    maps.StructuredElementwiseUnary: (contracts.ElementwiseUnaryFactory, keys.ELEMENTWISE_UNARY),
    maps.StructuredCast: (contracts.CastFactory, keys.CAST),
    maps.StructuredBroadcastUnary: (contracts.BroadcastElementwiseUnaryFactory, keys.BROADCAST_ELEMENTWISE_UNARY),
    maps.StructuredBroadcastBinary: (contracts.BroadcastElementwiseBinaryFactory, keys.BROADCAST_ELEMENTWISE_BINARY),
    moves.StructuredExpand: (contracts.ExpandFactory, keys.EXPAND),
    moves.StructuredFill: (contracts.FillFactory, keys.FILL),
    moves.StructuredPermute: (contracts.PermuteFactory, keys.PERMUTE),
    moves.StructuredWhere: (contracts.WhereFactory, keys.WHERE),
    moves.StructuredGather: (contracts.GatherFactory, keys.GATHER),
    moves.StructuredBatchGather: (contracts.BatchGatherFactory, keys.BATCH_GATHER),
    rows.StructuredReduce: (contracts.ReduceFactory, keys.REDUCE),
    rows.StructuredSoftmax: (contracts.SoftmaxFactory, keys.SOFTMAX),
    rows.StructuredLogSoftmax: (contracts.LogSoftmaxFactory, keys.LOG_SOFTMAX),
    rows.StructuredBroadcastMatmul: (contracts.BroadcastMatmulFactory, keys.MATMUL),
}


def register_structured(kernels: StructureKernels) -> None:
    """Register the primitives whose structures a device supports, with these keys, and Expression."""
    for primitive, (interface, table) in _PRIMITIVES.items():
        supported = frozenset(key for key in table if kernels.supports(primitive.structure(*key)))
        if supported:
            _register(kernels, interface, keys=supported, Make=lambda _, request, of=primitive: of(request, kernels))

    def Select(_: Any, request: Request) -> StructuredExpression | None:
        return StructuredExpression(request, kernels) if kernels.supports(request.options["structure"]) else None

    _register(kernels, contracts.ExpressionFactory, Select=Select)


def _register(kernels: StructureKernels, interface: type[Factory[Any]], **body: Any) -> None:
    """Register a factory, which is of the package of the device."""
    factory = type(interface.__name__, (interface,), {"__module__": type(kernels).__module__, **body})
    register_primitive_factory(kernels.device_type, interface)(factory)
