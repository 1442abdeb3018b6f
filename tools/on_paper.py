"""Estimates of memory-bound CUDA kernels, compared with nine tenths of the bandwidth of a copy; needs no GPU.

`python -m tools.on_paper [--gpu h200] [--match TEXT]`. A row for each kernel: its registers and shared memory, the
blocks that a multiprocessor holds, the PTX instructions for each 16 bytes read or written, the percentage of the slots
of its busiest pipe that these take at nine tenths of the bandwidth, this pipe, and the bytes that a multiprocessor has
in flight, as a percentage of the bytes that hide the latency. A kernel can reach this bandwidth if the first percentage
is well below 100 and the second well above. The pipes are those of `tools.gpus`: instructions that are issued, float64
arithmetic, approximations, conversions from and to 64 bits. The instructions of rare cases in a loop are counted too:
the loop of `pad` has code for packs that cross two rows.

The second table has softmaxes and fused rows of many lengths, odd ones too: the shared memory of a block, static and
dynamic, the blocks of a multiprocessor, the PTX instructions for each element of a row, and the share of a copy's
bandwidth that the busiest pipe and the number of blocks allow. Scaling a sum, which is rare, is counted, and so are the
slots of a turn that a row has no elements for.

On an H200, a copy of float32 takes the time of 62 instructions for each element, and one of 16 bits that of 31. So rows
of 16-bit elements that are loaded one by one, and fused ones of any length, stay below the copy: an exponential and its
sum alone are about 25. Fused rows of 33 float32 columns take 100: each of eight threads has five turns of 62 and
another 107 for the row. Four threads would take fewer, but each of their stores would write half a sector.

Transposes of bytes by tiles with a side of 4 exceed the slots: four bytes share the walk that sixteen share elsewhere.

The third table has sums of the rows of one segment, first in parts and then of the parts: the threads at work, the
bytes that each loads at once, and the time, which is limited by the bandwidth, or by the latency if too few bytes are
in flight.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from ep import ops
from ep.cuda.compile import compiler
from ep.cuda.compile.launch_config import (
    BLOCK_THREADS,
    PACK_BYTES,
    WARP_THREADS,
    Grid,
    pack_elements,
    units_of_pack,
)
from ep.cuda.engine.map.expression_plan import Layout
from ep.cuda.engine.move import move, pad, transpose
from ep.cuda.engine.move.tile import every_tile
from ep.cuda.engine.reduce import kernel as reduce
from ep.cuda.engine.reduce import long_runs, rows, segment_sum
from ep.cuda.engine.reduce.plan import Axes, ColumnVariant, RowVariant
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionPlan
from ep.cuda.engine.reduce.row_passes import RowFunction, thread_tile
from ep.cuda.engine.reduce.row_plan import PartVariant, RowStorage, SoftmaxVariant, Stage, row_plan
from ep.cuda.engine.reduce.row_program import RowProgram
from ep.cuda.engine.reduce.segment_plan import part_bits
from ep.cuda.kernels import row_expression, softmax
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp
from tests.fuse.maps import traced
from tests.fuse.test_rows import layer_norm
from tools.gpus import (
    BLOCK_SHARED_BYTES,
    BLOCKS,
    CAPABILITY,
    GPUS,
    ISSUE,
    LATENCY,
    REGISTERS,
    SHARED_BYTES,
    THREADS,
    Gpu,
)
from tools.ptx import Loop, Resources, find_ptxas, loops_of, main_loop, resources

FUNCTIONS: Final = softmax.softmax, softmax.log_softmax, softmax.softmax_backward, softmax.log_softmax_backward
"""Softmaxes and their gradients."""


def kernels() -> Iterator[compiler.KernelSource]:
    """Yield kernels of Expand, CopyNd, ConstantPad and Permute for walks over few axes, and those of rows and sums."""
    for unit in (16, 8, 4, 2, 1):
        yield move.kernel(2, unit, units_of_pack(unit, 2**12, PACK_BYTES), 32)
        yield move.kernel(2, unit, 0, 32)
        yield pad.kernel(2, unit, units_of_pack(unit, 2**12, PACK_BYTES), 32)
    for tile in every_tile():
        yield transpose.kernel(tile, 3, 32)
    for data_type in (DataType.kFloat, DataType.kBFloat16, DataType.kDouble):
        yield from kernels_of_rows(data_type)
        yield from kernels_of_sums(data_type)


def kernels_of_rows(data_type: DataType) -> Iterator[compiler.KernelSource]:
    """Yield the softmaxes of rows in registers, of the longest rows that are kept there, of rows that are read again,
    and of rows in parts."""
    elements = pack_elements(data_type)
    most = 256 if data_type is DataType.kDouble else 1024
    for function in FUNCTIONS:
        for cols in (64, most):
            threads = min(cols // elements, 32)
            yield rows.kernel(
                function,
                data_type,
                SoftmaxVariant(RowStorage.REGISTERS, elements, True, threads, cols // elements // threads),
            )
        yield rows.kernel(function, data_type, SoftmaxVariant(RowStorage.NOWHERE, elements, True, BLOCK_THREADS))
        first = Stage.MAXIMA_AND_SUMS if function in (softmax.softmax, softmax.log_softmax) else Stage.SUMS
        for stage in (first, Stage.RESULTS):
            yield rows.kernel(function, data_type, PartVariant(stage, elements, True, BLOCK_THREADS))


def kernels_of_sums(data_type: DataType) -> Iterator[compiler.KernelSource]:
    """Yield reductions along the last and the first axis, and sums of segments."""
    elements, axes = pack_elements(data_type), Axes(1, 1, 32)
    for op in (ReduceOp.kSum, ReduceOp.kMean, ReduceOp.kMax):
        for row_threads in (8, 32, 256):
            variant = RowVariant(axes, elements, True, row_threads, False)
            yield reduce.kernel(op, data_type, data_type, variant)
        for sharers in (1, 8, 64):
            yield reduce.kernel(op, data_type, data_type, ColumnVariant(axes, min(elements, 4), True, sharers, False))
    yield segment_sum.sum_kernel(data_type, DataType.kInt32, elements, 32)
    yield long_runs.part_kernel(data_type, DataType.kInt32, elements, 32)
    yield long_runs.sum_kernel(data_type, DataType.kInt32, 32)


def segments() -> Iterator[tuple[compiler.KernelSource, int, int, int]]:
    """Yield the kernels for one frequent id with 500,000 rows of 768 columns, and for one with 2^20 rows of 64.

    With each: the number of threads that have work, the rows of each, and the bytes that it loads of a row.
    """
    data_type, number, pack = DataType.kFloat, DataType.kInt32, pack_elements(DataType.kFloat)
    for num_rows, cols in ((500_000, 768), (2**20, 64)):
        part_rows = 1 << part_bits(num_rows)
        parts = -(-num_rows // part_rows)
        yield long_runs.part_kernel(data_type, number, pack, 32), parts * cols // pack, part_rows, PACK_BYTES
        yield long_runs.sum_kernel(data_type, number, 32), cols, parts, data_type.itemsize


def segment_row(
    kernel: compiler.KernelSource, threads: int, num_rows: int, row_bytes: int, ptxas: str, gpu: Gpu
) -> str:
    """Return one line of the table of one segment."""
    blocks = resident_blocks(resources(ptxas, compiler.ptx(kernel, CAPABILITY), CAPABILITY), BLOCK_THREADS)
    at_work = min(threads, blocks * BLOCK_THREADS * gpu.multiprocessors)
    at_once = long_runs.rows_at_once(DataType.kFloat, row_bytes // DataType.kFloat.itemsize) * row_bytes
    bytes_per_second = min(gpu.wanted, at_work * at_once / LATENCY)
    microseconds = threads * num_rows * row_bytes / bytes_per_second * 1e6
    return f"{threads:9} {at_work:9} {num_rows:6} {at_once:6} {microseconds:7.0f} us  {kernel.name}"


FUSED: Final[dict[str, tuple[Callable[..., Any], int]]] = {
    "softmax(2x)": (lambda x: ops.softmax(x * 2.0), 1),
    "softmax(2x) - mean(x)": (lambda x: ops.softmax(x * 2.0) - ops.mean(x, -1, keepdims=True), 1),
    "layer norm": (layer_norm, 3),
}
"""Functions of rows, and their numbers of arrays: the others are one row for all rows of the first."""


class Rows(NamedTuple):
    """A kernel of many rows of `cols` elements. block_rows: those that a block has at a time; read, written: the bytes
    of an element in global memory; turns: of a warp, on average, in each loop over a row, in their order."""

    name: str
    kernel: compiler.KernelSource
    cols: int
    grid: Grid
    block_rows: int
    read: int
    written: int
    turns: list[float]


def every_row() -> Iterator[Rows]:
    """Yield softmaxes, and fused rows, of many rows in registers and in shared memory: also of odd columns."""
    for data_type in (DataType.kFloat, DataType.kBFloat16):
        for cols in (33, 127, 128, 257, 1023, 1024, 1025, 1032, 2048, 4097, 8200, 8201, 16384, 28000, 50256, 57000):
            for function in FUNCTIONS:
                yield softmax_rows(function, data_type, cols)
        for cols in (12, 33, 127, 128, 257, 1023, 1024, 1025, 4096, 4097, 8191, 8192):
            for name in FUSED:
                yield fused_rows(name, data_type, cols)


def softmax_rows(function: Callable[[DataType], RowFunction], data_type: DataType, cols: int) -> Rows:
    """Return the rows of a softmax or of its gradient."""
    made = function(data_type)
    plan = row_plan(data_type, 2**16, cols, (0,) * (made.num_operands + 1), SHARED_BYTES)
    (variant,) = plan.variants
    assert isinstance(variant, SoftmaxVariant)
    _, elements, aligned, threads, packs = variant
    slots = thread_tile(made, data_type, elements, aligned, threads, packs).slots
    of_loop = warp_turns(cols // elements, threads, slots, threads)
    num_loops = {RowStorage.REGISTERS: 0, RowStorage.SHARED: 3, RowStorage.LOADED: 2, RowStorage.NOWHERE: 2}[
        variant.storage
    ]
    size, block_rows = data_type.itemsize, plan.grid.threads[0] // threads
    kernel = rows.kernel(function, data_type, variant)
    return Rows(kernel.name, kernel, cols, plan.grid, block_rows, made.num_operands * size, size, [of_loop] * num_loops)


def fused_rows(name: str, data_type: DataType, cols: int) -> Rows:
    """Return the rows of one of FUSED."""
    function, num_arrays = FUSED[name]
    arrays = [np.zeros((num_rows := 2**6, cols) if k == 0 else cols, data_type.dtype) for k in range(num_arrays)]
    program = RowProgram(traced(function, arrays))
    layouts = [Layout(array.shape, None) for array in (arrays[0], *arrays)]
    launch = RowExpressionPlan(program, layouts, (num_rows, cols)).launch([0] * len(layouts), SHARED_BYTES)
    variant, turns = launch.variant, list[float]()
    for part in program.passes:
        width = program.sharings.index(part.sharing)
        threads, elements = variant.threads[width], variant.elements[width]
        turns.append(warp_turns(cols // elements, threads, 1, variant.row_threads))
        if part.sharing.softmax is None and elements > 1:
            turns.append(0.0)  # the loop of what is left of a single row
    kernel, size = row_expression.kernel(program, variant), data_type.itemsize
    return Rows(f"fused {name}.{data_type.name}", kernel, cols, launch.grid, variant.block_rows, size, size, turns)


def warp_turns(packs: int, threads: int, slots: int, row_threads: int) -> float:
    """Return the turns of the warps of a row, on average, each of `slots` packs, the threads of the loop apart.

    row_threads: of the row, of which `threads` share the packs.
    """
    warps = range(0, row_threads, WARP_THREADS)
    return sum(-(-max(packs - first, 0) // (threads * slots)) for first in warps if first < threads) / len(warps)


def line_of_rows(made: Rows, ptxas: str, gpu: Gpu) -> str:
    """Return one line of the table of rows.

    The loops of a block run one after the other, each limited by the bandwidth or by its busiest pipe. The other blocks
    of a multiprocessor use the remaining bandwidth and slots.
    """
    text, threads, elements = compiler.ptx(made.kernel, CAPABILITY), made.grid.threads[0], made.block_rows * made.cols
    used = resources(ptxas, text, CAPABILITY)
    blocks = max(resident_blocks(used, threads, made.grid.shared_bytes), 1)
    *loops, outer = loops_of(text)
    steps = [*zip(loops, made.turns, strict=True), (outer, 1.0)]
    load = next(k for k, (loop, turns) in enumerate(steps) if loop.loaded and turns)
    store = next(k for k, (loop, turns) in reversed([*enumerate(steps)]) if loop.stored and turns)
    # of a multiprocessor with its share of the bandwidth
    moved = [elements * (made.read * (k == load) + made.written * (k == store)) for k in range(len(steps))]
    memory = [number * gpu.multiprocessors / gpu.copy for number in moved]
    threads_in_all = threads * gpu.multiprocessors
    pipes = [
        Counter({pipe: turns * threads_in_all * seconds for pipe, seconds in slot_seconds(loop, gpu).items()})
        for loop, turns in steps
    ]
    alone = sum(max(one, *each.values()) for one, each in zip(memory, pipes, strict=True)) + 2 * LATENCY
    totals = sum(pipes, Counter())
    (busiest, seconds), total = totals.most_common(1)[0], sum(memory)
    share = total / max(total, seconds, alone / blocks)
    instructions = threads * sum(loop.instructions * turns for loop, turns in steps) / elements
    shared = made.grid.shared_bytes + used.shared
    return (
        f"{made.cols:9,} {used.registers:9} {shared:7,} {blocks:6} {threads:7} {instructions:12.0f} "
        f"{seconds / total:6.0%} {busiest:5} {share:7.2f}  {made.name}"
    )


def row(kernel: compiler.KernelSource, ptxas: str, gpu: Gpu) -> str:
    """Return one line of the table."""
    text = compiler.ptx(kernel, CAPABILITY)
    used, loop = resources(ptxas, text, CAPABILITY), main_loop(text)
    blocks = resident_blocks(used, BLOCK_THREADS)
    busy = slot_seconds(loop, gpu)
    busiest = max(busy, key=busy.__getitem__)
    slots = busy[busiest] / loop.moved * gpu.wanted
    under_way = blocks * BLOCK_THREADS * loop.loaded / needed_bytes(loop, gpu)
    return (
        f"{used.registers:9} {used.shared:6} {blocks:6} {16 * loop.instructions / loop.moved:12.0f} {slots:6.0%} "
        f"{busiest:5} {under_way:9.0%}  {kernel.name}"
    )


def resident_blocks(used: Resources, threads: int, shared_bytes: int = 0) -> int:
    """Return the blocks of `threads` threads that a multiprocessor holds; registers are given to warps in eighths of a
    kilobyte each.

    shared_bytes: what the launch asks for, besides the kernel's own.
    """
    by_registers = REGISTERS // (-(-used.registers // 8) * 8 * threads)
    by_shared = SHARED_BYTES // (shared_bytes + used.shared + BLOCK_SHARED_BYTES)
    return min(by_registers, by_shared, THREADS // threads, BLOCKS)


def slot_seconds(loop: Loop, gpu: Gpu) -> dict[str, float]:
    """Return the seconds for which a turn of a loop occupies each pipe, if all multiprocessors run it."""
    return {pipe: count * gpu.seconds(pipe) for pipe, count in {ISSUE: loop.instructions, **loop.pipes}.items()}


def needed_bytes(loop: Loop, gpu: Gpu) -> float:
    """Return the bytes that a multiprocessor must have in flight: those that arrive within the latency."""
    return gpu.wanted * loop.loaded / loop.moved * LATENCY / gpu.multiprocessors


def main() -> int:
    """Print the tables; return the exit status."""
    parser = argparse.ArgumentParser("python -m tools.on_paper", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gpu", choices=GPUS, default="h100", help="the GPU, with its clock (%(default)s)")
    parser.add_argument("--match", default="", help="only kernels whose name contains this")
    asked = parser.parse_args()
    match, gpu, ptxas = asked.match, GPUS[asked.gpu], find_ptxas()
    if ptxas is None:
        print("ptxas is not installed: python -m pip install nvidia-cuda-nvcc")
        return 1
    print("registers shared blocks instructions   busy pipe  under way  kernel")
    for kernel in kernels():
        if match in kernel.name:
            print(row(kernel, ptxas, gpu), flush=True)
    print("  columns registers  shared blocks threads instructions   busy pipe  of copy  kernel of rows")
    for made in every_row():
        if match in made.name:
            print(line_of_rows(made, ptxas, gpu), flush=True)
    print("  threads   at work   rows  bytes       time  kernel, for one segment")
    for kernel, threads, num_rows, row_bytes in segments():
        if match in kernel.name:
            print(segment_row(kernel, threads, num_rows, row_bytes, ptxas, gpu))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
