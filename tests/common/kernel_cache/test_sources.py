"""The digest of a package's sources, and the state of these sources in a process."""

import importlib
import os
import sys
import time

import pytest

from ep import source_files
from ep.common.kernel_cache.sources import Sources
from ep.source_files import FileState
from tests.subprocesses import run

FILES = {
    "__init__.py": "",
    "apart.py": "x = 1\n",
    "one/__init__.py": "",
    "one/kernel.py": "x = 1\n",
    "one/inner/leaf.py": "x = 1\n",
    "two/kernel.py": "x = 1\n",
    "two_more/kernel.py": "x = 1\n",
}
ROOMS = "one", "two"
INSIDE = [path for path in FILES if path.startswith(("one/", "two/"))]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Yield the folder of a package with a unique name, which has not been imported."""
    name = f"package_{tmp_path.name}"
    folder = tmp_path / name
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]


def known(folder):
    """Return the sources as a process sees them that imports the package now."""
    states = {path.relative_to(folder).as_posix(): FileState.of(path.stat()) for path in folder.rglob("*.py")}
    return Sources(str(folder), states)


def imported(folder, path):
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return importlib.import_module(folder.name if path == "__init__.py" else f"{folder.name}.{module}")


def edit(file):
    file.write_text(file.read_text() + "# a word\n")


@pytest.mark.parametrize("path", FILES)
def test_an_edit_changes_the_digest_of_its_room(package, path):
    before = known(package).digest(ROOMS), known(package).digest()
    edit(package / path)
    after = known(package).digest(ROOMS), known(package).digest()
    assert (before[0] != after[0]) == (path in INSIDE)
    assert before[1] != after[1]


def test_names_count_and_dates_do_not(package):
    before = known(package).digest(ROOMS)
    for path in package.rglob("*.py"):
        os.utime(path, (time.time() + 10**6,) * 2)
    assert known(package).digest(ROOMS) == before
    os.rename(package / "one" / "kernel.py", package / "one" / "other.py")
    assert known(package).digest(ROOMS) != before


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("is_imported", [True, False])
def test_a_file_that_was_edited_before_the_digest_is_taken_is_not_known(package, path, is_imported):
    sources = known(package)
    if is_imported:
        imported(package, path)
    edit(package / path)
    assert (sources.digest(ROOMS) is None) == (path in INSIDE)
    assert sources.digest() is None
    assert sources.digest(("two_more",)) or path == "two_more/kernel.py"


@pytest.mark.parametrize("path", INSIDE)
def test_the_digest_is_that_of_the_code_that_runs(package, path):
    """An edit does not matter before the module is imported again."""
    module, sources = imported(package, path), known(package)
    before = sources.digest(ROOMS)
    edit(package / path)
    assert sources.digest(ROOMS) == before is not None
    importlib.reload(module)
    assert sources.digest(ROOMS) is None


def test_a_module_that_is_imported_after_the_digest_was_taken(package):
    sources = known(package)
    before = sources.digest(ROOMS)
    imported(package, "one/kernel.py")
    assert sources.digest(ROOMS) == before
    edit(package / "one" / "inner" / "leaf.py")
    assert sources.digest(ROOMS) == before
    imported(package, "one/inner/leaf.py")
    assert sources.digest(ROOMS) is None


def test_a_module_that_appeared_later_is_not_known(package):
    sources = known(package)
    before = sources.digest(ROOMS)
    (package / "one" / "late.py").write_text("")
    assert sources.digest(ROOMS) == before
    imported(package, "one/late.py")
    assert sources.digest(ROOMS) is None
    assert known(package).digest(ROOMS) not in (None, before)


def test_an_edit_of_the_same_size_and_date_is_noticed_where_the_file_is_replaced(package):
    sources, path = known(package), package / "one" / "kernel.py"
    status = path.stat()
    (package / "new").write_text("x = 2\n")
    os.utime(package / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(package / "new", path)
    assert sources.digest(ROOMS) is None


def test_a_file_that_is_removed_is_not_known(package):
    sources = known(package)
    (package / "one" / "kernel.py").unlink()
    assert sources.digest(ROOMS) is None


def test_the_sources_of_the_package_are_known():
    assert len(source_files.STATES) > 100
    code = """
import ep.cpu
from ep.common.kernel_cache.sources import PACKAGE
rooms = "common", "cpu", "include"
first, of_all = PACKAGE.digest(rooms), PACKAGE.digest()
print(first == PACKAGE.digest(rooms), first != of_all, len(first), len(of_all))
"""
    assert run(code).split() == ["True", "True", "64", "64"]


def test_a_package_without_files_of_its_own_has_no_digest(tmp_path):
    assert Sources(str(tmp_path / "archive.zip" / "package"), {}).digest() is None
