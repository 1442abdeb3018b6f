"""A kernel that can be launched on the CPU: its PTX is translated, compiled, linked, and run by the scheduler."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np

from tests.cuda.ptx_machine import faults, function, memory, objects, operands, scheduler
from tests.cuda.ptx_machine.layout import Block, Fault, Thread
from tests.cuda.ptx_machine.stamps import NOT_YET, WATCH
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.trace import Trace
from tests.cuda.ptx_machine.translator import translate

_MAX_STATIC_BYTES: Final = 48 * 1024
"""The static shared memory of a block that ptxas accepts."""


class Program:
    """One kernel. `launch` runs it; `executed` says how often each instruction was run in all launches so far."""

    def __init__(self, text: str, name: str = "the kernel") -> None:
        """Compile a kernel. text: PTX with one entry; name: the kernel's, for errors. Raises UnknownPtxError for
        unknown PTX.
        """
        self.name, self._text = name, text
        self._translation = translation = translate(text)
        if translation.shared_bytes > _MAX_STATIC_BYTES:
            raise ValueError(f"{name}: a block has at most {_MAX_STATIC_BYTES} bytes of static shared memory")
        self._engine = _load(objects.kept(text, lambda: _compile(translation.llvm)))
        self._function: int = self._engine.get_function_address(function.ENTRY)
        self._variables = [
            (address, address + size)
            for address, size in (
                (self._engine.get_global_value_address(name), size) for name, size in translation.memory.items()
            )
        ]
        self._counters = np.zeros(max(translation.num_blocks, 1), np.int64)

    @property
    def sites(self) -> list[Instruction]:
        """Return the instructions, in the order of the text."""
        return self._translation.sites

    @property
    def num_parameters(self) -> int:
        """Return the number of parameters, each of one word."""
        return self._translation.num_parameters

    @cached_property
    def shared_bytes(self) -> int:
        """Return the bytes of static shared memory of each block."""
        return self._translation.shared_bytes

    def executed(self) -> Counter[Instruction]:
        """Return how often all threads of all launches together ran each instruction."""
        counts = self._counters[self._translation.blocks].tolist() if self.sites else []
        return Counter(dict(zip(self.sites, counts, strict=True)))

    def launch(
        self,
        blocks: Sequence[int],
        threads: Sequence[int],
        shared_bytes: int,
        words: Sequence[int],
        ranges: Sequence[tuple[int, int]],
        deviation: int = 0,
        trace: Trace | None = None,
    ) -> None:
        """Run the kernel; raise PtxError if its behaviour on a GPU would be undefined.

        blocks, threads: along the three axes; shared_bytes: of dynamic shared memory; words: the parameters;
        ranges: the beginnings and ends of all memory that may be accessed; deviation: 1 or -1 for approximations at the
        upper or the lower error bound; trace: the Trace that records the accesses to global memory.
        """
        translation, total = self._translation, math.prod(threads)
        if len(words) != translation.num_parameters:
            raise ValueError(f"{self.name} takes {translation.num_parameters} parameters, not {len(words)}")
        num_shared = translation.dynamic_offset + shared_bytes
        parameters = np.array(words, np.int64)
        shared = np.empty(num_shared + 128, np.uint8)
        writes, reads = np.zeros(num_shared, np.int64), np.zeros(2 * num_shared, np.int64)
        known = np.array(sorted((*ranges, *self._variables)), np.int64).reshape(-1)
        places = np.full(known.size // 2, NOT_YET, np.int64)
        records = np.zeros((total if translation.meets else 1, translation.record_words), np.int64)
        records[:, Thread.LOCAL_BYTES] = translation.local_bytes
        block = np.zeros(len(Block), np.int64)
        for first, values in (
            (Block.PARAMETERS, [parameters.ctypes.data]),
            (Block.NTID_X, threads),
            (Block.NCTAID_X, blocks),
            (Block.SHARED, [shared.ctypes.data + -shared.ctypes.data % 128]),
            (Block.SHARED_BYTES, [num_shared]),
            (Block.DYNAMIC_BYTES, [shared_bytes]),
            (Block.COUNTERS, [self._counters.ctypes.data]),
            (Block.SHADOW_WRITES, [writes.ctypes.data]),
            (Block.SHADOW_READS, [reads.ctypes.data]),
            (Block.RANGES, [known.ctypes.data]),
            (Block.NUM_RANGES, [known.size // 2]),
            (Block.WATCH_WRITES, [WATCH.writes.ctypes.data]),
            (Block.WATCH_READS, [WATCH.reads.ctypes.data]),
            (Block.WATCH_PLACES, [places.ctypes.data]),
            (Block.WATCH_NEXT, [1]),
            (Block.WATCH_END, [WATCH.writes.size]),
            (Block.EPOCH, [WATCH.epoch]),
            (Block.LAUNCH_EPOCH, [WATCH.epoch + 1]),
            (Block.DEVIATION, [deviation]),
        ):
            block[first : first + len(values)] = values
        if trace is not None:
            block[Block.TRACE], block[Block.TRACE_ROOM] = trace.records.ctypes.data, len(trace.records)
        scheduler.run(
            self._function,
            block,
            records,
            tuple(map(int, blocks)),
            tuple(map(int, threads)),
            translation.meets,
            translation.local_offset,
        )
        WATCH.epoch = int(block[Block.EPOCH])
        if block[Block.FAULT] != Fault.NONE:
            raise faults.PtxError(faults.describe(self.name, self.sites, block, threads, known))
        if trace is not None:
            trace.add(self.name, int(block[Block.TRACE_COUNT]))


def _target_machine() -> Any:
    """Return a target machine for this processor; one module or engine owns it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0, codemodel="jitdefault"
    )


def _compile(text: str) -> bytes:
    """Return object code. LLVM only promotes PTX registers to registers; most kernels run for microseconds, so no other
    optimisation pays.
    """
    machine = _target_machine()
    module = llvm.parse_assembly(text)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    return bytes(machine.emit_object(module))


def _load(code: bytes) -> Any:
    """Return an engine with the object code, linked with the functions of `memory`."""
    llvm.add_symbol(operands.ACCESS, memory.access().address)
    llvm.add_symbol(function.FAULT, memory.fault().address)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def address_range(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the beginning and the end of a contiguous array's memory."""
    return array.ctypes.data, array.ctypes.data + array.nbytes
