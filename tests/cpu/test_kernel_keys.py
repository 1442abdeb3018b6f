"""The kernels that are compiled again after an edit: all those of the devices that it may concern."""

import ast
import shutil
from pathlib import Path

import pytest

import ep
from tests.forked import forking
from tests.subprocesses import run

KEYS = """
from ep.common.checks import as_index
from ep.cpu.machine.kernel_cache import CACHE
from ep.cuda.compile import kernel_cache as cuda
caches = {"cpu": CACHE, "cuda": cuda.KERNELS, "launches": cuda.CACHE}
print({name: cache.file_name("mine", "x", as_index) for name, cache in caches.items()})
"""
ALL = {"cpu", "cuda", "launches"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with a copy of the package, with its bytecode: files of the same date count as unchanged."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(Path(ep.__file__).parent, folder / "ep")
    return folder


@pytest.fixture(scope="module")
def keys(sources):
    """Yield a function that returns the keys of kernels in a process that has imported nothing of the package."""
    with forking("import ml_dtypes, numpy", str(sources)) as run_forked:
        yield lambda: ast.literal_eval(run_forked(KEYS))


@pytest.fixture(scope="module")
def before(keys):
    found = keys()
    assert found.keys() == ALL
    assert None not in found.values()
    assert keys() == found
    return found


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("common/functor/unary/piecewise.py", ALL),
        ("include/data_type.py", ALL),
        ("cpu/compile/target.py", {"cpu"}),
        ("cpu/vector_math/bits.py", {"cpu"}),
        ("cuda/compile/compiler.py", {"cuda", "launches"}),
        ("run/loop.py", {"cuda", "launches"}),
        ("ops/shapes.py", set()),
        ("version.py", set()),
    ],
)
def test_an_edit_changes_the_keys_of_the_devices_that_it_may_concern(sources, keys, before, path, changed):
    edited = sources / "ep" / path
    text = edited.read_text()
    edited.write_text(text + "# a word\n")
    try:
        after = keys()
    finally:
        edited.write_text(text)
    assert {name for name in ALL if after[name] != before[name]} == changed


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


NAMES = """
from collections import Counter
from ep import DeviceType, RequirePrimitive
from ep.cpu.compile import compiler
from ep.cpu.vector_math.sets.beyond_limit import functions_of_any, single_functions_of_any
from ep.include import primitive as p
names, addresses = Counter(), iter(range(2**20, 2**40, 2**10))
def addresses_of(name, made_of, to, compiled, documented):
    names[name, to] += 1
    return tuple(next(addresses) for _ in (made_of if isinstance(made_of, tuple) else (made_of,)))
compiler._addresses = addresses_of  # nothing is compiled, and nothing called
for entry in p.registered(DeviceType.kCPU):
    key = (*[entry.op][: entry.op is not None], *entry.dtypes)
    for more in ((), (3,)):  # of axes
        try:
            primitive = RequirePrimitive(getattr(p, f"{entry.interface.__name__}Factory"), DeviceType.kCPU, *key, *more)
            break
        except TypeError:  # products and moves of any type take more
            primitive = None
    if primitive:
        primitive._compile()
        primitive._compile_variants()
functions_of_any(), single_functions_of_any()  # both sets call the same function
print(len(names), [name for name, number in names.items() if number > 1])
"""


def test_every_kernel_has_a_name_of_its_own():
    """Two kernels of one name would share a file. Kernels of all keys are asked for, each once."""
    number, repeated = run(NAMES).split(maxsplit=1)
    assert int(number) > 2000
    assert repeated.strip() == "[]"


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
