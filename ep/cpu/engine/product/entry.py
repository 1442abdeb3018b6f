"""What Launch calls of the primitives that multiply matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ep.common.primitive.signature import Signature
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, stack_words, store_word, store_words
from ep.cpu.engine.context import CONTEXT
from ep.cpu.engine.entry import entry
from ep.cpu.engine.product import cut as cuts
from ep.cpu.engine.product.blas import gemm_address
from ep.cpu.engine.product.state import AXES, PRODUCT, PRODUCT_STATE
from ep.cpu.engine.product.task import product_task
from ep.cpu.engine.state import STATE, LaunchState
from ep.cpu.threads.parallel import acquire_gil, call_task, release_gil, run
from ep.include.number_kind import COMPLEXES
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Request

_GRAIN: Final = 200_000  # multiplications, 4 us of work: sharing takes 1 to 2
_PRODUCT_WORDS: Final[int] = PRODUCT.num_words

_cut = jit(cuts.cut)


@jit
def _run(context):
    """Multiply what the context's plan says."""
    product = load_word(context, CONTEXT.plan)
    state = load_word(context, CONTEXT.state)
    task = load_word(state, STATE.task)
    num_blocks = load_word(product, PRODUCT.num_batches)
    num_blocks *= load_word(product, PRODUCT.row_parts) * load_word(product, PRODUCT.column_parts)
    work = float(load_word(product, PRODUCT.k)) * load_word(product, PRODUCT.num_terms) + 1
    work *= load_word(context, CONTEXT.dst_count)
    if work <= _GRAIN:
        call_task(task, context, 0, num_blocks)
    elif num_blocks == 1:  # no work to share, but others may run meanwhile
        thread_state = release_gil()
        call_task(task, context, 0, 1)
        acquire_gil(thread_state)
    else:
        run(state, task, context, num_blocks, max(int(_GRAIN * num_blocks / work), 1))


@jit
def _launch(context, num_bytes, in_place, sizes):
    batch_size, m, n, k = sizes
    product = stack_words(_PRODUCT_WORDS)
    rows, columns = _cut(m, n, float(m) * n * k, batch_size)
    store_words(product, m, n, k, batch_size, 1, rows, columns)
    store_word(product, PRODUCT.batches + AXES.num_axes, 1)
    store_word(product, PRODUCT.batches + AXES.dims, batch_size)
    store_word(product, PRODUCT.batches + AXES.a_strides, m * k)
    store_word(product, PRODUCT.batches + AXES.b_strides, k * n)
    store_word(product, PRODUCT.terms + AXES.num_axes, 0)
    store_word(context, CONTEXT.plan, product)
    _run(context)
    return 0


@jit
def _launch_planned(context, num_bytes, in_place, sizes):
    _run(context)
    return 0


def matmul_entry(signature: Signature, state: LaunchState, request: Request) -> Callable[..., int]:
    """The entry (state, batch size, m, n, k, a, b, c, alpha, beta) of Matmul and BatchMatmul."""
    _set(state, request)
    return entry("matmul", signature, PRODUCT_STATE, _launch)


def broadcast_matmul_entry(signature: Signature, state: LaunchState, request: Request) -> Callable[..., int]:
    """The entry (state, plan, dims, a, b, c, alpha, beta) of BroadcastMatmul, whose launches have a `ProductPlan`."""
    _set(state, request)
    return entry("broadcast_matmul", signature, PRODUCT_STATE, _launch_planned, PRODUCT)


def _set(state: LaunchState, request: Request) -> None:
    (data_type,) = request.dtypes or ()
    task, options = product_task(data_type), request.options
    transposes: dict[str, Any] = {name: options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b")}
    gemm = gemm_address(data_type) if data_type in COMPLEXES else 0
    state.set(task=task, gemm=gemm, **transposes)
