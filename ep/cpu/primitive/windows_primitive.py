"""Products with windows of an array, which the product engine packs directly from the array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ep.common.primitive.product import ONE, Product, walk_over
from ep.common.primitive.strides import broadcast_strides
from ep.cpu.engine.product.cut import NARROW, SHORT_ROW_BYTES
from ep.cpu.engine.product.plan import MOST_STEP, ProductPlan, read_step
from ep.cpu.primitive.product_primitive import ProductPrimitive
from ep.include.number_kind import FLOATS
from ep.include.primitive.broadcast_matmul import WindowProduct
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.window_map import WindowMap
from ep.include.stream import Stream

_LEAST_WIDE: Final = 4  # the least bytes of the numbers that are added up
_FAR: Final = 64
"""The longest distance of windows, or of their places, with which a part of a plane is small in any case."""


class WindowsPrimitive(ProductPrimitive):
    """The base class of BroadcastMatmul, which has the products that read windows."""

    def over_windows(self, a_dims: Sequence[int], windows: WindowMap, c_dims: Sequence[int]) -> WindowProduct | None:
        (data_type,) = self.request.dtypes or ()
        *batch, m, n = c_dims
        if data_type not in FLOATS or n <= NARROW:  # products of few columns have kernels of their own
            return None
        is_short = n * max(data_type.itemsize, _LEAST_WIDE) <= SHORT_ROW_BYTES  # which is added up in more parts
        if m == 1 and (is_short or windows.step > MOST_STEP):
            return None
        k, a_strides = a_dims[-1], broadcast_strides(tuple(a_dims[:-2]), len(batch), m * a_dims[-1])
        product = Product(m, n, k, walk_over(tuple(batch), a_strides, windows.strides), ONE)
        sizes = math.prod(a_dims), windows.size, math.prod(c_dims)

        def make() -> Any:
            from ep.cpu.engine.product.multipliers import set_multiplier
            from ep.cpu.engine.product.types import alike

            plan = ProductPlan(product, self.signature, sizes, windows)
            self._set_entry()
            set_multiplier(self._state, alike(data_type), plan.words, read_step(windows))
            return plan

        return self._launch_of(sizes, make)

    def over_planes(self, windows: PlaneWindows, groups: int, filters: int) -> WindowProduct | None:
        (data_type,) = self.request.dtypes or ()
        if data_type not in FLOATS or not self._fits(windows):
            return None
        of_b, of_windows = windows.num_elements()

        def make() -> Any:
            from ep.cpu.engine.product.planes import PlanesPlan

            return PlanesPlan(windows, groups, filters, data_type, self.signature, sizes)

        sizes = groups * filters * math.prod(windows.kernel), of_b, of_windows * filters
        return self._launch_of(sizes, make)

    def _fits(self, windows: PlaneWindows) -> bool:
        """Return whether parts of planes fit in memory for each thread."""
        if max(*windows.strides, *windows.dilations) <= _FAR:
            return True
        found = []

        def look() -> None:
            from ep.cpu.engine.product.planes import fits

            found.append(fits(windows, (self.request.dtypes or ())[0]))

        self._compiling(look)
        return found[0]

    def _launch_of(self, sizes: tuple[int, ...], make: Callable[[], Any]) -> WindowProduct:
        """Return a launch with the plan that `make` returns. sizes: the numbers of elements of a, b and c."""
        counts, numbers, plan = self.signature.counts(sizes), self._arrays(1, 0), None

        def launch(stream: Stream, a: Any, b: Any, c: Any) -> None:
            nonlocal plan
            buffers: Sequence[Any] = (a, b, c, *numbers)
            if plan is None or not self._entered(stream, plan.words, *buffers):
                buffers = self._checked(stream, buffers, counts, in_place=False)
                if plan is None:
                    self._compiling(compiled)
                self._run(stream, plan, *buffers)

        def compiled() -> None:
            nonlocal plan
            plan = make()
            if plan.may_stream:
                self._provide()

        return launch
