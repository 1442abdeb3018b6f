"""Products with windows of an array, which the product engine packs directly from the array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.product import ONE, Product, walk_over, walks_over
from ep.common.primitive.strides import broadcast_strides, contiguous_strides
from ep.cpu.engine.product.cut import NARROW, SHORT_ROW_BYTES, cut_sums
from ep.cpu.engine.product.plan import MOST_STEP, ProductPlan, read_step
from ep.cpu.machine.caches import second_cache
from ep.cpu.primitive.product_primitive import ProductPrimitive
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive.broadcast_matmul import WindowProduct
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.window_map import WindowMap
from ep.include.stream import Stream

_IN_PLACE: Final = (DataType.kFloat, DataType.kDouble)
"""The types of windows that are factors of products where they are: others would be widened again and again."""
_VECTOR_BYTES: Final = 64  # of a column of a that one vector holds: tiles have two vectors or three
_LEAST_WIDE: Final = 4  # the least bytes of the numbers that are added up
_MOST_PLACES: Final = 64
"""The most places of a window by which products are summed: code is written for each, which takes long to compile."""
_FAR: Final = 64
"""The longest distance of windows, or of their places, with which a part of a plane is small in any case."""


class WindowsPrimitive(ProductPrimitive):
    """The base class of BroadcastMatmul, which has the products that read windows."""

    def over_windows(self, a_dims: Sequence[int], windows: WindowMap, c_dims: Sequence[int]) -> WindowProduct | None:
        (data_type,) = self.request.dtypes or ()
        *batch, m, n = c_dims
        if self.transposed[1]:
            return self._over_transposed(tuple(a_dims), windows, tuple(c_dims), data_type)
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

    def _over_transposed(
        self, a_dims: Dims, windows: WindowMap, c_dims: Dims, data_type: DataType
    ) -> WindowProduct | None:
        """Return a launch of `c = a @ b.T`; None if few rows of a would leave half of the lanes empty."""
        *batch, m, k = a_dims
        if windows.inside is not None or data_type not in _IN_PLACE or m * data_type.itemsize <= _VECTOR_BYTES:
            return None
        strides = contiguous_strides(a_dims)[:-2]
        product = Product(m, c_dims[-1], k, *walks_over(tuple(batch), c_dims[:-2], strides, windows.strides))
        sizes = math.prod(a_dims), windows.size, math.prod(c_dims)

        def make() -> Any:
            from ep.cpu.engine.product.multipliers import set_window_sums
            from ep.cpu.engine.product.types import alike

            most_sums = second_cache() // 2 // data_type.itemsize
            parts = cut_sums(m, product.n, k, product.terms.size, most_sums)
            plan = ProductPlan(product, self.signature, sizes, windows, parts)
            self._set_entry()
            set_window_sums(alike(data_type), plan.words, read_step(windows))
            return plan

        return self._launch_of(sizes, make)

    def over_planes(self, windows: PlaneWindows, groups: int, filters: int) -> WindowProduct | None:
        (data_type,) = self.request.dtypes or ()
        if data_type not in FLOATS or not self._fits(windows):
            return None
        of_b, of_windows = windows.num_elements()
        of_places, of_values = groups * filters * math.prod(windows.kernel), of_windows * filters
        sizes = (of_values, of_b, of_places) if self.transposed[1] else (of_places, of_b, of_values)

        def make() -> Any:
            from ep.cpu.engine.product.plane_products import PlaneProductsPlan
            from ep.cpu.engine.product.planes import PlanesPlan

            plan = PlaneProductsPlan if self.transposed[1] else PlanesPlan
            return plan(windows, groups, filters, data_type, self.signature, sizes)

        return self._launch_of(sizes, make)

    def _fits(self, windows: PlaneWindows) -> bool:
        """Return whether parts of planes fit in memory for each thread, and code for each place is not too long."""
        if self.transposed[1] and math.prod(windows.kernel) > _MOST_PLACES:
            return False
        if max(*windows.strides, *windows.dilations) <= _FAR:
            return True
        found = []

        def look() -> None:
            from ep.cpu.engine.product import plane_products, planes

            fits = plane_products.fits if self.transposed[1] else planes.fits
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
