"""An Expression on CUDA with rows: one launch, in which all passes are applied to each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.limits import SHARED_BYTES
from ep.cuda.engine.map.expression_plan import ExpressionShape, Layout
from ep.cuda.engine.reduce.row_expression_plan import RowPlan, RowVariant
from ep.cuda.engine.reduce.row_program import RowProgram
from ep.cuda.primitive.expression_primitive import ExpressionPrimitive
from ep.include.primitive.primitive import Request


class RowExpression(ExpressionPrimitive):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._program = RowProgram(self._structure)

    def _kernel(self, variant: RowVariant) -> Any:
        from ep.cuda.kernels.row_expression import kernel

        return kernel(self._program, variant)

    def _usual_variant(self) -> Any:
        structure, reduced = self._structure, self._structure.are_reduced()
        values = (*structure.results, *range(len(structure.sources)))
        layouts = [Layout((64, 1 if reduced[value] else 1024), None) for value in values]
        return RowPlan(self._program, layouts, (64, 1024)).launch([0] * len(values), SHARED_BYTES).variant

    def _plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims, shape: ExpressionShape) -> Any:
        return RowPlan(self._program, layouts, dims.whole)

    def _queue_plan(self, stream: CudaStream, plan: Any, sides: Sequence[Any]) -> None:
        variant, grid, words, kept_bytes = plan.launch(sides, stream.shared_bytes)
        if not kept_bytes:
            self._queue_grid(stream, variant, grid, *words)
            return
        with stream.scratch(kept_bytes) as memory:
            self._queue_grid(stream, variant, grid, *words, memory.address)
