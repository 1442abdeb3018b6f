"""A description of the parts of a device that the suite tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ep.include import DeviceType
from ep.include import primitive as contracts
from ep.include.primitive import Factory, implemented
from ep.testing.keys import registered_keys

TESTED: Final = (
    contracts.FillFactory,
    contracts.TensorFillFactory,
    contracts.OneHotFactory,
    contracts.WhereFactory,
    contracts.AddFactory,
    contracts.CastFactory,
    contracts.GatherFactory,
    contracts.BatchGatherFactory,
    contracts.ExpandFactory,
    contracts.ElementwiseUnaryFactory,
    contracts.BroadcastElementwiseUnaryFactory,
    contracts.BroadcastElementwiseBinaryFactory,
    contracts.PermuteFactory,
    contracts.CopyNdFactory,
    contracts.ConstantPadFactory,
    contracts.MemcpyFactory,
    contracts.MemsetFactory,
    contracts.SoftmaxFactory,
    contracts.LogSoftmaxFactory,
    contracts.SoftmaxBackwardFactory,
    contracts.LogSoftmaxBackwardFactory,
    contracts.ReduceFactory,
    contracts.ScanFactory,
    contracts.ArgSortFactory,
    contracts.TreeEnsembleFactory,
    contracts.UnsortedSegmentSumFactory,
    contracts.BatchUnsortedSegmentSumFactory,
    contracts.BatchScatterFactory,
    contracts.MatmulFactory,
    contracts.BatchMatmulFactory,
    contracts.BroadcastMatmulFactory,
)
"""The contracts of primitives that have a test module in `ep.testing.primitive`."""

OPEN: Final = (contracts.ExpressionFactory,)
"""The contracts whose keys are structures of unlimited number: a device lists none."""

ALL: Final[tuple[type[Factory[Any]], ...]] = tuple(
    sorted(
        {getattr(contracts, name) for name in contracts.__all__ if name.endswith("Factory")} - {Factory},
        key=lambda factory: str(factory.primitive.__name__),
    )
)
"""The contracts of all primitives, by name."""


def describe(device_type: DeviceType) -> Iterator[str]:
    """Yield one line for each part of a device type that is tested or not tested."""
    there = implemented(device_type)
    keys = {factory: len(registered_keys(device_type, factory)) for factory in ALL}
    tested = [f"{_name(factory)} ({keys[factory]} keys)" for factory in TESTED if keys[factory]]
    tested += [f"{_name(factory)} (of some structures)" for factory in OPEN if factory in there]
    yield f"tested: device, memory, streams, events{''.join(f', {text}' for text in tested)}"
    lines = {
        "registered, and NOT tested: the suite has no tests of it": [f for f in ALL if keys[f] and f not in TESTED],
        "registered without a table of keys, and so NOT tested": [
            f for f in ALL if f in there and not keys[f] and f not in OPEN
        ],
        "not registered": [f for f in ALL if f not in there],
    }
    for what, factories in lines.items():
        if factories:
            yield f"{what}: {', '.join(map(_name, factories))}"


def _name(factory: type[Factory[Any]]) -> str:
    return factory.primitive.__name__
