"""LLVM's part of a compilation: the machine code of a kernel, from the text of its modules.

It needs llvmlite alone, so a process that runs this file as a script starts in a tenth of a second. Such a process gets
jobs from `helpers.py` by its standard input, and answers each with machine code.
"""

from __future__ import annotations

import marshal
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

INTERLEAVED: Final = 4
"""The vectors at a time of a loop that `interleaving` marks, unless they need too much of the stack."""

ORDINARY_STORES: Final = "ep operands: ordinary stores"
"""The name of the alias scope of results that a kernel with non-temporal stores writes without them."""


class Machine(NamedTuple):
    """What machine code is for, and how much LLVM does for it.

    level: of optimisation, from 0 to 3. first: the level of the passes before all others. vectorizes: whether loops
    become vectors, in the first passes, and in all others; and whether neighbouring numbers do. option: of LLVM's
    command line; empty for none.
    """

    triple: str
    processor: str
    features: str
    level: int
    first: int
    vectorizes: tuple[bool, bool, bool]
    option: str


class Job(NamedTuple):
    """A kernel as LLVM's code.

    modules: the texts of its modules. inner: those of the functions that it calls, callers first. finished: those that
    have been optimised already. vectors: how many a marked loop computes at a time. streams: whether results are
    written with non-temporal stores. has_avx512: whether the processor has AVX-512.
    """

    machine: Machine
    modules: Sequence[str]
    inner: Sequence[str]
    finished: Sequence[str]
    vectors: int
    streams: bool
    has_avx512: bool


def machine_code(job: Job) -> bytes:
    """Return the machine code of a kernel."""
    code: bytes = target_machine(job.machine).emit_object(optimised(job))
    return code


def optimised(job: Job) -> Any:
    """Return the module of a kernel, with all functions that it calls, as machine code is made of it.

    First each function is simplified by itself: this leaves less work for the whole, and rotates loops.
    """
    from llvmlite.binding import create_new_module_pass_manager

    target = job.machine
    module = _parsed(f'target triple = "{target.triple}"\ntarget datalayout = "{_layout(target)}"\n')
    for text in job.modules:
        module.link_in(_simplified(text, target))
    for text in job.inner:
        module.link_in(_inner(text, target), preserve=True)
    for text in job.finished:
        module.link_in(_merged(_parsed(text)))
    if job.vectors != INTERLEAVED:
        module = _parsed(_COUNTS.sub(rf"\g<1>{job.vectors}", str(module)))
    in_first, in_all, of_numbers = target.vectorizes
    builder = _pass_builder(target, target.first, in_first, False)
    passes = builder.getModulePassManager()
    if target.level:
        passes.add_loop_rotate_pass()  # loops of another form would not become vectors
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
    passes.run(module, builder)
    builder = _pass_builder(target, target.level, in_all, of_numbers)
    builder.getModulePassManager().run(module, builder)
    # inline the functions that vectorised loops call in place of scalar ones (`vector_math/lookup.py`)
    passes = create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    if job.streams:
        module = _parsed(_with_streaming(str(module), job.has_avx512))
    module.verify()
    return module


