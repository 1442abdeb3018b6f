"""The sources that a module depends on, and the state of these sources in a process."""

import ast
import importlib
import os
import sys
import time

import pytest

from ep import source_files
from ep.common.kernel_cache.sources import PACKAGE, Sources, imports_of
from ep.source_files import FileState

FILES = {
    "__init__.py": "from {p}.names import exported\n",
    "names.py": "exported = 1\n",
    "kernel.py": "from {p}.tables import TABLE, helper\nfrom {p}.functors import ops\n"
    "def f():\n    from {p} import lazy\n",
    "lazy.py": "import {p}.leaf as leaf\n",
    "leaf.py": "",
    "tables/__init__.py": "from {p}.tables.one import helper\nfrom {p}.tables import two\nTABLE = {{**two.TABLE}}\n",
    "tables/one.py": "from {p}.functors import (  # a comment, with a comma\n    renamed as again,\n)\n",
    "tables/two.py": "TABLE = {{}}\n",
    "functors/__init__.py": "from {p}.functors.far import thing as renamed\nfrom {p}.functors import unused\n",
    "functors/far.py": "thing = 1\nif TYPE_CHECKING:\n    from {p} import for_checkers\n\n"
    "x = 1; from {p} import second\n",
    "functors/ops.py": 'name = "{p}.by_name"\nimport_module(name)\n',
    "functors/unused.py": "",
    "for_checkers.py": "",
    "second.py": "from {p} import \\\n    third\n",
    "third.py": "",
    "by_name.py": "import {p}\n",
    "unrelated.py": "from {p} import kernel\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Yield the folder of a package with a unique name, which has not been imported."""
    name = f"package_{tmp_path.name}"
    folder = tmp_path / name
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.format(p=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.TYPE_CHECKING", False, raising=False)
    monkeypatch.setattr("builtins.import_module", importlib.import_module, raising=False)
    yield folder
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]


def known(folder):
    """Return the sources as a process sees them that imports the package now."""
    states = {str(path.relative_to(folder)): FileState.of(path.stat()) for path in folder.rglob("*.py")}
    return Sources(str(folder), states)


def reached(folder, *modules):
    sources = known(folder)
    found = sources.reached({f"{folder.name}.{module}" for module in modules})
    return {module.removeprefix(f"{folder.name}.") for module in found if module != folder.name}


def test_what_a_module_reaches(package):
    """All imports count, except those of an `__init__` for other modules, and those for type checkers."""
    beyond = {"kernel", "tables", "tables.one", "tables.two", "functors", "functors.far", "functors.ops"}
    assert reached(package, "kernel") == beyond | {"lazy", "leaf", "second", "third", "by_name", "names"}
    assert reached(package, "tables.one") == {"tables", "tables.one", "functors", "functors.far", "second", "third"}
    assert reached(package, "leaf") == {"leaf"}


def test_a_module_that_appeared_later_is_not_known(package):
    sources = known(package)
    (package / "late.py").write_text("")
    (package / "leaf.py").write_text(f"from {package.name}.late import x\n")
    assert sources.digest([f"{package.name}.leaf"]) is None
    assert known(package).digest([f"{package.name}.leaf"]) is not None
    assert known(package).digest([f"{package.name}.missing"]) is None
    assert known(package).digest(["elsewhere"]) is None


def digest(folder, module="kernel"):
    return known(folder).digest([f"{folder.name}.{module}"])


@pytest.mark.parametrize("path", FILES)
def test_an_edit_changes_the_digests_of_what_reaches_the_file(package, path):
    before = digest(package), digest(package, "tables.one"), digest(package, "leaf")
    (package / path).write_text((package / path).read_text() + "# a word\n")
    after = digest(package), digest(package, "tables.one"), digest(package, "leaf")
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    for root, old, new in zip(("kernel", "tables.one", "leaf"), before, after, strict=True):
        assert (old != new) == (module in reached(package, root) | {"__init__"}), root


def test_dates_are_not_part_of_a_digest(package):
    before = digest(package)
    for path in package.rglob("*.py"):
        os.utime(path, (time.time() + 10**6,) * 2)
    assert digest(package) == before


def test_an_edit_after_the_import_is_noticed_until_a_digest_is_taken(package):
    module = f"{package.name}.leaf"
    for edited_first in (True, False):
        sources = known(package)
        importlib.import_module(module)
        before = None if edited_first else sources.digest([module])
        assert edited_first or before
        (package / "leaf.py").write_text((package / "leaf.py").read_text() + "# a word\n")
        assert sources.digest([module]) == before
        assert sources.digest([module]) == before
        assert sources.digest([f"{package.name}.tables.two"])  # does not depend on the edited module


def test_an_edit_of_the_same_size_and_date_is_noticed_where_the_file_is_replaced(package):
    sources, path = known(package), package / "names.py"
    status = path.stat()
    (package / "new").write_text("exported = 2\n")
    os.utime(package / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(package / "new", path)
    assert sources.digest([f"{package.name}.names"]) is None


def test_what_is_not_imported_is_looked_at_again(package):
    """The file may be edited before it is imported."""
    module, sources = f"{package.name}.leaf", known(package)
    assert sources.digest([module])
    (package / "leaf.py").write_text("# a word\n")
    assert sources.digest([module]) is None


def test_a_module_that_is_imported_anew_is_not_known(package):
    module, sources = f"{package.name}.leaf", known(package)
    imported = importlib.import_module(module)
    assert sources.digest([module])
    importlib.reload(imported)
    assert sources.digest([module]) is None


def _by_grammar(text):
    tree, found = ast.parse(text), set()

    def look(node):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.update((each.name, None) for each in node.names)
        if isinstance(node, ast.ImportFrom):
            found.update((node.module, each.name) for each in node.names)
        for child in ast.iter_child_nodes(node):
            look(child)

    look(tree)
    return found


def test_imports_are_those_of_the_grammar():
    """The imports found in each file of the package itself are those that the parser of Python finds."""
    assert len(source_files.STATES) > 100
    for path in source_files.STATES:
        with open(os.path.join(source_files.FOLDER, path)) as file:
            text = file.read()
        found = {(each.module, each.name) for each in imports_of(text, "ep")}
        assert found == _by_grammar(text), path


def test_relative_imports():
    text = "from . import a\nfrom .b import c as d\nfrom ..e import f\nfrom .. import g\n"
    assert [tuple(each) for each in imports_of(text, "ep.x.y")] == [
        ("ep.x.y", "a", "a"),
        ("ep.x.y.b", "c", "d"),
        ("ep.x.e", "f", "f"),
        ("ep.x", "g", "g"),
    ]


def test_gather_does_not_reach_functors_nor_kernels_the_device():
    moves = (f"engine.move.{name}" for name in ("gather", "gather_rows", "gather_walk", "walk", "run_writers", "entry"))
    for kernel in (*moves, "lines.streaming", "threads.thread_pool"):
        found = PACKAGE.reached([f"ep.cpu.{kernel}"])
        assert not [module for module in found if "functor" in module], kernel
    for kernel in ("kernels.elementwise", "kernels.functors"):
        found = PACKAGE.reached([f"ep.cpu.{kernel}"])
        assert {"ep.include.primitive.unary_op", "ep.include.data_type", "ep.cpu.compile.lowering"} <= found
        assert not found & {
            "ep.cpu.device.stream",
            "ep.cpu.device.device",
            "ep.cpu.primitive",
            "ep.ops",
            "ep.cli",
            "ep.cuda",
        }


CUDA_KERNELS = [
    path for path in source_files.STATES if path.startswith(("cuda/kernels/", "cuda/engine/", "cuda/compile/"))
]


@pytest.mark.parametrize("path", [path for path in CUDA_KERNELS if not path.endswith("/loader.py")])
def test_kernels_of_cuda_reach_neither_drivers_nor_other_devices(path):
    found = PACKAGE.reached([f"ep.{path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"])
    apart = (
        "ep.cpu",
        "ep.ops",
        "ep.cli",
        "ep.cuda.driver.interface",
        "ep.cuda.device.device",
        "ep.cuda.primitive",
        "ep.cuda.device.stream",
    )
    assert not [module for module in found if module.startswith(apart)]
