"""The launchers of the primitives that multiply matrices."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64
from ep.common.native.python_calls import acquire_gil, release_gil
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.product import cut as cuts
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.multipliers import set_product
from ep.cpu.engine.product.parts import TILES, low_columns, strips_of, way_of
from ep.cpu.engine.product.state import ProductLaunch, ProductLoops, ProductMap, ProductState
from ep.cpu.engine.product.types import alike
from ep.cpu.shared.context import NO_MEMORY, Context
from ep.cpu.shared.state import LaunchState, State
from ep.cpu.threads.parallel import call_task, run
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Request

_GRAIN: Final = 200_000  # the most multiplications on one thread: 4 us of work; sharing takes 1 to 2 us
_NUMBER_BYTES: Final = 16  # bytes of the largest type

_cut, _cut_depth = jit(cuts.cut), jit(cuts.cut_depth)
_way_of, _strips_of, _low_columns = jit(way_of), jit(strips_of), jit(low_columns)


@jit
def _multiplier(state: ProductState, product: ProductLoops) -> int:
    """Return the address of what multiplies blocks of a product. If the state lacks a part of it, note that, return 0.

    The launching thread has the GIL, so no other thread writes to the state.
    """
    m, n, k = product.m, product.n, product.k
    transpose_a, transpose_b = state.transpose_a, state.transpose_b
    lanes, narrows = state.lanes, state.narrows
    way = _way_of(m, n, k, transpose_a, transpose_b, lanes, narrows)
    needed = 1 << way
    if way == TILES:
        low_width = _low_columns(m, lanes, state.tile_columns, state.low_rows)
        needed |= _strips_of(m, n, product.column_parts, lanes, state.tile_columns, low_width)
    lacking = needed & ~state.has
    if lacking != 0:
        state.lacks |= lacking
        return 0
    return state.parts[way]


@jit
def _run(context: Context) -> int:
    """Multiply as the context's plan describes; return as a Launcher, 1 if the state has no code for it yet."""
    state, product = ProductState.at(context.state), ProductLoops.at(context.plan)
    multiply = product.multiply
    if multiply == 0 and product.task == 0:
        multiply = _multiplier(state, product)
        if multiply == 0:
            return 1
    launch, sources = ProductLaunch.on_stack(), context.sources
    launch.state, launch.product, launch.multiply = state, product, multiply
    launch.a, launch.b, launch.c = sources[0].data, sources[1].data, context.dst
    launch.alpha, launch.beta = sources[2].data, sources[3].data
    launch.map, launch.places, launch.apart = ProductMap.at(0), Int64.at(0), 0
    return multiply_shared(state, launch, context.dst_count, 0)


@jit
def multiply_shared(state: State, launch: ProductLaunch, num_results: int, map_work: int) -> int:
    """Multiply as a launch describes, on all threads if there is enough work.

    state: that of the launched primitive. num_results: the number of elements of c. map_work: the work of the map per
        element, in multiplications.

    Returns 0, or NO_MEMORY.
    """
    product, task = launch.product, launch.product.task
    launch.partials = launch.merges = launch.lacks_memory = 0
    if task == 0:
        task = launch.state.task
    depth_parts = product.depth_parts
    num_blocks = product.num_batches * depth_parts
    num_blocks *= product.row_parts * product.column_parts
    work = float(product.k) * product.num_terms + 1 + map_work
    work *= num_results
    if work <= _GRAIN:
        call_task(task, launch, 0, num_blocks)
    elif num_blocks == 1:  # there is nothing to share, but other threads may run meanwhile
        thread_state = release_gil()
        call_task(task, launch, 0, 1)
        acquire_gil(thread_state)
    else:
        partials = allocate_for(launch, _NUMBER_BYTES * num_results * depth_parts) if depth_parts > 1 else 0
        if launch.lacks_memory != 0:  # without partial sums, all parts would write to c
            return NO_MEMORY
        launch.partials = partials
        run(state, task, launch, num_blocks, max(int(_GRAIN * num_blocks / work), 1))
        if partials != 0:
            if launch.lacks_memory == 0:
                launch.merges = 1
                run(state, task, launch, num_results, max(_GRAIN // depth_parts, 1))
            release(partials)
    return 0 if launch.lacks_memory == 0 else NO_MEMORY


@jit
def _launch(context: Context, num_bytes: int, in_place: int, sizes: Int64) -> int:
    batch_size, m, n, k = sizes[0], sizes[1], sizes[2], sizes[3]
    product = ProductLoops.on_stack()
    work = float(m) * n * k
    rows, columns = _cut(m, n, work, batch_size)
    depth_parts = _cut_depth(m, n, k, work * batch_size, rows * columns * batch_size)
    product.m, product.n, product.k, product.num_batches, product.num_terms = m, n, k, batch_size, 1
    product.row_parts, product.column_parts, product.depth_parts = rows, columns, depth_parts
    product.task = product.multiply = product.bands = product.planes = 0
    product.window_rows = product.window_columns = product.window_ends = Int64.at(0)
    product.window_inside = product.window_outside = Int64.at(0)
    batches = product.batches
    batches.num_axes, batches.dims[0], batches.a_strides[0], batches.b_strides[0] = 1, batch_size, m * k, k * n
    product.terms.num_axes = 0
    context.plan = product
    return _run(context)


@jit
def _launch_planned(context: Context, num_bytes: int, in_place: int, sizes: int) -> int:
    return _run(context)


def matmul_launcher(state: LaunchState, request: Request) -> Launcher:
    """Return the launcher of Matmul and BatchMatmul."""
    _set(state, request)
    return launcher("product", _launch)


def broadcast_matmul_launcher(state: LaunchState, request: Request) -> Launcher:
    """Return the launcher of BroadcastMatmul, whose launches have a `ProductPlan`."""
    _set(state, request)
    return launcher("product.planned", _launch_planned, ProductLoops)


def _set(state: LaunchState, request: Request) -> None:
    (data_type,) = request.dtypes or ()
    transposes = (request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b"))
    set_product(state, alike(data_type), *transposes)
