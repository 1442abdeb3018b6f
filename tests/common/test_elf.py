"""Object files in memory: what needs no linker is placed; all else is refused, and LLVM links it."""

import ctypes
import platform
import struct
import sys
from contextlib import suppress

import pytest
from llvmlite import binding

from ep.common.kernel_cache.container import pack
from ep.common.native import elf, machine_code
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.machine.kernel_cache import CACHE
from tests.kernel_folders import LAUNCH, OF_RELU, files_of
from tests.subprocesses import run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM links kernels on other systems"
)

PROGRAM = """
declare i64 @elsewhere(i64)
@table = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11], align 64

define i64 @first(i64 %index, i64 %x) {
  %place = getelementptr i64, ptr @table, i64 %index
  %entry = load i64, ptr %place
  %sum = call i64 @elsewhere(i64 %entry)
  %product = mul i64 %sum, %x
  ret i64 %product
}

define i64 @second(i64 %x, i64 %y) {
  %result = call i64 @first(i64 %x, i64 %y)
  %next = add i64 %result, 1
  ret i64 %next
}
"""
VARIABLE = """
@count = global i64 0
define i64 @counted() {
  %before = load i64, ptr @count
  %after = add i64 %before, 1
  store i64 %after, ptr @count
  ret i64 %after
}
"""


def compiled(text, **options):
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(**{"codemodel": "jitdefault", "jit": True} | options)
    return machine.emit_object(binding.parse_assembly(text))


CODE = compiled(PROGRAM) if platform.machine() == "x86_64" else b""


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
def elsewhere(x):
    return x + 100


def address_of(name):
    return {"elsewhere": ctypes.cast(elsewhere, ctypes.c_void_p).value}[name]


def test_constants_and_functions_of_the_file_and_of_the_process():
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    second, first = map(kind, elf.place(CODE, ["second", "first"], address_of))
    for index, entry in enumerate((3, 5, 7, 11)):
        assert first(index, 13) == (entry + 100) * 13
        assert second(index, 13) == (entry + 100) * 13 + 1


def test_two_files_with_the_same_names():
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    other = compiled(PROGRAM.replace("i64 7", "i64 70"))
    (first,), (another) = elf.place(CODE, ["first"], address_of), elf.place(other, ["first"], address_of)
    assert (kind(first)(2, 1), kind(another[0])(2, 1)) == (107, 170)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (b"", "damaged"),
        (b"\0" * 100, "not an object file"),
        (compiled(VARIABLE), "variables"),
        (compiled(PROGRAM, codemodel="small"), "relocations of type"),
    ],
)
def test_what_is_refused(code, why):
    with pytest.raises(elf.NotPlaceableError, match=why):
        elf.place(code, ["first"], address_of)


def test_code_for_another_processor():
    processor = bytearray(CODE)
    struct.pack_into("<H", processor, 18, 183)  # AArch64
    with pytest.raises(elf.NotPlaceableError, match="not an object file for x86-64"):
        elf.place(bytes(processor), ["first"], address_of)


def test_damage(rng):
    """A file of the cache has a digest, so damage is not expected; no address outside of the memory is written."""
    for end in range(0, len(CODE), 37):
        with pytest.raises(elf.NotPlaceableError):
            elf.place(CODE[:end], ["first"], address_of)
    for _ in range(300):
        damaged = bytearray(CODE)
        damaged[rng.integers(len(CODE))] ^= 1 << rng.integers(8)
        with suppress(elf.NotPlaceableError):
            elf.place(bytes(damaged), ["first"], lambda name: 1)


def test_a_name_that_is_not_in_the_file():
    with pytest.raises(elf.NotPlaceableError, match="third"):
        elf.place(CODE, ["third"], address_of)


def test_llvm_links_what_cannot_be_placed(monkeypatch):
    """Kernels of other systems run so; here they would not, if nothing tried it."""

    @jit
    def doubled(x):
        return 2 * x

    def function(x, y):
        return doubled(x) - y

    def refuse(*_):
        raise elf.NotPlaceableError("a test")

    for changed in ("read", "write"):
        monkeypatch.setattr(CACHE, changed, lambda name, form: None)
    monkeypatch.setattr(machine_code.elf, "place", refuse)
    address = compile_function("test.linked_by_llvm", function, 2)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(21, 5) == 37


def test_a_function_that_the_process_lacks():
    with pytest.raises(RuntimeError, match="a kernel calls ep_has_no_such_function, which is not in this process"):
        machine_code._address_of("ep_has_no_such_function")


CALLS = """
declare i64 @ep_has_no_such_function(i64)
define i64 @caller(i64 %x) {
  %y = call i64 @ep_has_no_such_function(i64 %x)
  ret i64 %y
}
define i64 @other(i64 %x) {
  ret i64 %x
}
"""


@pytest.mark.parametrize("options", [{}, {"codemodel": "small"}], ids=["placed", "linked"])
@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (CALLS, "caller", "a kernel calls ep_has_no_such_function, which is not in this process"),
        (CALLS, "other", "a kernel calls ep_has_no_such_function, which is not in this process"),
        (CALLS.replace("call i64 @ep_has_no_such_function(i64 %x)", "add i64 %x, 1"), "third", "third"),
    ],
)
def test_code_that_lacks_a_function(text, name, why, options):
    with pytest.raises(machine_code.UnusableError, match=why):
        machine_code._placed(compiled(text, **options), [name])


def test_damaged_code_is_not_given_to_llvm(monkeypatch):
    monkeypatch.setattr(machine_code, "_linked", None)
    for end in range(1, len(CODE), 137):
        with pytest.raises(machine_code.UnusableError, match="damaged object file"):
            machine_code._placed(CODE[:end], ["first"])


@pytest.mark.parametrize("options", [{}, {"codemodel": "small"}], ids=["placed", "linked"])
@pytest.mark.parametrize("name", ["caller", "third"])
def test_a_file_that_lacks_a_function_is_compiled_again(kernels, name, options):
    (file,) = files_of(kernels, OF_RELU)
    file.write_bytes(pack(f"{file.parent.name}/{file.name}", name.encode() + b"\0" + compiled(CALLS, **options)))
    for expected in ("[0.0, 0.0, 2.0] 1 5", "[0.0, 0.0, 2.0] 0 6"):
        assert run(LAUNCH, EP_CACHE_DIR=str(kernels)).splitlines()[-1] == expected


LATE = """
import ctypes, os, sys
from pathlib import Path
from ep.common.native import elf

class Late:
    def __init__(self, address):
        self.call, self.write = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address), os.write

    def __del__(self):
        self.write(1, str(self.call(41)).encode())

sys.freed_last = Late(*elf.place(Path({path!r}).read_bytes(), ["next"], {{}}.get))
"""


def test_code_stays_until_the_process_ends(tmp_path):
    """A thread that Python does not wait for may be in it when all modules are freed already."""
    file = tmp_path / "code"
    file.write_bytes(compiled("define i64 @next(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"))
    assert run(LATE.format(path=str(file))) == "42"
