"""What compiled code needs of the stack: the frames of kernels, and the longest chain of calls, from machine code."""

import re
from typing import NamedTuple

import numpy as np
import pytest

import ep
from ep.common.native import elf, machine_code
from ep.common.native.target import target
from ep.cpu.compile import llvm
from ep.cpu.engine.map.plan import TILE_BYTES
from ep.cpu.engine.move import pad, transposition
from ep.cpu.engine.product import mapped
from ep.cpu.engine.reduce import narrow_segments, row_passes, stages, walk
from ep.cpu.lines import streaming
from ep.cpu.lines.sizes import LINE
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.threads import thread_memory
from ep.cpu.vector_math.sets.beyond_buffer import BUFFER_BYTES
from tests.cpu.machine_stack import functions
from tests.cpu.stack_cases import fused_cases, prepare_others, run_operators

ROLES = {
    "find": r"find",
    "list": r"launches",
    "entry": r"enter|note|launch",
    "strided": r"strided",
    "launcher": r"launch\..*",
    "share": r"thread_pool\.share",
    "worker": r"thread_pool\.work \d",
    "probe": r"probe\.run",
    "stream": r"stream",
    "lines": r"strided\.lines",
    "stages": r"rows\.stages",
    "steps": r"reduce\.stages",
    "columns": r"columns\.stages",
    "parts": r"columns\.parts",
    "mapped product": r"product\.mapped 0",
    "mapper": r"product\.mapped [12]",
    "product": r"product\.k[A-Za-z0-9]+(\.k[A-Za-z0-9]+)*",
    "multiplier": r"product\.[a-z]\w*\..*|product\.k.*\.[a-z].*",
    "sums": r"reduce\.walk|segments\.(batches|parts|computed)|scatter\..*",
    "walk": r"map\.walk\.\d+",
    "move": r"move\.(walk|columns)|gather\.walk|copy_nd\.columns",
    "mover": r"move\.transpose\.\d+(\.\d+)?",
    "expression": r"expression\..*",
}
"""What kernels do; those that are not here are "", and do not call others at addresses which they get."""

AGAIN = {
    **{
        "share of a list": "share",
        "share of a step": "share",
        "share of a product": "share",
        "share of parts": "share",
    },
    **{"computed sums": "sums", "stream of a list": "stream", "mapped blocks": "product", "mapping": "multiplier"},
}
"""The same kernels in another place of a chain, where they call others."""

OF_PRIMITIVES = ("product", "sums", "walk", "move", "mover", "")
OF_LISTS = ("stream of a list", "lines", "stages", "steps", "columns", "mapped product", "expression")
CALLS = {
    "find": ("entry",),
    "entry": ("launcher",),
    "launcher": ("share", "stream", *OF_PRIMITIVES),
    "share": ("stream", *OF_PRIMITIVES),
    "stream": ("walk", "move", ""),
    "probe": ("share", *OF_PRIMITIVES),
    "list": ("launcher", "share of a list", *OF_LISTS),
    "strided": ("share of a list", *OF_LISTS),
    "share of a list": ("stream of a list", "lines", "stages", "expression"),
    "stream of a list": ("lines", "expression"),
    "worker": (
        *OF_PRIMITIVES,
        "stream",
        "stream of a list",
        "lines",
        "stages",
        "parts",
        "computed sums",
        "mapped blocks",
    ),
    "lines": ("expression",),
    "stages": ("sums", "expression", ""),
    "steps": ("share of a step", "computed sums", "expression"),
    "columns": ("share of parts", "parts", ""),
    "share of parts": ("parts",),
    "parts": ("stages",),
    "share of a step": ("computed sums", "expression", ""),
    "computed sums": ("expression", ""),
    "mapped product": ("share of a product", "mapped blocks"),
    "share of a product": ("mapped blocks",),
    "mapped blocks": ("mapping", "mapper", ""),
    "mapping": ("mapper", ""),
    "product": ("multiplier", ""),
    "multiplier": ("",),
    "mapper": ("expression", ""),
    "sums": ("",),
    "walk": ("move", "mover", ""),
    "move": ("mover", ""),
    "mover": ("",),
    "expression": (),
    "": (),
}
"""What each calls at addresses."""

CALLS_ITSELF = r"(elementwise_\w+|broadcast_\w+|cast|expression|rows|reduce|windows|where|add)\..*|move\.copy"
"""Kernels that keep addresses of their own functions on the stack: how they are called looks like calls of others."""


class Need(NamedTuple):
    """The bytes of stack that a task needs: in all, and when it calls another one."""

    deepest: int
    calling: int


