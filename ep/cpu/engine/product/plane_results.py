"""What becomes of sums of windows of planes: they are the results, or are mapped as soon as they are complete."""

from __future__ import annotations

from typing import Any

from ep.cpu.compile.jit import jit
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.plane_rows import AXES
from ep.cpu.engine.product.state import Planes, ProductBlock, ProductLaunch
from ep.cpu.lines.streaming import kind_of_work, stream_row
from ep.cpu.shared.state import State


def written_results(size: int, size_of_result: int) -> tuple[Any, Any]:
    """Return functions for sums that are the results.

    The first, (launch), returns whether sums are computed in memory apart from c, to be written with non-temporal
    stores. The second, (launch, plane, filter, first, rows, columns, values, dst), writes rows of them, which are
    contiguous, from there to dst.
    """

    @jit
    def are_apart(launch: ProductLaunch) -> bool:
        settings = State.at(launch.state).settings
        product = launch.product
        words, planes = Planes.at(product.planes), product.num_batches
        num_bytes, written = planes * size, planes * product.m * size_of_result
        for axis in range(AXES):
            num_bytes *= words.sizes[axis]
        written *= product.n
        num_bytes += written
        return num_bytes > settings.tiles_from[kind_of_work(num_bytes, written)]

    @jit
    def finish(
        launch: int, plane: int, of_filter: int, first: int, rows: int, columns: int, values: int, dst: int
    ) -> None:
        if values != dst:
            stream_row(dst, values, rows * columns * size_of_result)

    return are_apart, finish


def mapped_results(size_of_result: int) -> tuple[Any, Any]:
    """Return the same functions for sums that are mapped: the second one computes their map.

    first: the number of the first of them in its row of c, which is that of the plane and the filter.
    """

    @jit
    def are_apart(launch: ProductLaunch) -> bool:
        return launch.apart != 0

    @jit
    def finish(
        launch: ProductLaunch, plane: int, of_filter: int, first: int, rows: int, columns: int, values: int, dst: int
    ) -> None:
        if launch.map != 0:
            block, product = ProductBlock.on_stack(), launch.product
            block.batch = plane
            block.first_row = of_filter
            block.first_column = first
            block.columns = columns
            map_block(launch, block, values, product.n, 0, rows)

    return are_apart, finish
