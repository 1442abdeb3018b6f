"""The kernels that are compiled again after an edit: only those that depend on the edited source. Compiles nothing."""

import ast
import shutil
from pathlib import Path

import pytest

import ep
from tests.forked import forking
from tests.subprocesses import run

KEYS = """
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.compile import compiler
files = {}
def addresses(name, made_of, to, compiled):
    files[name] = CACHE.file_name(name, "x", made_of)
    return (1,)
compiler._addresses = addresses
from ep.include.data_type import DataType
from ep.include.primitive import BinaryOp, UnaryOp
from ep.cpu.engine.move import gather_rows, gather_walk, run_writers
from ep.cpu.kernels.functors import op_kernel
float32, int8 = DataType.kFloat, DataType.kInt8
for op in (UnaryOp.kRelu, UnaryOp.kExp, UnaryOp.kTanh):
    op_kernel(op, float32, float32)
op_kernel(BinaryOp.kAdd, int8, int8)
gather_rows.mover(DataType.kInt32, 5)
print({name.removeprefix("elementwise_unary.").split(".k")[0]: file for name, file in files.items()})
"""
RELU, EXP, TANH, ADD, GATHER = "kRelu", "kExp", "kTanh", "broadcast_elementwise_binary", "gather"
ALL = {RELU, EXP, TANH, ADD, GATHER}
OPS = ALL - {GATHER}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with a copy of the package, with its bytecode: files of the same date count as unchanged."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(Path(ep.__file__).parent, folder / "ep")
    return folder


@pytest.fixture(scope="module")
def keys(sources):
    """Yield a function that returns the keys of kernels in a process that has imported nothing of the package."""
    with forking("import ml_dtypes, numba, numpy", str(sources)) as run_forked:
        yield lambda: ast.literal_eval(run_forked(KEYS))


@pytest.fixture(scope="module")
def before(keys):
    found = keys()
    assert found.keys() == ALL
    assert None not in found.values()
    assert keys() == found
    return found


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        # a functor, which a table lists for the op
        ("common/functor/unary/piecewise.py", "def relu(", "# a word\ndef relu(", {RELU}),
        ("common/functor/binary/arithmetic.py", "def add(", "# a word\ndef add(", {ADD}),
        # a helper of the elementary functions of a library
        ("cpu/vector_math/bits.py", '"""', '"""A word. ', {EXP, TANH}),
        ("cpu/vector_math/sets/beyond_buffer.py", '"""', '"""A word. ', OPS),
        # code that compiles every kernel
        ("cpu/compile/target.py", "else 512}", "else 256}", ALL),
        # an enum
        ("include/primitive/unary_op.py", '"""', '"""A word. ', OPS),
        ("include/data_type.py", '"""', '"""A word. ', ALL),
        # a package that contains a functor's module
        ("common/functor/__init__.py", '"""', '"""A word. ', OPS),
        # code that runs kernels, and code that is independent of them
        ("cpu/device/stream.py", '"""', '"""A word. ', set()),
        ("cpu/primitive/elementwise_unary.py", '"""', '"""A word. ', set()),
        ("ops/shapes.py", '"""', '"""A word. ', set()),
        ("version.py", '"""', '"""A word. ', set()),
        ("cpu/engine/move/gather_rows.py", '"""', '"""A word. ', {GATHER}),
    ],
)
def test_an_edit_changes_the_keys_of_what_it_reaches(sources, keys, before, path, old, new, changed):
    edited = sources / "ep" / path
    text = edited.read_text()
    assert old in text
    edited.write_text(text.replace(old, new, 1))
    try:
        after = keys()
    finally:
        edited.write_text(text)
    assert {name for name in ALL if after[name] != before[name]} == changed


def test_another_functor_for_the_op_changes_the_key(sources, keys, before):
    """The functor is replaced by a module that defines neither functor, and that no kernel of the op imports."""
    beside = sources / "ep" / "common" / "functor" / "unary" / "__init__.py"
    text = beside.read_text()
    more = """
from ep.common.functor.table import _TABLE, Kind
from ep.include.primitive.unary_op import UnaryOp
_TABLE[UnaryOp.kRelu, Kind.FLOAT] = _TABLE[UnaryOp.kSquare, Kind.FLOAT]
"""
    beside.write_text(text + more)
    try:
        assert keys().get(RELU) != before[RELU]
    finally:
        beside.write_text(text)


def test_a_kernel_of_functions_from_elsewhere_is_not_kept():
    """The sources of the functions are outside the package, so that edits of them would not be noticed."""
    code = """
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.compile.jit import jit
from ep.common.native.words import store_word
def task(address, begin, end):
    store_word(address, 0, begin)
print(CACHE.file_name("mine", "x", store_word.py_func if hasattr(store_word, "py_func") else store_word) is not None)
print(CACHE.file_name("mine", "x", task), CACHE.file_name("mine", "x", jit(task)))
"""
    assert run(code).split() == ["True", "None", "None"]


def test_how_a_kernel_is_compiled_is_part_of_its_key(monkeypatch):
    """A function that is compiled with other options has another key, for example if it becomes a light kernel."""
    from ep.cpu.compile import compiler

    class Found(Exception):
        """The key has been determined; nothing is compiled."""

    class Cache:
        read = compiler.CACHE.read  # of the target

        def file_name(self, *key):
            raise Found(*key[:2])

    monkeypatch.setattr(compiler, "CACHE", Cache())
    monkeypatch.setattr(compiler.statistics, "names", [])
    keys = set()
    for how in ({}, {"light": True}, {"streaming": True}):
        with pytest.raises(Found) as found:
            compiler.compile_task("any", lambda a, b, c: None, **how)
        keys.add(found.value.args)
    assert len(keys) == 3
