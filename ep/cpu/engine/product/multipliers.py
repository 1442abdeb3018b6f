"""What multiplies a block of c: kernels, each of which is compiled or loaded when a launch first needs it."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.cpu.compile.compiler import compile_task
from ep.cpu.engine.product.blas import blas_multiplier, gemm_address
from ep.cpu.engine.product.byte_products import MANY, byte_multiplier, form_of
from ep.cpu.engine.product.narrow import narrow_multiplier
from ep.cpu.engine.product.pairs import is_always_paired, is_paired, pair_multiplier
from ep.cpu.engine.product.parts import (
    ALL_PARTS,
    ALL_STRIPS,
    FEW,
    LOW,
    LOWEST,
    STRIPS,
    TILES,
    VECTOR,
    WAYS,
    low_columns,
    strips_of,
    way_of,
)
from ep.cpu.engine.product.shape import VECTORS, lanes_of, tile_shape
from ep.cpu.engine.product.state import ProductLoops, ProductState
from ep.cpu.engine.product.strip import low_strip_task, strip_task
from ep.cpu.engine.product.task import product_task
from ep.cpu.engine.product.types import Types, is_narrow, multiplies_bytes
from ep.cpu.engine.product.vector import vector_multiplier
from ep.cpu.engine.product.window_blocks import windows_multiplier
from ep.cpu.engine.product.window_row import window_row_multiplier
from ep.cpu.engine.product.window_sums import window_sums_multiplier
from ep.cpu.machine.caches import far_from, second_cache
from ep.cpu.shared.state import LaunchState
from ep.include.number_kind import COMPLEXES

_MAKERS: Final[dict[int, Any]] = {TILES: pair_multiplier, VECTOR: vector_multiplier, FEW: narrow_multiplier}


def set_product(state: LaunchState, types: Types, transpose_a: bool, transpose_b: bool) -> None:
    """Write to a state what all products of matrices of these types need. It has no parts, but those of the BLAS."""
    lanes, narrows = lanes_of(types.arithmetic), is_narrow(types.c)
    low_rows = 0 if transpose_b or is_narrow(types.b) else tile_shape().rows - 1  # b is packed then
    state.set(task=product_task(types), transpose_a=transpose_a, transpose_b=transpose_b)
    state.set(lanes=lanes, tile_columns=VECTORS * lanes, low_rows=low_rows, narrows=narrows)
    if types.c in COMPLEXES:
        state.set(gemm=gemm_address(types.c), has=ALL_PARTS)
        for way in WAYS:
            state.words[ProductState.parts + way] = _of_complexes(types)


def set_parts(state: LaunchState, types: Types, needed: int) -> None:
    """Compile or load parts, and write them to a state. needed: their bits."""
    missing = needed & ~int(state.words[ProductState.has])
    for way in WAYS:
        if missing >> way & 1:
            state.words[ProductState.parts + way] = _of_reals(types, way)
    for number, (part, vectors) in enumerate(STRIPS.items()):
        if missing >> part & 1:
            if not is_always_paired(types):
                state.words[ProductState.parts + part] = strip_task(types.arithmetic, vectors)
            if is_paired(types):
                state.words[ProductState.paired + number] = strip_task(types.arithmetic, vectors, paired=True)
    for rows in range(LOWEST, int(state.words[ProductState.low_rows]) + 1):
        part = LOW + rows - LOWEST
        if missing >> part & 1:
            state.words[ProductState.parts + part] = low_strip_task(types.arithmetic, rows)
    state.words[ProductState.has] |= missing  # last: compiled code checks this field


def set_multiplier(state: LaunchState, types: Types, words: Any, step: int = 0) -> None:
    """Compile or load the parts that a product needs, and write to its words what multiplies its blocks.

    step: if b is windows, that of most of them; else 0.
    """
    m, n, k = (int(words[field]) for field in (ProductLoops.m, ProductLoops.n, ProductLoops.k))
    of_state = ProductState.lanes, ProductState.tile_columns, ProductState.low_rows, ProductState.narrows
    lanes, tile_columns, low_rows, narrows = (int(state.words[field]) for field in of_state)
    of_transposes = ProductState.transpose_a, ProductState.transpose_b
    transpose_a, transpose_b = (int(state.words[field]) for field in of_transposes)
    way = way_of(m, n, k, transpose_a, transpose_b, lanes, narrows)
    of_windows, strips = step > 0, 0
    if not transpose_a and not transpose_b and (of_windows or n >= lanes) and multiplies_bytes(types):
        rows = -(-m // int(words[ProductLoops.row_parts]))
        words[ProductLoops.multiply] = _of_bytes(types, MANY if of_windows else form_of(rows), step)
        return
    if m > 1 if of_windows else way == TILES:
        column_parts = int(words[ProductLoops.column_parts])
        low_width = 0 if of_windows else low_columns(m, lanes, tile_columns, low_rows)
        strips = strips_of(m, n, column_parts, lanes, tile_columns, low_width)
        if words[ProductLoops.bands] != 0:  # bands have any number of columns
            strips = ALL_STRIPS
    set_parts(state, types, strips if of_windows else strips | 1 << way)
    of_product = _of_windows(types, step, m == 1) if of_windows else state.words[ProductState.parts + way]
    words[ProductLoops.multiply] = of_product


def set_window_sums(types: Types, words: Any, step: int) -> None:
    """Do the same for a product by transposed windows. step: that of most of them."""
    rows, lanes = -(-int(words[ProductLoops.m]) // int(words[ProductLoops.row_parts])), lanes_of(types.arithmetic)
    vectors = min(range(2, VECTORS + 1), key=lambda vectors: -(-rows // (vectors * lanes)) * vectors)
    words[ProductLoops.multiply] = _of_transposed_windows(types, vectors, step)


@cache
def _of_transposed_windows(types: Types, vectors: int, step: int) -> int:
    return _kernel(f"product.{types.name}.window_sums.{vectors}.{step}", window_sums_multiplier(types.c, vectors, step))


@cache
def _of_reals(types: Types, way: int) -> int:
    return _kernel(f"product.{types.name}.{WAYS[way]}", _MAKERS[way](types))


@cache
def _of_bytes(types: Types, form: int, step: int) -> int:
    return _kernel(f"product.{types.name}.bytes.{form}.{step}", byte_multiplier(types, form, step))


@cache
def _of_complexes(types: Types) -> int:
    return _kernel(f"product.{types.name}.blas", blas_multiplier(types.c))


@cache
def _of_windows(types: Types, step: int, is_row: bool) -> int:
    if is_row:
        return _kernel(f"product.{types.name}.window_row.{step}", window_row_multiplier(types, step))
    near, far = second_cache(), far_from()
    return _kernel(f"product.{types.name}.windows.{step}.{near}.{far}", windows_multiplier(types, step, near, far))


def _kernel(name: str, multiply: Any) -> int:
    """Return the address of a task (launch, block, a, b, c), which multiplies the block whose first element is at c."""

    def multiply_block(launch: int, block: int, a: int, b: int, c: int) -> None:
        multiply(launch, block, a, b, c)

    return compile_task(name, multiply_block, 5)