def needs_of(name, symbols, code, named):
    """Yield what each task of a kernel needs, with its name; a number tells several tasks apart."""
    found = functions(code)

    def need(function):
        if function in named:
            return Need(named[function], 0)
        if function not in found:  # the C library's, Python's, or a table
            return Need(0, 0)
        frame = found[function].frame
        inner = [need(one) for one in found[function].calls]
        calling = max([one.calling for one in inner if one.calling] + [0 if not found[function].by_address else -frame])
        deepest = frame + max([one.deepest for one in inner], default=0)
        return Need(deepest, frame + calling if calling > 0 else frame if found[function].by_address else 0)

    for number, symbol in enumerate(symbols):
        yield (name if len(symbols) == 1 else f"{name} {number}"), need(symbol)


@pytest.fixture(scope="module")
def needs():
    """Return what all tasks need that this process has loaded: those of all kinds of launches at least."""
    if not target(CACHE).is_x86_64:
        pytest.skip("only machine code for x86-64 is read")
    rng = np.random.default_rng(1)
    for case in fused_cases(rng).values():
        case.fused()()
    run_operators(rng)
    prepare_others()
    kernels = {}
    for file_name in tuple(machine_code._of_files):
        name = re.sub(r"-[0-9a-f]{12}-[0-9a-f]{16}\.kernel$", "", file_name)
        if (held := CACHE.read(file_name, machine_code._held)) is not None:
            kernels[name] = held
    named = {}
    for name in sorted(kernels, key=lambda name: not name.startswith(("reduce_large", "put_back"))):
        if f"ep.{name}" in machine_code._own:
            ((_, need),) = needs_of(name, *kernels[name], named)
            named[f"ep.{name}"] = need.deepest
    return dict(one for name, held in kernels.items() for one in needs_of(name, *held, named))


def role_of(task):
    return next((role for role, pattern in ROLES.items() if re.fullmatch(pattern, task)), "")


@pytest.mark.ep_long
def test_the_longest_chain_of_calls(needs):
    """No chain takes more than the page on the architecture promises, with any function as large as it may be."""
    by_role = {role: {} for role in CALLS}
    for task, need in needs.items():
        by_role[role_of(task)][task] = need
    by_role |= {again: by_role[role] for again, role in AGAIN.items()}
    assert not [role for role, tasks in by_role.items() if not tasks], "a role without a kernel shows nothing"

    def chain(role):
        chains = [(need.deepest, (task,)) for task, need in by_role[role].items()]
        inner = max((chain(other) for other in CALLS[role]), default=(0, ()))
        chains += [(need.calling + inner[0], (task, *inner[1])) for task, need in by_role[role].items() if need.calling]
        return max(chains)

    longest = max(chain(role) for role in CALLS)
    assert longest[0] <= elf.MOST_STACK, " > ".join(longest[1])


@pytest.mark.ep_long
def test_what_calls_others_at_addresses_is_known(needs):
    unknown = [task for task, need in needs.items() if need.calling and not CALLS[role_of(task)]]
    assert not [task for task in unknown if not re.fullmatch(CALLS_ITSELF, task)]


def test_frames_are_counted():
    """A kernel with a large frame is found, by its size."""
    from ep.common.native.words import stack_words, store_word
    from ep.cpu.compile.compiler import compile_task

    def large(address, begin, end):
        words = stack_words(5000)
        for k in range(begin, end):
            store_word(words, k, begin)
        for k in range(begin, end):
            store_word(address, k, words)

    compile_task("large_frame", large)
    library = machine_code.LIBRARIES[-1]
    code = llvm.machine_code(library.job())
    assert 39_000 <= max(function.frame for function in functions(code).values()) < 41_000
    assert not elf.has_small_frames(code)


def test_what_many_elementary_functions_compute(rng):
    """Their loop would keep vectors of all values, four at a time: it is compiled again, with fewer."""

    def many(*arrays):
        values = [ep.ops.exp(x) for x in arrays]
        total = sum(values[1:], values[0])
        for value in values:
            total = total * value
        return total

    arrays = [rng.random((7, 41)) for _ in range(16)]
    exact = np.prod([np.exp(x) for x in arrays], axis=0) * sum(np.exp(x) for x in arrays)
    np.testing.assert_allclose(ep.fuse(many)(*arrays), exact, rtol=1e-12)


def test_the_memory_of_a_thread_is_enough():
    """It is, even if all that tasks ever take of it were taken at once."""
    taken = (
        *(stages._SCRATCH, stages._OPERANDS_BYTES, 2 * walk.TILE_BYTES, 2 * narrow_segments.FOUND_BYTES),
        *(row_passes._KEPT_BYTES, row_passes._MEMORY_BYTES, row_passes.RECORD_VECTOR * row_passes.ROWS),
        *(TILE_BYTES, BUFFER_BYTES, transposition._NEAR_BYTES, pad._TILE_BYTES, streaming._TILE),
        *(mapped._MOST_BYTES, mapped._PLACES_BYTES),
    )
    assert not [size for size in taken if size % LINE]
    assert sum(taken) <= thread_memory.BYTES - 2 * LINE
