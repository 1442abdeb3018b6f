"""An Expression on CUDA with rows: one launch, in which all passes are applied to each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.current import driver
from ep.cuda.engine.map.expression_plan import ExpressionShape, Layout
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionPlan, RowExpressionVariant
from ep.cuda.engine.reduce.row_program import RowProgram, has_row_kernel
from ep.cuda.primitive.expression_primitive import ExpressionPrimitive
from ep.include.primitive.primitive import Request


class RowExpression(ExpressionPrimitive):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._program: Any = RowProgram(self._structure) if has_row_kernel(self._structure) else None

    def _kernel(self, variant: RowExpressionVariant) -> Any:
        from ep.cuda.kernels.row_expression import kernel

        return kernel(self._program, variant)

    def _usual_variant(self) -> Any:
        program, rows = self._program, 64
        row, one = Layout((rows, 1024), None), Layout((rows, 1), None)
        layouts = [*[row] * len(program.structure.results), *program.operands.usual_layouts(rows)]
        values = (*program.structure.results, *range(len(program.structure.sources)))
        layouts = [one if program.reduced[value] else each for value, each in zip(values, layouts, strict=True)]
        properties = driver().properties(driver().current_device())
        plan = RowExpressionPlan(program, layouts, (rows, 1024))
        return plan.launch([0] * len(layouts), properties.shared_bytes_per_block).variant

    def _plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims, shape: ExpressionShape) -> Any:
        return RowExpressionPlan(self._program, self._program.operands.sides(layouts), dims.whole)

    def _queue_plan(self, stream: CudaStream, plan: Any, sides: Sequence[Any]) -> None:
        sides = self._program.operands.sides(sides)
        variant, grid, words, kept_bytes = plan.launch(sides, stream.shared_bytes)
        if not kept_bytes:
            self._queue_grid(stream, variant, grid, *words)
            return
        with stream.scratch(kept_bytes) as memory:
            self._queue_grid(stream, variant, grid, *words, memory.address)
