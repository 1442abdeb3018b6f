"""The kernels of sums of segments, by the variants of their steps."""

from __future__ import annotations

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.engine.reduce import long_runs, segment_sum, sort
from ep.cuda.engine.reduce.segment_plan import SUMS, Folding, Step, StepVariant
from ep.cuda.engine.reduce.source import Computed
from ep.include.data_type import DataType


def step_kernel(
    variant: StepVariant,
    data_type: DataType,
    ids_type: DataType,
    computed: Computed | None = None,
    folding: Folding = SUMS,
) -> KernelSource:
    """Return the kernel of a step. computed: rows that are computed as they are added."""
    step, number, bits, size = variant
    return {
        Step.KEYS: lambda: segment_sum.key_kernel(ids_type, number, bits),
        Step.SORT_BLOCK: lambda: sort.block_kernel(number),
        Step.COUNT: lambda: sort.count_kernel(number),
        Step.SCAN: lambda: sort.scan_kernel(number),
        Step.SCATTER: lambda: sort.scatter_kernel(number),
        Step.BEGINS: lambda: segment_sum.begin_kernel(number),
        Step.SUM: lambda: segment_sum.sum_kernel(data_type, number, size, bits, computed, folding),
        Step.COUNT_PARTS: lambda: long_runs.count_kernel(number),
        Step.LIST_PARTS: lambda: long_runs.list_kernel(number),
        Step.SUM_PARTS: lambda: long_runs.part_kernel(data_type, number, size, bits, computed, folding),
        Step.SUM_LONG: lambda: long_runs.sum_kernel(data_type, number, bits, folding),
    }[step]()
