"""An Expression on CUDA that only reduces: reductions along other axes than rows compute their input as they read
it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cuda.compile.launch_config import Grid
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.map.expression_plan import ExpressionShape, Layout
from ep.cuda.engine.reduce.expression_plan import (
    MapStage,
    ReduceLaunch,
    SegmentShape,
    SegmentStage,
    Stages,
    StagesPlan,
    StageVariant,
)
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionVariant
from ep.cuda.engine.reduce.segment_plan import Step, StepVariant
from ep.cuda.engine.reduce.segment_steps import StepLaunch
from ep.cuda.engine.reduce.shape import Shape
from ep.cuda.primitive.row_expression import RowExpression
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request


class ReduceExpression(RowExpression):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._stages, self._has_rows = Stages(self._structure), self._program is not None

    def _kernel(self, variant: StageVariant | RowExpressionVariant) -> Any:
        if isinstance(variant, RowExpressionVariant):
            return super()._kernel(variant)
        from ep.cuda.engine.map.kernel import kernel as map_kernel
        from ep.cuda.engine.reduce.kernel import kernel as reduce_kernel
        from ep.cuda.engine.reduce.segment_kernels import step_kernel
        from ep.cuda.engine.reduce.source import Computed
        from ep.cuda.kernels.expression import functor

        of_engine: Any  # the variant of the engine of the stage
        number, of_engine, read = variant
        stage = self._stages.stages[number]
        if isinstance(stage, MapStage):
            return map_kernel(functor(stage.operands.structure), of_engine)
        computed = None if read is None else Computed(functor(stage.operands.structure), read)
        if isinstance(stage, SegmentStage):
            return step_kernel(of_engine, stage.stored, stage.ids_type, computed)
        stored = stage.stored
        return reduce_kernel(stored.op, stored.loaded, stored.written, of_engine, computed)

    def _usual_variant(self) -> Any:
        if self._has_rows:
            return super()._usual_variant()
        stage = self._stages.stages[0]
        if isinstance(stage, MapStage):  # of what has one element for each result from the start
            return StageVariant(0, stage.map.usual)
        if isinstance(stage, SegmentStage):
            return StageVariant(0, StepVariant(Step.BEGINS, DataType.kInt32))
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
            elif isinstance(stage, SegmentStage):
                assert isinstance(shape, SegmentShape)
                self._queue_segments(stream, number, stage.launches(shape, walk, given))
            else:
                assert isinstance(shape, Shape)
                self._queue_reduction(stream, number, stage.launch(shape, walk, given[1:]), given[0])

    def _queue_segments(self, stream: CudaStream, number: int, launches: Iterable[tuple[Any, StepLaunch]]) -> None:
        for read, (step, extent, words) in launches:
            computes = step.step in (Step.SUM, Step.SUM_PARTS)
            variant = StageVariant(number, step, read if computes else None)
            queue: Any = self._queue_grid if isinstance(extent, Grid) else self._queue
            queue(stream, variant, extent, *words)

    def _queue_reduction(self, stream: CudaStream, number: int, launch: ReduceLaunch, dst: int) -> None:
        plan, variant, read, sources, walk = launch
        variants = StageVariant(number, variant, read), StageVariant(number, plan.finish)
        self._queue_parts(stream, variants, plan, dst, sources, walk)
