"""The kernels whose PTX is inspected: the main kernels of each engine, in the variants that differ in code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.common.stored_types import unit_of
from ep.cuda.compile import compiler
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.driver.packages import why_no_kernels
from ep.cuda.engine.map import kernel as map_engine
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.chunks import ChunkVariant
from ep.cuda.engine.map.expression_plan import Layout, elements_of_pack
from ep.cuda.engine.map.functor import functor_of
from ep.cuda.engine.move import gather, move, pad, transpose
from ep.cuda.engine.move.tile import Tile
from ep.cuda.engine.reduce import kernel as reduce
from ep.cuda.engine.reduce import long_runs, segment_sum, sort
from ep.cuda.engine.reduce import rows as row_engine
from ep.cuda.engine.reduce.arg_sort_plan import ArgSortVariant, Task
from ep.cuda.engine.reduce.plan import Axes, ColumnVariant, FinishVariant, RowVariant
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionPlan
from ep.cuda.engine.reduce.row_plan import MERGE_BYTES, PartVariant, RowStorage, SoftmaxVariant, Stage
from ep.cuda.engine.reduce.row_program import RowProgram
from ep.cuda.engine.reduce.scan_plan import ScanVariant
from ep.cuda.engine.reduce.source import Computed
from ep.cuda.kernels import (
    add,
    arg_sort,
    expression,
    integer_product,
    one_hot,
    row_expression,
    scan,
    softmax,
    tree_ensemble,
    where,
)
from ep.include import DataType
from ep.include.primitive import ReduceOp, TreeAggregate
from ep.include.primitive.structure import Step, Structure
from tests.fuse.maps import structure_of, traced
from tests.fuse.test_rows import FUNCTIONS, draw

T, U, B, A = DataType, UnaryOp, BinaryOp, Access


class MainKernel(NamedTuple):
    """How to make a kernel, and the bytes of its widest load and store of global memory."""

    make: Callable[[], KernelSource]
    load: int
    store: int


def ptx(kernel: KernelSource, cc: tuple[int, int]) -> str:
    """Return the PTX of a kernel for a device of compute capability `cc`, from the kernel cache if it is there.

    The test is skipped without numba-cuda.
    """
    if why := why_no_kernels():
        pytest.skip(why)
    return compiler.image(kernel, cc, as_ptx=True).decode()


UNARY = [
    (U.kRelu, T.kFloat, T.kFloat, 16, 16),
    (U.kRelu, T.kDouble, T.kDouble, 16, 16),
    (U.kRelu, T.kFloat16, T.kFloat16, 16, 16),
    (U.kGelu, T.kFloat, T.kFloat, 16, 16),
    (U.kGelu, T.kBFloat16, T.kBFloat16, 16, 16),
    (U.kRelu, T.kInt8, T.kInt8, 16, 16),
    (U.kSqrt, T.kComplex64, T.kComplex64, 16, 16),
    (U.kSqrt, T.kComplex128, T.kComplex128, 16, 16),
    (U.kLogicalNot, T.kBool, T.kBool, 16, 16),
    (U.kIsNan, T.kFloat, T.kBool, 16, 4),
    (U.kReal, T.kComplex64, T.kFloat16, 16, 4),
    (U.kLeakyRelu, T.kFloat, T.kFloat, 16, 16),
    (U.kTanh, T.kFloat, T.kFloat, 16, 16),
    (U.kSoftPlus, T.kFloat, T.kFloat, 16, 16),
    (U.kQuickGelu, T.kFloat, T.kFloat, 16, 16),
    (U.kExp, T.kFloat16, T.kFloat16, 16, 16),
    (U.kIdentity, T.kBFloat16, T.kBFloat16, 16, 16),
    (U.kCast, T.kFloat, T.kFloat16, 16, 8),
    (U.kCast, T.kInt64, T.kBFloat16, 16, 4),
    (U.kCast, T.kBool, T.kFloat, 4, 16),
    (U.kCast, T.kFloat16, T.kInt8, 16, 8),
    (U.kCast, T.kInt32, T.kComplex64, 8, 16),
    (U.kCast, T.kBFloat16, T.kUInt64, 4, 16),
]
BINARY = [
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.PACK, 2, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SPREAD, A.SAME, 2, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.NUMBER, 0, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.EACH, A.EACH, 3, 32, 4, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.EACH, A.SAME, 3, 64, 16, 16),
    (B.kSub, T.kBFloat16, T.kBFloat16, 8, A.SAME, A.PACK, 2, 32, 16, 16),
    (B.kMul, T.kFloat16, T.kFloat16, 8, A.SAME, A.SINGLE, 0, 32, 16, 16),
    (B.kLessThan, T.kInt32, T.kBool, 4, A.SAME, A.SAME, 0, 32, 16, 4),
    (B.kMul, T.kComplex128, T.kComplex128, 1, A.PACK, A.NUMBER, 3, 64, 16, 16),
    (B.kFloorDiv, T.kInt32, T.kInt32, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kFloorMod, T.kInt8, T.kInt8, 16, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kPow, T.kFloat, T.kFloat, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kTanhBackwardWithDyY, T.kFloat16, T.kFloat16, 8, A.SAME, A.SAME, 0, 32, 16, 16),
]
STRIDED = [
    # the access modes of src and dst, and the axes of the walk
    (T.kFloat, A.PACK, A.PACK, 3, 16, 16),
    (T.kFloat, A.SPREAD, A.PACK, 2, 4, 16),
    (T.kBFloat16, A.EACH, A.EACH, 4, 2, 2),
    (T.kComplex64, A.EACH, A.SAME, 3, 4, 16),
    (T.kFloat, A.SINGLE, A.SAME, 0, 4, 16),
]
CHOICES = [
    (T.kBool, T.kFloat, (A.SAME, A.SAME, A.SAME), 0, 16, 16),
    (T.kBool, T.kInt8, (A.SAME, A.SAME, A.SAME), 0, 16, 16),
    (T.kInt64, T.kBFloat16, (A.SAME, A.SAME, A.SAME), 0, 16, 4),
    (T.kBool, T.kComplex128, (A.SAME, A.SAME, A.NUMBER), 0, 16, 16),
    (T.kBool, T.kFloat, (A.PACK, A.SAME, A.NUMBER), 2, 16, 16),
]
ADDED = [
    # the number of operands, and the types of the first one, of the others and of dst
    (2, T.kFloat, T.kFloat, T.kFloat, 16, 16),
    (16, T.kFloat, T.kFloat, T.kFloat, 16, 16),
    (8, T.kBFloat16, T.kBFloat16, T.kBFloat16, 16, 16),
    (16, T.kFloat, T.kFloat16, T.kFloat16, 16, 8),
    (16, T.kFloat16, T.kFloat16, T.kFloat, 8, 16),
    (3, T.kInt8, T.kInt8, T.kInt8, 16, 16),
    (2, T.kBool, T.kBool, T.kBool, 16, 16),
]
ONE_HOT = [(T.kInt64, T.kFloat, 1, 8, 16), (T.kInt64, T.kFloat, 0, 8, 16), (T.kInt32, T.kBool, 0, 4, 16)]
PLACES = [
    *((Task.FIND, 1, 4, 8), (Task.FIND, 64, 4, 8), (Task.KEYS, 1, 4, 4)),
    *((Task.LINES, 1, 4, 4), (Task.RESULTS, 1, 4, 8)),
]
GATHER = [(T.kInt64, 16, 32), (T.kInt32, 4, 32), (T.kUInt8, 1, 64), (T.kInt64, 16, 64)]
REDUCED_ROWS = [
    # the op and type, the elements of a pack, whether rows are aligned, and the threads of a row
    (ReduceOp.kSum, T.kFloat, 4, 1, 256),
    (ReduceOp.kSum, T.kFloat, 4, 0, 32),
    (ReduceOp.kSum, T.kDouble, 2, 1, 256),
    (ReduceOp.kSum, T.kBFloat16, 8, 1, 32),
    (ReduceOp.kMax, T.kInt8, 16, 1, 8),
    (ReduceOp.kMean, T.kDouble, 2, 1, 256),
    (ReduceOp.kProd, T.kComplex64, 2, 1, 1),
]
REDUCED_COLUMNS = [
    # the op and type, the results of a thread, the threads that share them, and whether blocks compute partial results
    (ReduceOp.kSum, T.kFloat, 4, 8, 1),
    (ReduceOp.kMax, T.kBFloat16, 4, 1, 0),
    (ReduceOp.kMean, T.kDouble, 2, 64, 0),
    (ReduceOp.kSum, T.kUInt8, 4, 8, 0),
]
SOFTMAXES = [
    # the function and type, the memory that keeps rows, whether rows are aligned, the threads of a row and the packs of
    # each
    (softmax.softmax, T.kFloat, RowStorage.REGISTERS, 1, 32, 8),
    (softmax.softmax, T.kBFloat16, RowStorage.REGISTERS, 1, 32, 4),
    (softmax.log_softmax, T.kDouble, RowStorage.REGISTERS, 1, 32, 4),
    (softmax.softmax_backward, T.kFloat, RowStorage.REGISTERS, 1, 32, 8),
    (softmax.log_softmax_backward, T.kFloat16, RowStorage.REGISTERS, 0, 4, 1),
    (softmax.softmax, T.kFloat, RowStorage.SHARED, 1, 256, 0),
    (softmax.log_softmax, T.kBFloat16, RowStorage.SHARED, 0, 512, 0),
    (softmax.softmax, T.kBFloat16, RowStorage.LOADED, 1, 512, 0),
    (softmax.log_softmax, T.kFloat, RowStorage.LOADED, 0, 512, 0),
    (softmax.softmax_backward, T.kDouble, RowStorage.LOADED, 1, 256, 0),
    (softmax.softmax, T.kDouble, RowStorage.NOWHERE, 1, 512, 0),
    (softmax.log_softmax, T.kFloat, RowStorage.NOWHERE, 1, 512, 0),
    (softmax.log_softmax_backward, T.kFloat, RowStorage.NOWHERE, 1, 512, 0),
]
STAGES = [
    # the function and type, the kernel that processes parts of rows, and the bytes of its widest store
    (softmax.softmax, T.kFloat, Stage.MAXIMA_AND_SUMS, 8),
    (softmax.log_softmax, T.kBFloat16, Stage.MAXIMA_AND_SUMS, 8),
    (softmax.softmax, T.kDouble, Stage.MAXIMA, 8),
    (softmax.log_softmax, T.kDouble, Stage.SUMS, 8),
    (softmax.softmax_backward, T.kFloat, Stage.SUMS, 8),
    (softmax.softmax, T.kFloat, Stage.RESULTS, 16),
    (softmax.log_softmax_backward, T.kFloat, Stage.RESULTS, 16),
]
FUSED = [
    # the expression, the access modes of its arrays, and the axes of the walk
    ("saxpy chain", (A.SAME, A.SAME, A.SAME), 0, 16, 16),
    ("saxpy chain", (A.EACH, A.EACH, A.SAME), 2, 16, 16),
    ("gelu(x + b) c", (A.SAME, A.PACK, A.SAME), 2, 16, 16),
    ("AMSGrad", (A.SAME,) * 5, 0, 16, 16),
    ("Black-Scholes", (A.SAME,) * 3, 0, 16, 16),
    ("SwiGLU", (A.PACK, A.PACK), 2, 16, 16),
    ("SwiGLU of bfloat16", (A.PACK, A.PACK), 2, 16, 16),
    ("YUV to RGB", (A.SAME,) * 3, 0, 16, 16),
    ("scale, mask", (A.SAME, A.PACK), 2, 16, 16),
    ("bias, residual", (A.SAME, A.PACK, A.SAME), 2, 16, 16),
]
COMPUTED = [
    # a sum of squared differences: the reduce kernel, the access modes of its two operands, and the axes of their walk
    (RowVariant(Axes(1, 1, 32), 4, True, 256, False), (A.SAME, A.PACK), 2, 16, 4),
    (RowVariant(Axes(1, 1, 32), 4, False, 32, False), (A.SAME, A.EACH), 2, 4, 4),
    (ColumnVariant(Axes(2, 1, 32), 4, True, 64, False), (A.SAME, A.SAME), 0, 16, 4),
]
ROW_EXPRESSIONS = [
    # the expression, the elements of a row, and whether rows fit in shared memory; 16-bit packs have float32's length
    ("layer norm", T.kFloat, 1024, True, 16, 16),
    ("layer norm", T.kFloat, 8192, False, 16, 16),
    ("layer norm", T.kBFloat16, 4096, True, 8, 8),
    ("RMS norm", T.kFloat, 63, True, 4, 4),
    ("normalised", T.kDouble, 512, True, 16, 16),
    ("distance", T.kFloat, 512, True, 16, 4),
    ("scaled softmax", T.kFloat, 256, True, 16, 16),
    ("cross-entropy", T.kFloat, 1000, True, 16, 4),
    ("likelihood", T.kFloat, 1000, True, 16, 4),
    ("likelihood", T.kBFloat16, 8192, False, 16, 16),
]
SEGMENTS = [(T.kFloat, 4), (T.kBFloat16, 8), (T.kComplex128, 1)]
MOVE = [(1, 16, 1, 32), (2, 16, 1, 32), (2, 4, 1, 32), (4, 1, 4, 32), (3, 2, 1, 64)]
MOVE += [(3, 8, 0, 32), (2, 16, 0, 32), (3, 1, 0, 64)]
TRANSPOSE = [
    (4, 1, 64, 32, 2, 32),
    (4, 1, 64, 32, 4, 64),
    (8, 1, 64, 32, 3, 32),
    (16, 1, 32, 32, 2, 32),
    (2, 2, 32, 32, 2, 32),
    (1, 4, 32, 32, 3, 64),
    (1, 1, 64, 32, 2, 32),
    (4, 1, 4, 64, 2, 32),
    (4, 1, 8, 8, 3, 32),
]
PAD = [(2, 16, 1, 32), (2, 4, 1, 32), (3, 1, 4, 64), (4, 2, 1, 32), (2, 8, 1, 32)]


def _maps() -> Iterator[tuple[str, MainKernel]]:
    """Yield the kernels of the map engine. The functors are made only when a kernel is made, as that takes longer than
    listing the kernels.
    """

    def of(make_functor, variant):
        return lambda: map_engine.kernel(make_functor(), variant)

    for op, src, dst, *widths in UNARY:
        variant = Variant(pack_elements(src, dst), (A.SAME,))
        yield f"{op.name} {src.name} {dst.name}", MainKernel(of(partial(functor_of, op, src, dst), variant), *widths)
    for op, src, dst, elements, access0, access1, num_axes, bits, *widths in BINARY:
        variant = Variant(elements, (access0, access1), num_axes, bits)
        name = f"{op.name} {src.name} {dst.name} {access0.name} {access1.name} {bits}"
        yield name, MainKernel(of(partial(functor_of, op, src, dst), variant), *widths)
    for data_type, read, written, num_axes, *widths in STRIDED:
        elements = 1 if written is A.EACH else pack_elements(data_type)
        variant = Variant(elements, (read,), num_axes, 32, (written,))
        make = of(partial(functor_of, U.kNegative, data_type, data_type), variant)
        yield f"strided {data_type.name} {read.name} {written.name}", MainKernel(make, *widths)
    for cond_type, data_type, ways, num_axes, *widths in CHOICES:
        cond, unit = unit_of(cond_type), unit_of(data_type)
        variant = Variant(pack_elements(cond, unit), ways, num_axes)
        name = f"where {cond.name} {unit.name} {' '.join(way.name for way in ways)}"
        yield name, MainKernel(of(partial(where.functor, cond, unit), variant), *widths)
    for number, *types, load, store in ADDED:
        first, data_type, last = types
        make = partial(add.kernel, data_type, ChunkVariant(number, first, last, pack_elements(*types)))
        yield f"add {number} {' '.join(data_type.name for data_type in types)}", MainKernel(make, load, store)


def _fused() -> Iterator[tuple[str, MainKernel]]:
    """Yield the kernels of expressions. The host passes their scalar operands."""

    def made(name, ways, num_axes):
        structure, arrays = structure_of(name)
        sources, results = structure.sources, [structure.data_type(value) for value in structure.results]
        reads = (*ways, *(A.NUMBER,) * (len(sources) - len(arrays)))
        elements = elements_of_pack(sources, results)
        variant = Variant(elements, reads, num_axes, results=(A.SAME,) * len(results))
        return map_engine.kernel(expression.functor(structure), variant)

    for name, ways, num_axes, *widths in FUSED:
        kinds = " ".join(dict.fromkeys(way.name for way in ways))
        yield f"fused {name} {kinds}", MainKernel(partial(made, name, ways, num_axes), *widths)


def _computed(variant: RowVariant | ColumnVariant, ways: tuple[Access, ...], num_axes: int) -> KernelSource:
    """Return the sum of the squared differences of two operands."""
    steps = Step(B.kSub, (0, 1), T.kFloat), Step(U.kSquare, (2,), T.kFloat)
    functor = expression.functor(Structure((T.kFloat, T.kFloat), (), steps, (3,)))
    read = Variant(variant.elements if variant.aligned else 1, ways, num_axes, results=())
    return reduce.kernel(ReduceOp.kSum, T.kFloat, T.kFloat, variant, Computed(functor, read))


def _row_expressions() -> Iterator[tuple[str, MainKernel]]:
    """Yield the kernels of expressions with rows, for arrays that are contiguous."""

    def made(name, data_type, cols, has_room):
        function, kinds = FUNCTIONS[name]
        arrays = draw(np.random.default_rng(0), kinds, 64, cols, data_type.dtype)
        structure = traced(function, arrays)
        reduced = structure.are_reduced()
        results = [Layout((64, 1 if reduced[value] else cols), None) for value in structure.results]
        program = RowProgram(structure)
        plan = RowExpressionPlan(program, [*results, *(Layout(array.shape, None) for array in arrays)], (64, cols))
        launch = plan.launch([0] * (len(results) + len(arrays)), 227 * 1024 if has_room else MERGE_BYTES)
        return row_expression.kernel(program, launch.variant)

    for name, data_type, cols, has_room, *widths in ROW_EXPRESSIONS:
        title = f"fused rows {name} {data_type.name} {cols}"
        yield title, MainKernel(partial(made, name, data_type, cols, has_room), *widths)


def _rows() -> Iterator[tuple[str, MainKernel]]:
    """Yield the kernels of reductions, and those of softmax, log-softmax and their gradients."""
    for op, data_type, elements, aligned, threads in REDUCED_ROWS:
        variant = RowVariant(Axes(1, 1, 32), elements, bool(aligned), threads, False)
        make = partial(reduce.kernel, op, data_type, data_type, variant)
        load = 16 if aligned else data_type.itemsize
        yield f"rows {op.name} {data_type.name} {aligned} {threads}", MainKernel(make, load, data_type.itemsize)
    for op, data_type, elements, sharers, parts in REDUCED_COLUMNS:
        variant = ColumnVariant(Axes(2, 1, 32), elements, True, sharers, bool(parts))
        make = partial(reduce.kernel, op, data_type, data_type, variant)
        widths = elements * data_type.itemsize, 8 if parts else data_type.itemsize
        yield f"columns {op.name} {data_type.name} {sharers} {parts}", MainKernel(make, *widths)
    yield "finish", MainKernel(partial(reduce.kernel, ReduceOp.kMean, T.kDouble, T.kDouble, FinishVariant(32)), 8, 8)
    for variant, ways, num_axes, *widths in COMPUTED:
        name = f"computed kSum kFloat {type(variant).__name__} {ways[1].name}"
        yield name, MainKernel(partial(_computed, variant, ways, num_axes), *widths)
    for function, data_type, keep, aligned, threads, packs in SOFTMAXES:
        elements = pack_elements(data_type)
        variant = SoftmaxVariant(keep, elements, bool(aligned), threads, packs)
        make = partial(row_engine.kernel, function, data_type, variant)
        width = 16 if aligned else data_type.itemsize
        name = f"{function.__name__} {data_type.name} {keep.name} {aligned} {packs}"
        yield name, MainKernel(make, width, width)
    for function, data_type, stage, store in STAGES:
        make = partial(row_engine.kernel, function, data_type, PartVariant(stage, pack_elements(data_type), True, 512))
        yield f"{function.__name__} {data_type.name} {stage.name}", MainKernel(make, 16, store)


def _moves() -> Iterator[tuple[str, MainKernel]]:
    """Yield the kernels that move elements, those that sum segments, and those of products."""
    for indices, data_type, in_rows, *widths in ONE_HOT:
        unit = unit_of(data_type)
        make = partial(one_hot.kernel, indices, unit, pack_elements(unit), bool(in_rows), 32)
        yield f"one_hot {indices.name} {unit.name} {in_rows}", MainKernel(make, *widths)
    for indices, size, bits in GATHER:
        make = partial(gather.kernel, indices, size, bits, False, False)
        yield f"gather {indices.name} {size} {bits}", MainKernel(make, max(size, indices.itemsize), size)
    for axes, size, pack, bits in MOVE:
        make = partial(move.kernel, axes, size, pack, bits)
        yield f"move {axes} {size} {pack} {bits}", MainKernel(make, size * (pack or 1), size * (pack or 1))
    for *tile, axes, bits in TRANSPOSE:
        make = partial(transpose.kernel, Tile(*tile), axes, bits)
        cell = tile[0] * tile[1]
        yield f"transpose {' '.join(map(str, (*tile, axes, bits)))}", MainKernel(make, cell, cell)
    for axes, size, pack, bits in PAD:
        make = partial(pad.kernel, axes, size, pack, bits)
        yield f"pad {axes} {size} {pack} {bits}", MainKernel(make, size * pack, size * pack)
    for data_type, elements in SEGMENTS:
        make = partial(segment_sum.sum_kernel, data_type, T.kInt32, elements, 32)
        yield f"segments {data_type.name} {elements}", MainKernel(make, 16, 16)
        make = partial(long_runs.part_kernel, data_type, T.kInt32, elements, 32)
        yield f"segment parts {data_type.name} {elements}", MainKernel(make, 16, 16)
        make = partial(long_runs.sum_kernel, data_type, T.kInt32, 64)
        yield f"long segments {data_type.name}", MainKernel(make, max(4, data_type.itemsize), data_type.itemsize)
    yield "segment keys", MainKernel(partial(segment_sum.key_kernel, T.kInt64, T.kInt32, 32), 8, 4)
    yield "segment begins", MainKernel(partial(segment_sum.begin_kernel, T.kInt32), 4, 4)
    for step in ("count", "list"):
        yield f"segment {step}", MainKernel(partial(getattr(long_runs, f"{step}_kernel"), T.kInt32), 4, 4)
    for by_rows in (True, False):
        variant = ScanVariant(T.kFloat, T.kDouble, True, by_rows)
        yield f"scan kDouble {by_rows}", MainKernel(partial(scan.kernel, variant), 8, 8)
    for task, width, *widths in PLACES:
        make = partial(arg_sort.kernel, T.kFloat, ArgSortVariant(task, T.kInt32, 32, width))
        yield f"places {task.name} {width}", MainKernel(make, *widths)
    for data_type in (T.kFloat, T.kDouble):
        make = partial(tree_ensemble.kernel, TreeAggregate.kSum, data_type)
        yield f"trees {data_type.name}", MainKernel(make, data_type.itemsize, data_type.itemsize)
    for data_type in (T.kUInt8, T.kUInt64):
        make = partial(integer_product.kernel, data_type, False, True)
        yield f"integer product {data_type.name}", MainKernel(make, data_type.itemsize, data_type.itemsize)
    for step in ("count", "scan", "scatter", "block"):
        yield f"sort {step}", MainKernel(partial(getattr(sort, f"{step}_kernel"), T.kInt32), 4, 4)


MAIN_KERNELS = dict([*_maps(), *_fused(), *_row_expressions(), *_rows(), *_moves()])
