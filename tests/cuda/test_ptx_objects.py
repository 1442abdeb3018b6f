"""The machine's code on disk: compiled once, and compiled again if a file is damaged."""

import pytest

from ep.cuda.compile.kernel_cache import CACHE
from tests.cuda.ptx_machine import objects


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    return tmp_path / objects.folder_name()


def test_a_text_is_compiled_once(folder):
    made = []
    for text in ("a", "b", "a"):
        assert objects.kept(text, lambda text=text: made.append(text) or text.encode()) == text.encode()
    assert made == ["a", "b"]
    assert len(list(folder.iterdir())) == 2


def test_a_damaged_file_is_made_again(folder):
    objects.kept("a", lambda: b"first")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert objects.kept("a", lambda: b"second") == b"second"
    assert objects.kept("a", lambda: b"third") == b"second"


def test_a_folder_that_cannot_be_written_costs_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path / "file"))
    assert objects.kept("a", lambda: b"made") == b"made"


def test_it_is_cleared_with_the_kernels_of_other_versions(folder):
    objects.kept("a", lambda: b"made")
    assert CACHE.on_disk().leftover_folders == 1
    CACHE.clear()
    assert not folder.exists()
