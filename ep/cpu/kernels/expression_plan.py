"""The plan of a launch of an Expression: of one map, of a product and its map, or of stages if it reduces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cpu.engine.map.strided import StridedPlan
from ep.cpu.kernels.expression import expression_kernel
from ep.cpu.kernels.product_expression import MappedProductPlan
from ep.cpu.kernels.row_expression import StagesPlan
from ep.include.primitive.structure import Structure


def expression_plan(structure: Structure, arrays: Sequence[np.ndarray[Any, Any]], dims: ExpressionDims) -> StridedPlan:
    """Return the plan of a launch of `arrays`, results first, which are not empty; compile the functions it calls."""
    if structure.has_rows:
        return StagesPlan(structure, arrays, *dims, dims.are_rows and structure.segment_sum is None)
    if structure.product is not None:
        return MappedProductPlan(structure, arrays, dims.whole)
    num_results = len(structure.results)
    plan = StridedPlan(arrays, num_results, dims.whole, chosen=[num_results + one for one in structure.chosen])
    plan.set(task=expression_kernel(structure, plan.steps))
    return plan