@cache
def target_machine(machine: Machine) -> Any:
    """Return LLVM's object for a machine. Its code is for any addresses."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if machine.option:
        binding.set_option("ep", machine.option)
    target = binding.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.processor,
        features=machine.features,
        opt=machine.level,
        reloc={"x86": "static", "ppc": "pic"}.get(target.name[:3], "default"),
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _layout(machine: Machine) -> str:
    return str(target_machine(machine).target_data)


def _pass_builder(machine: Machine, level: int, vectorizes: bool, of_numbers: bool) -> Any:
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(level)
    options.loop_vectorization, options.slp_vectorization = vectorizes, of_numbers
    return binding.create_pass_builder(target_machine(machine), options)


def _parsed(text: str) -> Any:
    from llvmlite.binding import parse_assembly

    return parse_assembly(text)


def _simplified(text: str, machine: Machine) -> Any:
    """Return a module each of whose functions is simplified by itself."""
    module = _parsed(text)
    module.verify()
    module.data_layout = _layout(machine)
    for function in module.functions:
        if not function.is_declaration:  # LLVM's passes take as long for a declaration
            builder = _pass_builder(machine, machine.level, *machine.vectorizes[1:])
            builder.getFunctionPassManager().run(function, builder)
    return module


@cache
def _inner(text: str, machine: Machine) -> Any:
    """Return the simplified module of an inner function."""
    return _merged(_simplified(text, machine))


def _merged(module: Any) -> Any:
    """Return a module whose functions a kernel need not keep when it has copied all calls of them."""
    from llvmlite.binding import Linkage

    for function in module.functions:
        if not function.is_declaration and function.linkage == Linkage.external:
            function.linkage = Linkage.linkonce_odr
    return module


_COUNTS: Final = re.compile(r'(!"llvm\.loop\.interleave\.count", i32 )\d+')


def _with_streaming(text: str, has_avx512: bool) -> str:
    """Return a module with non-temporal stores of results.

    LLVM does not vectorise a loop of non-temporal stores of single elements, since it cannot know that the vectors are
    aligned. So the vector stores are marked after vectorisation: loops begin with whole vectors and continue with
    narrower ones.
    """
    ordinary = _ordinary_lists(text)

    def streamed(store: re.Match[str]) -> str:
        return store[0] if store[6] in ordinary else _streamed(store, has_avx512)

    return f"{_RESULTS.sub(streamed, text)}\n{_STREAMED} = !{{i32 1}}\n"


_RESULTS: Final = re.compile(
    r"^(  store <(\d+) x ([a-z]+)(\d*)> [^\n]*), align 1(, [^\n]*!noalias !(\d+)[^\n]*)$", re.MULTILINE
)
"""The vector stores that `storer` has marked; stores to a kernel's own buffers are not marked."""
_STREAMED: Final = "!1000000"
_LINE_BYTES: Final = 64
_LEAST_BYTES: Final = 16  # bytes of the shortest vector that has a non-temporal store


def _ordinary_lists(text: str) -> set[str]:
    """Return the numbers of the lists of scopes that have the one of ordinary stores."""
    scopes = re.findall(rf'^!(\d+) = .*!"{ORDINARY_STORES}"', text, re.MULTILINE)
    lists = re.findall(r"^!(\d+) = !{(!\d+(?:, !\d+)*)}$", text, re.MULTILINE)
    return {number for number, members in lists if any(f"!{one}" in members.split(", ") for one in scopes)}


def _streamed(store: re.Match[str], has_avx512: bool) -> str:
    begin, count, kind, bits, end, _ = store.groups()
    size = int(count) * ({"float": 32, "double": 64, "half": 16}.get(kind) or int(bits)) // 8
    if size < _LEAST_BYTES or size & (size - 1):
        return store[0]
    if kind == "half" and has_avx512:
        return _half_streamed(store, size)
    return f"{begin}, align {min(size, _LINE_BYTES)}{end}, !nontemporal {_STREAMED}"


def _half_streamed(store: re.Match[str], size: int) -> str:
    """Store a float16 vector by an instruction: with AVX-512, LLVM turns a non-temporal store into an ordinary one."""
    found = re.fullmatch(r"  store (<\d+ x half>) (.+), ptr (\S+)", store[1])
    assert found is not None
    kind, value, pointer = found.groups()
    vector, name = f"<{size // 4} x i32>", f"%streamed.{store.start()}"
    return (
        f"  {name} = bitcast {kind} {value} to {vector}\n"
        f'  call void asm sideeffect "vmovntps $1, $0", "=*m,v"(ptr elementtype({vector}) {pointer}, {vector} {name})'
    )


def _serve(parent: int) -> None:
    """Answer jobs until the parent ends, or the pipe does. An answer is None for a job that fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what it interrupts
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    while True:
        try:
            machine, *rest = marshal.load(jobs)
        except EOFError:
            return
        try:
            answer = machine_code(Job(Machine(*machine), *rest))
        except Exception:  # the parent compiles it, and raises the error
            answer = None
        marshal.dump(answer, answers)
        answers.flush()


def _end_with(parent: int) -> None:
    """End the process with its parent: a forked process may hold the other end of its pipe for longer."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    sys.path.append(sys.argv[1])  # that of llvmlite
    _serve(int(sys.argv[2]))
