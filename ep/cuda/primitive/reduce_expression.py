"""An Expression on CUDA that only reduces: reductions along other axes than rows compute their input as they read
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.map.expression_plan import ExpressionShape, Layout
from ep.cuda.engine.reduce.expression_plan import MapStage, ReduceLaunch, Stages, StagesPlan, StageVariant
from ep.cuda.engine.reduce.row_expression_plan import RowVariant
from ep.cuda.engine.reduce.row_program import has_row_kernel
from ep.cuda.primitive.row_expression import RowExpression
from ep.include.primitive.primitive import Request


class ReduceExpression(RowExpression):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._stages, self._has_rows = Stages(self._structure), has_row_kernel(self._structure)

    def _kernel(self, variant: StageVariant | RowVariant) -> Any:
        if isinstance(variant, RowVariant):
            return super()._kernel(variant)
        from ep.cuda.engine.map.kernel import kernel as map_kernel
        from ep.cuda.engine.reduce.kernel import kernel as reduce_kernel
        from ep.cuda.engine.reduce.source import Computed
        from ep.cuda.kernels.expression import functor

        of_engine: Any  # the variant of the engine of the stage
        number, of_engine, read = variant
        stage = self._stages.stages[number]
        if isinstance(stage, MapStage):
            return map_kernel(functor(stage.operands.structure), of_engine)
        stored, computed = stage.stored, None if read is None else Computed(functor(stage.operands.structure), read)
        return reduce_kernel(stored.op, stored.loaded, stored.written, of_engine, computed)

    def _usual_variant(self) -> Any:
        if self._has_rows:
            return super()._usual_variant()
        stage = self._stages.stages[0]
        if isinstance(stage, MapStage):  # of what has one element for each result from the start
            return StageVariant(0, stage.map.usual)
        launch = stage.usual()
        return StageVariant(0, launch.variant, launch.read)

    def _plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims, shape: ExpressionShape) -> Any:
        if self._has_rows and dims.are_rows:
            return super()._plan(layouts, dims, shape)
        return self._stages.plan(layouts, dims)

    def _queue_plan(self, stream: CudaStream, plan: Any, sides: Sequence[Any]) -> None:
        if not isinstance(plan, StagesPlan):
            super()._queue_plan(stream, plan, sides)
        elif not plan.num_bytes:
            self._queue_stages(stream, plan, sides)
        else:
            with stream.scratch(plan.num_bytes) as memory:
                self._queue_stages(stream, plan, (*sides, memory.address))

    def _queue_stages(self, stream: CudaStream, plan: StagesPlan, sides: Sequence[Any]) -> None:
        for number, walk, places, shape in plan.works:
            given = [sides[side] + offset if offset else sides[side] for side, _, offset in places]
            stage = self._stages.stages[number]
            if isinstance(stage, MapStage):
                map_, words = stage.map.launch(walk, given)
                self._queue(stream, StageVariant(number, map_.variant), map_.num_items, *words)
            elif shape is not None:
                self._queue_reduction(stream, number, stage.launch(shape, walk, given[1:]), given[0])

    def _queue_reduction(self, stream: CudaStream, number: int, launch: ReduceLaunch, dst: int) -> None:
        plan, variant, read, sources, walk = launch
        variants = StageVariant(number, variant, read), StageVariant(number, plan.finish)
        self._queue_parts(stream, variants, plan, dst, sources, walk)
