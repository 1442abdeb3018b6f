"""The launchers of the primitives that multiply matrices."""

from __future__ import annotations

from typing import Final

from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.product import cut as cuts
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.multipliers import set_product
from ep.cpu.engine.product.parts import TILES, strips_of, way_of
from ep.cpu.engine.product.state import AXES, PRODUCT, PRODUCT_LAUNCH, PRODUCT_LAUNCH_WORDS, PRODUCT_STATE
from ep.cpu.engine.product.types import alike
from ep.cpu.shared.context import CONTEXT, NO_MEMORY, SOURCE_WORDS
from ep.cpu.shared.state import STATE, LaunchState
from ep.cpu.threads.parallel import acquire_gil, call_task, release_gil, run
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Request

_GRAIN: Final = 200_000  # the most multiplications on one thread: 4 us of work; sharing takes 1 to 2 us
_PRODUCT_WORDS: Final[int] = PRODUCT.num_words

_A, _B, _ALPHA, _BETA = (CONTEXT.sources + SOURCE_WORDS * number for number in range(4))
_NUMBER_BYTES: Final = 16  # bytes of the largest type

_cut, _cut_depth, _way_of, _strips_of = jit(cuts.cut), jit(cuts.cut_depth), jit(way_of), jit(strips_of)


@jit
def _multiplier(state, product):
    """Return the address of what multiplies blocks of a product. If the state lacks a part of it, note that, return 0.

    The launching thread has the GIL, so no other thread writes to the state.
    """
    m, n, k = load_word(product, PRODUCT.m), load_word(product, PRODUCT.n), load_word(product, PRODUCT.k)
    transpose_a, transpose_b = load_word(state, PRODUCT_STATE.transpose_a), load_word(state, PRODUCT_STATE.transpose_b)
    lanes, narrows = load_word(state, PRODUCT_STATE.lanes), load_word(state, PRODUCT_STATE.narrows)
    way = _way_of(m, n, k, transpose_a, transpose_b, lanes, narrows)
    needed = 1 << way
    if way == TILES:
        needed |= _strips_of(
            *(m, n, load_word(product, PRODUCT.row_parts), load_word(product, PRODUCT.column_parts), lanes),
            *(load_word(state, PRODUCT_STATE.tile_columns), load_word(state, PRODUCT_STATE.low_rows)),
        )
    lacking = needed & ~load_word(state, PRODUCT_STATE.has)
    if lacking != 0:
        store_word(state, PRODUCT_STATE.lacks, load_word(state, PRODUCT_STATE.lacks) | lacking)
        return 0
    return load_word(state, PRODUCT_STATE.parts + way)


@jit
def _run(context):
    """Multiply as the context's plan describes; return as a Launcher, 1 if the state has no code for it yet."""
    state, product = load_word(context, CONTEXT.state), load_word(context, CONTEXT.plan)
    multiply = load_word(product, PRODUCT.multiply)
    if multiply == 0 and load_word(product, PRODUCT.task) == 0:
        multiply = _multiplier(state, product)
        if multiply == 0:
            return 1
    launch = stack_words(PRODUCT_LAUNCH_WORDS)
    a, b, alpha, beta = (
        load_word(context, _A),
        load_word(context, _B),
        load_word(context, _ALPHA),
        load_word(context, _BETA),
    )
    store_words(launch, state, product, multiply, a, b, load_word(context, CONTEXT.dst), alpha, beta, 0, 0, 0, 0, 0, 0)
    return multiply_shared(state, launch, load_word(context, CONTEXT.dst_count), 0)


@jit
def multiply_shared(state, launch, num_results, map_work):
    """Multiply as a launch describes, on all threads if there is enough work.

    state: that of the launched primitive. num_results: the number of elements of c. map_work: the work of the map per
        element, in multiplications.

    Returns 0, or NO_MEMORY.
    """
    product = load_word(launch, PRODUCT_LAUNCH.product)
    task = load_word(product, PRODUCT.task)
    if task == 0:
        task = load_word(load_word(launch, PRODUCT_LAUNCH.state), STATE.task)
    depth_parts = load_word(product, PRODUCT.depth_parts)
    num_blocks = load_word(product, PRODUCT.num_batches) * depth_parts
    num_blocks *= load_word(product, PRODUCT.row_parts) * load_word(product, PRODUCT.column_parts)
    work = float(load_word(product, PRODUCT.k)) * load_word(product, PRODUCT.num_terms) + 1 + map_work
    work *= num_results
    if work <= _GRAIN:
        call_task(task, launch, 0, num_blocks)
    elif num_blocks == 1:  # there is nothing to share, but other threads may run meanwhile
        thread_state = release_gil()
        call_task(task, launch, 0, 1)
        acquire_gil(thread_state)
    else:
        partials = allocate_for(launch, _NUMBER_BYTES * num_results * depth_parts) if depth_parts > 1 else 0
        if load_word(launch, PRODUCT_LAUNCH.lacks_memory) != 0:  # without partial sums, all parts would write to c
            return NO_MEMORY
        store_word(launch, PRODUCT_LAUNCH.partials, partials)
        run(state, task, launch, num_blocks, max(int(_GRAIN * num_blocks / work), 1))
        if partials != 0:
            if load_word(launch, PRODUCT_LAUNCH.lacks_memory) == 0:
                store_word(launch, PRODUCT_LAUNCH.merges, 1)
                run(state, task, launch, num_results, max(_GRAIN // depth_parts, 1))
            release(partials)
    return 0 if load_word(launch, PRODUCT_LAUNCH.lacks_memory) == 0 else NO_MEMORY


@jit
def _launch(context, num_bytes, in_place, sizes):
    batch_size, m, n, k = load_word(sizes, 0), load_word(sizes, 1), load_word(sizes, 2), load_word(sizes, 3)
    product = stack_words(_PRODUCT_WORDS)
    work = float(m) * n * k
    rows, columns = _cut(m, n, work, batch_size)
    depth_parts = _cut_depth(m, n, k, work * batch_size, rows * columns * batch_size)
    store_words(product, m, n, k, batch_size, 1, rows, columns, depth_parts, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    store_word(product, PRODUCT.batches + AXES.num_axes, 1)
    store_word(product, PRODUCT.batches + AXES.dims, batch_size)
    store_word(product, PRODUCT.batches + AXES.a_strides, m * k)
    store_word(product, PRODUCT.batches + AXES.b_strides, k * n)
    store_word(product, PRODUCT.terms + AXES.num_axes, 0)
    store_word(context, CONTEXT.plan, product)
    return _run(context)


@jit
def _launch_planned(context, num_bytes, in_place, sizes):
    return _run(context)


def matmul_launcher(state: LaunchState, request: Request) -> Launcher:
    """Return the launcher of Matmul and BatchMatmul."""
    _set(state, request)
    return launcher("product", _launch)


def broadcast_matmul_launcher(state: LaunchState, request: Request) -> Launcher:
    """Return the launcher of BroadcastMatmul, whose launches have a `ProductPlan`."""
    _set(state, request)
    return launcher("product.planned", _launch_planned, PRODUCT)


def _set(state: LaunchState, request: Request) -> None:
    (data_type,) = request.dtypes or ()
    transposes = (request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b"))
    set_product(state, alike(data_type), *transposes)
