"""The plans of Expression, by what their structure has: rows, a product, or only elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cpu.engine.map.strided import StridedLoops, StridedOperand, StridedPlan, word_of
from ep.cpu.engine.map.strided_lines import strided_lines
from ep.cpu.kernels.expression import expression_kernel, writes_lines
from ep.cpu.kernels.product_expression import MappedProductPlan
from ep.cpu.kernels.row_expression import StagesPlan
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW
from ep.cpu.machine.caches import are_far
from ep.cpu.shared.context import ITSELF
from ep.include.primitive.structure import Structure


def expression_plan(structure: Structure, arrays: Sequence[np.ndarray[Any, Any]], dims: ExpressionDims) -> StridedPlan:
    """Return the plan of a launch of `arrays`, results first, which are not empty; compile the functions it calls."""
    if structure.has_rows:
        return StagesPlan(structure, arrays, *dims, dims.are_rows and structure.segment_sum is None)
    if structure.product is not None:
        return MappedProductPlan(structure, arrays, dims.whole)
    num_results = len(structure.results)
    plan = StridedPlan(arrays, num_results, dims.whole, chosen=[num_results + one for one in structure.chosen])
    if _has_lines(plan) and writes_lines(structure, plan.steps):
        _write_lines(plan, structure, arrays)
    else:
        plan.set(task=expression_kernel(structure, plan.steps))
    return plan


def _has_lines(plan: StridedPlan) -> bool:
    """Return whether launches are large, and have one result with few lines that are cut by the ends of rows."""
    size, inner = int(plan.words[StridedLoops.size]), int(plan.words[StridedLoops.inner])
    is_long = plan.words[StridedLoops.num_outer] == 0 or inner * size >= LEAST_STREAMED_ROW
    return size > 0 and is_long and are_far(int(plan.words[StridedLoops.num_bytes]))


def _write_lines(plan: StridedPlan, structure: Structure, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Make launches write lines of the one result with non-temporal stores, and prefetch what they read in order."""
    for k, array in enumerate(arrays[1:], 1):
        plan.words[word_of(k, StridedOperand.read_once)] = array.itemsize if plan.in_order[k] else 0
    program = expression_kernel(structure, plan.steps, streamed=(0,))
    plan.set(task=strided_lines(), program=program, streaming=ITSELF)
