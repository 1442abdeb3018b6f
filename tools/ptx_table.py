"""Compiles every kernel of the CUDA device and prints its contents; needs no GPU.

`python -m tools.ptx_table [--cc 9.0] [--match TEXT] [--processes N]`: registers and spills are those that ptxas
reports, if it is found. The exit status is 1 if a kernel does not compile or spills. `--files` compiles nothing, and
prints the names of their files on disk, and of those of rows, sums and expressions.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from typing import Final

from ep.common.primitive.keys import (
    ADD,
    BROADCAST_ELEMENTWISE_BINARY,
    BROADCAST_ELEMENTWISE_UNARY,
    ONE_HOT,
    SCAN,
    TREE_ENSEMBLE,
    WHERE,
)
from ep.common.stored_types import scanned_as, stored_types, unit_of
from ep.cuda.compile import compiler
from ep.cuda.compile.arithmetic import COMPUTE_BOUND
from ep.cuda.compile.kernel_cache import KERNELS
from ep.cuda.compile.launch_config import PACK_BYTES, pack_elements, units_of_pack
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.chunks import CHUNK, ChunkVariant, sum_type
from ep.cuda.engine.map.functor import functor_of
from ep.cuda.engine.map.kernel import kernel
from ep.cuda.engine.move import gather, move, pad, transpose
from ep.cuda.engine.move.tile import every_tile
from ep.cuda.engine.reduce.arg_sort_plan import ArgSortVariant, Task
from ep.cuda.engine.reduce.scan_plan import ScanVariant
from ep.cuda.kernels import add, arg_sort, indices, one_hot, scan, tree_ensemble, where
from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive import BinaryOp, UnaryOp
from ep.include.primitive.primitive import Key
from tools.ptx import find_ptxas, instructions, resources

_UNITS: Final = (1, 2, 4, 8, 16)
_BINARY_SAMPLES: Final = (
    (BinaryOp.kAdd, DataType.kFloat, DataType.kFloat),
    (BinaryOp.kSub, DataType.kBFloat16, DataType.kBFloat16),
    (BinaryOp.kLessThan, DataType.kInt8, DataType.kBool),
    (BinaryOp.kMul, DataType.kComplex128, DataType.kComplex128),
)
"""The binary keys that are compiled for every way to read the operands; other keys only for operands that are read in
the same way."""
_STRIDED_SAMPLES: Final = (
    (UnaryOp.kNegative, DataType.kFloat, DataType.kFloat),
    (UnaryOp.kCast, DataType.kFloat, DataType.kBFloat16),
    (UnaryOp.kIdentity, DataType.kInt8, DataType.kInt8),
    (UnaryOp.kSqrt, DataType.kComplex128, DataType.kComplex128),
)
"""The unary keys that are compiled for every way to read src and to write dst."""
_CHOICE_SAMPLES: Final = ((DataType.kBool, DataType.kFloat), (DataType.kInt64, DataType.kInt8))
"""The types of cond and of the other operands for which Where is compiled with every way to read the operands."""
_CONSTANT: Final = (Access.SAME, Access.NUMBER, Access.SINGLE)
_BY_PACKS: Final = (Access.PACK, Access.SPREAD)
_WALKS: Final = tuple(product((2, 3, 8), (32, 64)))
"""The numbers of axes, and the bits of positions on them."""


def kernels() -> Iterator[compiler.KernelSource]:
    """Yield the kernels of launches.

    For keys whose operands may be broadcast: every variant of a few keys, and the usual variant of all.
    """
    for key in sorted(BROADCAST_ELEMENTWISE_UNARY, key=str):
        if key.op is UnaryOp.kCast and len(set(key.dtypes)) == 1:
            continue  # launches use kIdentity
        elements = 1 if key.op in COMPUTE_BOUND else pack_elements(*key.dtypes)
        yield kernel(functor_of(key.op, *key.dtypes), Variant(elements, (Access.SAME,)))  # type: ignore[arg-type]
    for key in sorted(BROADCAST_ELEMENTWISE_BINARY, key=str):
        elements = 1 if key.op in COMPUTE_BOUND else pack_elements(*key.dtypes)
        usual = Variant(elements, (Access.SAME, Access.SAME))
        yield kernel(functor_of(key.op, *key.dtypes), usual)  # type: ignore[arg-type]
    for unary_op, src_type, dst_type in _STRIDED_SAMPLES:
        for variant in _strided(pack_elements(src_type, dst_type)):
            yield kernel(functor_of(unary_op, src_type, dst_type), variant)
    for op, src_type, dst_type in _BINARY_SAMPLES:
        for variant in _variants(pack_elements(src_type, dst_type), 2, _WALKS):
            yield kernel(functor_of(op, src_type, dst_type), variant)
    yield from _choices()
    yield from _sums()
    yield from _one_hots()
    yield from _scans_and_sorts()
    for unit_type, access in product(_unit_types(), (Access.NUMBER, Access.SINGLE)):
        for elements in {1, pack_elements(unit_type)}:
            yield kernel(functor_of(UnaryOp.kIdentity, unit_type, unit_type), Variant(elements, (access,)))
    for indices_type, unit, bits, one_unit, one_group in product(
        INTEGERS, _UNITS, (32, 64), (True, False), (True, False)
    ):
        yield gather.kernel(indices_type, unit, bits, one_unit, one_group)
    for num_axes, unit, bits in product(range(1, 10), _UNITS, (32, 64)):
        for pack_units in {0, 1, *_packs_of(unit)}:
            yield move.kernel(num_axes, unit, pack_units, bits)
        for pack_units in {1, *_packs_of(unit)}:
            yield pad.kernel(num_axes, unit, pack_units, bits)
    for tile, num_axes, bits in product(every_tile(), (1, 2, 3, 8), (32, 64)):
        yield transpose.kernel(tile, num_axes, bits)
    yield from indices.kernels()


def _packs_of(unit: int) -> set[int]:
    """Return the numbers of units that a pack has in long rows and in short ones."""
    return {units_of_pack(unit, row, PACK_BYTES) for row in (1, 2**12)}


def _unit_types() -> list[DataType]:
    """Return the types as which elements are moved: one for each size."""
    return sorted({unit_of(data_type) for data_type in _types(ADD)}, key=lambda each: each.itemsize)


def _types(keys: Iterable[Key], side: int = 0) -> list[DataType]:
    """Return the data types that keys have at place `side`."""
    return sorted({key.dtypes[side] for key in keys}, key=str)


def _choices() -> Iterator[compiler.KernelSource]:
    """Yield the kernels of Where."""
    conds = sorted({unit_of(cond) for cond in _types(WHERE)}, key=str)
    for cond, unit_type in product(conds, _unit_types()):
        usual = Variant(pack_elements(cond, unit_type), (Access.SAME,) * 3)
        yield kernel(where.functor(cond, unit_type), usual)
    for cond_type, data_type in _CHOICE_SAMPLES:
        cond, unit_type = unit_of(cond_type), unit_of(data_type)
        for variant in _variants(pack_elements(cond, unit_type), 3, _WALKS[:1]):
            yield kernel(where.functor(cond, unit_type), variant)


def _sums() -> Iterator[compiler.KernelSource]:
    """Yield the kernels of Add: of whole chunks, whose first operand or result may be a sum, and of fewer operands."""
    for data_type in sorted({stored_types(BinaryOp.kAdd, each, each)[0] for each in _types(ADD)}, key=str):
        for first, last in product({data_type, sum_type(data_type)}, repeat=2):
            for number in range(2, CHUNK + 1):
                yield add.kernel(data_type, ChunkVariant(number, first, last, pack_elements(first, data_type, last)))


def _one_hots() -> Iterator[compiler.KernelSource]:
    for indices_type, unit_type, bits in product(_types(ONE_HOT), _unit_types(), (32, 64)):
        for elements, in_rows in {(1, True), (pack_elements(unit_type), True), (pack_elements(unit_type), False)}:
            yield one_hot.kernel(indices_type, unit_type, elements, in_rows or elements == 1, bits)


def _scans_and_sorts() -> Iterator[compiler.KernelSource]:
    for types in sorted({scanned_as(data_type) for data_type in _types(SCAN)}, key=str):
        for is_sum, by_rows, bits in ((True, True, 32), *product((True, False), (False,), (32, 64))):
            yield scan.kernel(ScanVariant(*types, is_sum, by_rows, bits))
    for data_type in [DataType.kDouble, DataType.kFloat, DataType.kFloat16, *INTEGERS[::2]]:
        for task, width in ((Task.KEYS, 1), *((Task.FIND, 2**k) for k in range(9))):
            number = DataType.kInt64 if task is Task.FIND or data_type.itemsize == 8 else DataType.kInt32
            yield arg_sort.kernel(data_type, ArgSortVariant(task, number, 32, width))
    for key in sorted(TREE_ENSEMBLE, key=str):
        yield tree_ensemble.kernel(key.op, *key.dtypes)


def _variants(elements: int, num_operands: int, walks: Iterable[tuple[int, int]]) -> Iterator[Variant]:
    """Yield every way to read operands, for a dst that is written in order."""
    for ways in product(_CONSTANT, repeat=num_operands):
        yield Variant(elements, ways)
    for num_axes, bits in walks:
        for ways in product((*_BY_PACKS, *_CONSTANT), repeat=num_operands):
            if not set(_BY_PACKS).isdisjoint(ways):
                yield Variant(elements, ways, num_axes, bits)
        for ways in product((Access.EACH, *_CONSTANT), repeat=num_operands):
            if Access.EACH in ways:
                for size in {1, elements}:
                    yield Variant(size, ways, num_axes, bits)


def _strided(elements: int) -> Iterator[Variant]:
    """Yield every way to read an operand, and to write dst with gaps too."""
    yield from _variants(elements, 1, _WALKS)
    for num_axes, bits in _WALKS:
        for way in (*_BY_PACKS, *_CONSTANT):
            yield Variant(elements, (way,), num_axes, bits, (Access.PACK,))
        for way in (Access.EACH, *_CONSTANT):
            yield Variant(1, (way,), num_axes, bits, (Access.EACH,))


def _every_kind() -> Iterator[compiler.KernelSource]:
    from tests.cuda.main_kernels import MAIN_KERNELS
    from tools import on_paper

    yield from kernels()
    yield from on_paper.kernels()
    for main in MAIN_KERNELS.values():
        yield main.make()


def _row(place: int, cc: tuple[int, int], ptxas: str | None) -> tuple[str, bool]:
    """Return one line of the table, and whether the kernel compiles without spills."""
    kernel = _ALL[place]
    try:
        text = compiler.ptx(kernel, cc)
        found = instructions(text)
        line = f"{found.widest_load:4} {found.widest_store:5} {found.local:5} {found.float64:5} {found.division64:5}"
        if ptxas is None:
            return f"{line}  {kernel.name}", True
        used = resources(ptxas, text, cc)
        spills = used.spill_stores + used.spill_loads
        return f"{used.registers:9} {used.stack:5} {spills:6} {used.code:6} {line}  {kernel.name}", not spills
    except Exception as error:  # for any error, print the rest of the table
        return f"{kernel.name} FAILED: {error!r}", False


_ALL: list[compiler.KernelSource] = []


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cc", default="9.0", help="compute capability")
    parser.add_argument("--match", default="", help="only kernels whose name contains this")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--files", action="store_true", help="print the names of their files on disk")
    arguments = parser.parse_args()
    major, minor = map(int, arguments.cc.split("."))
    if arguments.files:
        for kernel in _every_kind():
            print(f"{KERNELS.folder().name}/{compiler.file_name(kernel, (major, minor), 'sm')}")
        return 0
    unique = {kernel.name: kernel for kernel in kernels() if arguments.match in kernel.name}
    ptxas = find_ptxas()
    _ALL.extend(unique.values())
    used = "registers stack spills  bytes " if ptxas else ""
    print(f"{used}load store local   f64 div64  kernel")
    failures = 0
    with multiprocessing.get_context("fork").Pool(arguments.processes) as pool:
        for line, good in pool.imap(partial(_row, cc=(major, minor), ptxas=ptxas), range(len(_ALL)), chunksize=8):
            print(line, flush=True)
            failures += not good
    print(f"{len(_ALL)} kernels for sm_{major}{minor}, {failures} not as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
