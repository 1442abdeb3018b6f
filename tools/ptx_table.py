"""Compiles every kernel of the CUDA device that can be made and prints what is in it; needs no GPU.

`python -m tools.ptx_table [--cc 9.0] [--match TEXT] [--processes N]`: registers and spills are ptxas's, where it is
found. Ends with status 1 where a kernel does not compile or spills.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product

from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from ep.cuda.access import Access, Variant
from ep.cuda.arithmetic import COMPUTE_BOUND
from ep.cuda.engine.functor import functor_of
from ep.cuda.engine.map import kernel
from ep.cuda.kernels import compiler, gather, indices, move, pad, transpose
from ep.cuda.launch_config import PACK_BYTES, pack_elements
from ep.cuda.tile import every_tile
from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive import BinaryOp
from tools.ptx import find_ptxas, instructions, resources

_UNITS = (1, 2, 4, 8, 16)
_BINARY_SAMPLES = (
    (BinaryOp.kAdd, DataType.kFloat, DataType.kFloat),
    (BinaryOp.kSub, DataType.kBFloat16, DataType.kBFloat16),
    (BinaryOp.kLessThan, DataType.kInt8, DataType.kBool),
    (BinaryOp.kMul, DataType.kComplex128, DataType.kComplex128),
)
"""The binary keys that are compiled for every way to read the operands; all others for operands alike."""


def kernels() -> Iterator[compiler.Kernel]:
    """Every kernel that launches can ask for; of binary keys, every variant of a few and the usual one of all."""
    for key in sorted(ELEMENTWISE_UNARY, key=str):
        elements = 1 if key.op in COMPUTE_BOUND else pack_elements(*key.dtypes)
        yield kernel(functor_of(key.op, *key.dtypes), Variant(elements, (Access.SAME,)))  # type: ignore[arg-type]
    for key in sorted(BROADCAST_ELEMENTWISE_BINARY, key=str):
        elements = 1 if key.op in COMPUTE_BOUND else pack_elements(*key.dtypes)
        usual = Variant(elements, (Access.SAME, Access.SAME))
        yield kernel(functor_of(key.op, *key.dtypes), usual)  # type: ignore[arg-type]
    for op, src_type, dst_type in _BINARY_SAMPLES:
        for variant in _variants(pack_elements(src_type, dst_type)):
            yield kernel(functor_of(op, src_type, dst_type), variant)
    for indices_type, unit, bits, one_unit, one_group in product(
        INTEGERS, _UNITS, (32, 64), (True, False), (True, False)
    ):
        yield gather.kernel(indices_type, unit, bits, one_unit, one_group)
    for num_axes, unit, bits in product(range(1, 10), _UNITS, (32, 64)):
        for pack_units in {0, 1, PACK_BYTES // unit}:
            yield move.kernel(num_axes, unit, pack_units, bits)
        for pack_units in {1, PACK_BYTES // unit}:
            yield pad.kernel(num_axes, unit, pack_units, bits)
    for tile, num_axes, bits in product(every_tile(), (1, 2, 3, 8), (32, 64)):
        yield transpose.kernel(tile, num_axes, bits)
    yield from indices.kernels()


def _variants(elements: int) -> Iterator[Variant]:
    constant = (Access.SAME, Access.NUMBER, Access.SINGLE)
    for pair in product(constant, repeat=2):
        yield Variant(elements, pair)
    walked = (Access.PACK, Access.SPREAD)
    for num_axes, bits in product((2, 3, 8), (32, 64)):
        for pair in (*product(walked, repeat=2), *product(walked, constant), *product(constant, walked)):
            yield Variant(elements, pair, num_axes, bits)
        for pair in (
            (Access.EACH, Access.EACH),
            *product((Access.EACH,), constant),
            *product(constant, (Access.EACH,)),
        ):
            for size in {1, elements}:
                yield Variant(size, pair, num_axes, bits)


def _row(place: int, cc: tuple[int, int], ptxas: str | None) -> tuple[str, bool]:
    """One line of the table, and whether the kernel is as it should be."""
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
    except Exception as error:  # whatever it is, the rest of the table is wanted
        return f"{kernel.name} FAILED: {error!r}", False


_ALL: list[compiler.Kernel] = []


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cc", default="9.0", help="compute capability")
    parser.add_argument("--match", default="", help="only kernels whose name contains this")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    major, minor = map(int, arguments.cc.split("."))
    ptxas = find_ptxas()
    unique = {kernel.name: kernel for kernel in kernels() if arguments.match in kernel.name}
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
