"""An Expression on CUDA that is a map: one launch of the map engine, over a functor with all sources and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.map.access import Variant
from ep.cuda.engine.map.expression_plan import ExpressionMap, ExpressionShape, Layout
from ep.cuda.engine.map.plan import MapShape
from ep.cuda.primitive.expression_primitive import ExpressionPrimitive
from ep.include.primitive.primitive import Request


class MapExpression(ExpressionPrimitive):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._map = ExpressionMap(self._structure)

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.map.kernel import kernel
        from ep.cuda.kernels.expression import functor

        return kernel(functor(self._map.operands.structure), variant)

    def _usual_variant(self) -> Variant:
        return self._map.usual

    def _plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims, shape: ExpressionShape) -> MapShape:
        return self._map.walk(self._map.operands.sides(layouts), dims.whole)

    def _queue_plan(self, stream: CudaStream, plan: MapShape, sides: Sequence[Any]) -> None:
        map_, words = self._map.launch(plan, self._map.operands.sides(sides))
        self._queue(stream, map_.variant, map_.num_items, *words)
