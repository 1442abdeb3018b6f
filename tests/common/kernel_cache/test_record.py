"""The record of the digests of a package's sources."""

import os

import pytest

from ep.common.kernel_cache import record
from ep.common.kernel_cache.sources import Sources
from ep.source_files import FileState
from tests.subprocesses import run

FILES = {"__init__.py": "", "one/kernel.py": "x = 1\n", "one/inner/leaf.py": "x = 1\n", "two/other.py": "y = 2\n"}
ROOMS = ("one",), ("one", "two"), ("",)
LATER = 10**12  # nanoseconds


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "recorded"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def known(folder):
    """Return the sources as a process sees them that imports the package now."""
    return Sources(
        str(folder), {str(path.relative_to(folder)): FileState.of(path.stat()) for path in folder.rglob("*.py")}
    )


def newest(sources):
    return max(max(state.mtime_ns, state.ctime_ns) for state in sources.states.values())


def test_a_record_has_the_digests_that_the_sources_have(folder, monkeypatch):
    first, second = known(folder), known(folder)
    digests = [first.digest(rooms) for rooms in ROOMS]
    assert len({*digests, None}) == 4
    second.digests.update(record.unpacked(record.packed(first)))
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a source is read"))
    assert [second.digest(rooms) for rooms in ROOMS] == digests


@pytest.mark.parametrize("path", FILES)
def test_other_states_have_another_record(folder, path):
    before, status = known(folder), (folder / path).stat()
    while (folder / path).stat().st_ctime_ns == status.st_ctime_ns:  # an edit of the same size, with the same date
        (folder / path).write_text(FILES[path].replace("1", "3"))
        os.utime(folder / path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = known(folder)
    assert (folder / path).stat().st_mtime_ns == status.st_mtime_ns
    now = newest(after) + LATER
    assert record.name_of(before, now) != record.name_of(after, now)


def test_a_source_that_has_just_been_changed_is_not_recorded(folder):
    """Neither if its date is old: it may be changed once more within a tick of the clock."""
    for path in FILES:
        os.utime(folder / path, (10**9, 10**9))
    sources = known(folder)
    assert record.name_of(sources, newest(sources)) is None
    assert record.name_of(sources, newest(sources) + 10**9) is None
    assert record.name_of(sources, newest(sources) - LATER) is None
    assert record.name_of(sources, newest(sources) + LATER) is not None
    assert record.name_of(Sources(str(folder), {}), LATER) is None


@pytest.mark.parametrize("damage", [b"\n", b"\nff one", b"\n" + b"0" * 64, b"\n" + b"0" * 63 + b" one", b"\xff"])
def test_anything_else_is_not_a_record(folder, damage):
    sources = known(folder)
    sources.digest(ROOMS[0])
    good = record.packed(sources)
    assert record.unpacked(good) == sources.digests
    assert record.unpacked(damage + good) is None
    assert record.unpacked(b"") is None


def test_the_second_process_reads_no_sources(tmp_path):
    code = """
from ep import source_files
source_files.TAKEN_NS += 10**12  # the sources may have been changed just now
from ep.common import lazy
from ep.common.kernel_cache.sources import PACKAGE
from ep.cpu.machine.kernel_cache import CACHE
digested, read = PACKAGE._digest, []
PACKAGE._digest = lambda rooms: read.append(rooms) or digested(rooms)
print(CACHE.file_name("mine", "x", lazy.lazy), CACHE.digest(), len(read))
"""
    first, second = (run(code, EP_CACHE_DIR=str(tmp_path / "cache")).split() for _ in range(2))
    assert first[:2] == second[:2]
    assert "None" not in first
    assert (first[2], second[2]) == ("2", "0")
