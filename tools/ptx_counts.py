"""Counts the instructions that CUDA kernels execute per element of the result, to compare them without a GPU.

`python -m tools.ptx_counts [--set unary] [--dtype float32] [--size 65536] [--match TEXT]` launches the cases of the
benchmark once each, on the CPU, from the PTX of their kernels. The instructions are those of PTX, which ptxas turns
into machine instructions. The last figures of a line are the bytes of the sectors that warps access, per byte that
they load and per byte that they store: 1.00 if lanes access adjacent addresses, less if they read the same ones, more
if they leave gaps.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np

from benchmarks.cases.sets import SETS
from ep import DeviceManagerRegistry, DeviceType, UnsupportedPrimitiveError
from ep.bench.case import Case
from ep.bench.trial import set_up
from ep.cli.names import factory_of
from tests.cuda.ptx_machine.driver import PtxDriver
from tests.cuda.ptx_machine.install import install_without_gpu
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.trace import Requests, Trace
from tests.cuda.ptx_machine.traffic import bytes_moved


@dataclass(frozen=True)
class Count:
    """The counts of one launch of a kernel.

    moved: bytes loaded from and stored to global memory; loads, stores: the requests of warps for them.
    """

    kernel: str
    instructions: Counter[Instruction]
    moved: int
    loads: Requests
    stores: Requests

    def of(self, *names: str) -> int:
        """Return how many instructions with these names were executed; all of them without names."""
        return sum(count for site, count in self.instructions.items() if not names or site.name in names)


def counts(case: Case, driver: PtxDriver) -> list[Count]:
    """Return the counts of each kernel of one launch of a case."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
    trial = set_up(case, device, factory_of(case.primitive))
    if not trial.is_right:
        raise RuntimeError(f"{case.name}: the result is not NumPy's")
    before = {id(program): program.executed() for program in driver.programs}
    driver.trace = trace = Trace()
    try:
        trial.launch()
    finally:
        driver.trace = None
    found = []
    for program in driver.programs:
        executed = program.executed()
        executed.subtract(before.get(id(program), Counter()))
        if any(executed.values()):
            requests = trace.loads[program.name], trace.stores[program.name]
            found.append(Count(program.name, executed, bytes_moved(executed), *requests))
    return found


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser("python -m tools.ptx_counts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", action="append", choices=SETS, help="cases of this set alone; may be repeated")
    parser.add_argument("--dtype", type=np.dtype, default=np.dtype("float32"), help="of the operands (%(default)s)")
    parser.add_argument("--size", type=int, default=2**16, help="elements of a result, about (%(default)s)")
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    asked = parser.parse_args()
    if not install_without_gpu():
        print("kernels are counted where they can be compiled, and there is no GPU", file=sys.stderr)
        return 1
    from ep.cuda.driver.current import driver

    device = driver()
    assert isinstance(device, PtxDriver)
    title = "per element: instructions  loads  stores  shared  meetings  bytes of all that must move"
    print(f"{title}  sectors: loads  stores")
    for name in asked.set or SETS:
        for case in SETS[name](asked.size, asked.dtype):
            if asked.match in case.name:
                _print(case, device)
    return 0


def _print(case: Case, device: PtxDriver) -> None:
    elements = math.prod(case.out_dims)
    try:
        found = counts(case, device)
    except UnsupportedPrimitiveError:
        print(f"{'not supported':>71}  {case.name}")
        return
    for count in found:
        shared = sum(n for site, n in count.instructions.items() if "shared" in site.modifiers)
        meetings = count.of("bar", "barrier", "shfl", "vote", "redux", "match")
        figures = (count.of(), count.of("ld"), count.of("st"), shared, meetings)
        line = "".join(f"{figure / elements:9.3f}" for figure in figures)
        share = f"{count.moved / elements:8.2f} of {case.bytes_moved / elements:7.2f}"
        sectors = f"{count.loads.sectors_per_byte:7.2f} {count.stores.sectors_per_byte:7.2f}"
        print(f"{line} {share} {sectors}  {count.kernel}  {case.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
