"""Prefetches ask for every cache line of a range of bytes, from the first to the last, and for no other."""

import ctypes
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

import ep.cpu
from ep.cpu.compile.vectors import L2_CACHE, WORD, store
from ep.cpu.lines import fetch

LINE = 64
MOST = 8 * LINE
SIZES = (*range(-2, 132), 159, 160, 161, 191, 192, 193, 255, 256, 257, 384)
BEGIN = 2**40
ROOT = Path(ep.cpu.__file__).parent


@pytest.fixture
def requested(monkeypatch):
    """Return a function of code and arguments: the addresses that the compiled code asks the processor for.

    The code is `write(builder, *arguments)`. Instead of a prefetch, each request writes its address to an array.
    """
    addresses, count = np.zeros(MOST, np.int64), np.zeros(1, np.int64)

    def write_down(builder, address, cache):
        assert cache == L2_CACHE
        done = WORD(count.ctypes.data)
        place = builder.load(builder.inttoptr(done, WORD.as_pointer()))
        word = builder.ptrtoint(address, WORD) if isinstance(address.type, ir.PointerType) else address
        store(builder, word, WORD(addresses.ctypes.data), place)
        store(builder, builder.add(place, WORD(1)), done)

    monkeypatch.setattr(fetch, "prefetch_line", write_down)
    engines = []

    def make(write, number):
        module = ir.Module()
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [WORD] * number), "code")
        builder = ir.IRBuilder(function.append_basic_block())
        write(builder, *function.args)
        builder.ret_void()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        engines.append(llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine))
        engines[-1].finalize_object()
        code = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * number)(engines[-1].get_function_address("code"))

        def run(*given):
            count[0] = 0
            code(*given)
            return addresses[: count[0]].tolist()

        return run

    return make


def lines_of(begin, size):
    """Return the first address of every line with a byte of a range."""
    return sorted({(begin + place) // LINE * LINE for place in range(size)})


def check(run, *size):
    """Compare the requests for ranges that begin at each place of a line; size: the last argument, or arguments."""
    for residue in range(LINE):
        begin = BEGIN + residue
        found = run(begin, *size)
        yield begin, sorted({address // LINE * LINE for address in found}), len(found)


def test_of_any_size(requested):
    run = requested(fetch.fetch_second.write, 2)
    for size in SIZES:
        for begin, found, number in check(run, size):
            assert found == lines_of(begin, size)
            assert number <= len(found) + 1


@pytest.mark.parametrize("most", [1, 2, 16, 32, 64, 65, 66, 100, 128, 129, 256])
def test_of_at_most_a_size(requested, most):
    run = requested(lambda builder, begin, size: fetch.fetch(builder, begin, size, L2_CACHE, most), 2)
    for size in range(max(most // 2, 1), most + 1):
        for begin, found, _ in check(run, size):
            assert found == lines_of(begin, size)


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 96, 128, 160, 192, 256])
def test_of_a_constant_size(requested, size):
    run = requested(lambda builder, begin: fetch.fetch_constant(builder, begin, size, L2_CACHE), 1)
    for begin, found, number in check(run):
        assert found == lines_of(begin, size)
        assert number <= len(found) + 1


@pytest.mark.parametrize(("size", "parts"), [(64, 3), (256, 2), (192, 4), (32, 5)])
def test_of_a_run_in_parts(requested, size, parts):
    def write(builder, begin):
        for part in range(parts):
            fetch.fetch_part(builder, builder.add(begin, WORD(part * size)), size, L2_CACHE)
        fetch.fetch_last(builder, builder.add(begin, WORD(parts * size)), L2_CACHE)

    run = requested(write, 1)
    for begin, found, _ in check(run):
        assert found == lines_of(begin, size * parts)


def test_of_a_run_in_parts_of_any_number(monkeypatch):
    addresses = []
    monkeypatch.setattr(fetch, "line_into_second", addresses.append)
    for size, parts in ((2048, 3), (512, 5), (256, 2)):
        for residue in range(LINE):
            begin = BEGIN + residue
            addresses.clear()
            for part in range(parts):
                fetch.part_into_second.py_func(begin + part * size, size)
            addresses.append(begin + parts * size - 1)
            assert sorted({address // LINE * LINE for address in addresses}) == lines_of(begin, size * parts)


def test_how_many_requests_there_are_does_not_depend_on_the_address(requested):
    run = requested(fetch.fetch_second.write, 2)
    for size in SIZES:
        assert len({number for _, _, number in check(run, size)}) == 1


def test_nothing_else_prefetches():
    using = [str(path.relative_to(ROOT)) for path in sorted(ROOT.rglob("*.py")) if "prefetch_line" in path.read_text()]
    assert using == [str(Path("compile", "vectors.py")), str(Path("lines", "fetch.py"))]
