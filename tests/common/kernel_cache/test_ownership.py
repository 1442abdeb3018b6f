"""The checks of the owners of files before they are read. Tests with another user need root, to change owners."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ep.common.kernel_cache import ownership
from ep.common.kernel_cache.ownership import PrivateFolder, UntrustedError, real_folder

pytestmark = pytest.mark.skipif(not ownership.CHECKED, reason="Windows has no owners and modes of this kind")
needs_root = pytest.mark.skipif(not ownership.CHECKED or os.geteuid() != 0, reason="only root gives files away")
OTHER = 12345
NAME = "cpu-0123456789abcdef"


def mode(path):
    return os.lstat(path).st_mode & 0o7777


@pytest.fixture
def root(tmp_path):
    """Return the folder of a cache with one file."""
    with PrivateFolder(tmp_path / "cache", NAME, make=True) as folder:
        folder.write("a", b"contents")
    return tmp_path / "cache"


def read(root, name="a"):
    with PrivateFolder(root, NAME) as folder:
        return folder.read(name)


def refused(root, *words, name="a"):
    with pytest.raises(UntrustedError) as caught:
        read(root, name)
    for word in words:
        assert str(word) in str(caught.value)
    return True


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077, 0o777])
def test_what_is_made_is_private_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with PrivateFolder(tmp_path / "above" / "cache", NAME, make=True) as folder:
            folder.write("a", b"contents")
    finally:
        os.umask(before)
    for path in ("above", "above/cache", f"above/cache/{NAME}"):
        assert mode(tmp_path / path) == 0o700, path
    assert mode(tmp_path / "above" / "cache" / NAME / "a") == 0o600
    assert os.listdir(tmp_path / "above" / "cache" / NAME) == ["a"]


def test_files_are_replaced_and_missing_ones_not_found(root):
    with PrivateFolder(root, NAME) as folder:
        folder.write("a", b"other")
        assert folder.read("a") == b"other"
        folder.remove("a")
        folder.remove("a")
        with pytest.raises(FileNotFoundError):
            folder.read("a")
    with pytest.raises(FileNotFoundError):
        PrivateFolder(root, "cpu-other")
    with pytest.raises(FileNotFoundError):
        PrivateFolder(root / "missing", NAME)


@needs_root
@pytest.mark.parametrize("what", ["", NAME, f"{NAME}/a"])
def test_what_belongs_to_another_user_is_refused(root, what):
    os.chown(root / what, OTHER, OTHER)
    assert refused(root, root / what if what else root, f"belongs to user {OTHER}", "remove it")


@pytest.mark.parametrize("bits", [0o020, 0o002, 0o022])
def test_a_file_that_others_may_write_is_refused(root, bits):
    os.chmod(root / NAME / "a", 0o600 | bits)
    assert refused(root, root / NAME / "a", "may be written by others", f"{0o600 | bits:04o}")


@pytest.mark.parametrize("what", ["", NAME])
@pytest.mark.parametrize("bits", [0o775, 0o777])
def test_our_own_folder_that_is_too_open_is_closed(root, what, bits):
    os.chmod(root / what, bits)
    assert read(root) == b"contents"
    assert mode(root / what) == 0o700


def test_a_folder_of_other_things_is_not_closed_but_refused(root):
    (root / "photographs").mkdir()
    os.chmod(root, 0o777)
    assert refused(root, root, "may be written by others", f"chmod go-w {root}", "EP_CACHE_DIR")
    assert mode(root) == 0o777


def test_a_cache_folder_with_the_sticky_bit_is_refused(root):
    os.chmod(root, 0o1777)
    assert refused(root, root)
    assert mode(root) == 0o1777


@pytest.mark.parametrize("bits", [0o770, 0o707])
def test_a_parent_that_others_may_write_is_refused_but_for_the_sticky_bit(root, bits):
    parent = root.parent
    os.chmod(parent, bits)
    assert refused(root, parent, root, f"{bits:04o}", f"chmod go-w {parent}")
    with pytest.raises(UntrustedError):
        PrivateFolder(root, NAME, make=True)
    os.chmod(parent, 0o1000 | bits)
    assert read(root) == b"contents"
    os.chmod(parent, 0o755)
    assert read(root) == b"contents"


def test_links_on_the_way_are_followed(root, tmp_path):
    (tmp_path / "absolute").symlink_to(tmp_path)
    (tmp_path / "relative").symlink_to("absolute")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "up").symlink_to("../cache")
    for way in ("absolute/cache", "relative/cache", "relative/deep/up", "deep/../cache", "deep/up/../absolute/cache"):
        assert read(tmp_path / way) == b"contents"
        assert real_folder(tmp_path / way) == os.path.realpath(root)


def test_links_for_ever_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="links"):
        real_folder(tmp_path / "a")


@needs_root
def test_a_link_of_another_user_is_refused(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    os.chown(tmp_path / "link", OTHER, OTHER, follow_symlinks=False)
    assert refused(tmp_path / "link", tmp_path / "link", f"belongs to user {OTHER}")


def test_a_link_in_place_of_a_file_or_of_a_kernel_folder_is_refused(root, tmp_path):
    (root / NAME / "link").symlink_to("a")
    assert refused(root, "is a link", name="link")
    os.rename(root / NAME, tmp_path / "elsewhere")
    (root / NAME).symlink_to(tmp_path / "elsewhere")
    assert refused(root, "is a link")


def test_what_is_no_file_is_refused(root):
    os.mkfifo(root / NAME / "pipe", 0o600)
    assert refused(root, "is not a file", name="pipe")
    (root / NAME / "folder").mkdir()
    assert refused(root, "is not a file", name="folder")


def test_no_descriptor_is_left_open(root):
    places = {(one.stat().st_dev, one.stat().st_ino) for one in (root, *root.rglob("*"))}
    for name in ("a", "missing"):
        for _ in range(3):
            with contextlib.suppress(FileNotFoundError):
                read(root, name)
    os.chmod(root / NAME / "a", 0o666)
    assert refused(root)
    os.chmod(root, 0o1777)
    assert refused(root)
    for number in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # that of the list is closed, and other threads close theirs
            assert (os.fstat(int(number)).st_dev, os.fstat(int(number)).st_ino) not in places


@needs_root
def test_what_root_made_is_read_by_another_user():
    """Another user reads a cache that root lets others read, as in an image that was warmed."""
    code = f"""
import os, sys
from pathlib import Path
from ep.common.kernel_cache.ownership import PrivateFolder
os.setgroups([]); os.setgid({OTHER}); os.setuid({OTHER})
with PrivateFolder(Path(sys.argv[1]), {NAME!r}) as folder:
    assert folder.read("a") == b"contents"
try:
    with PrivateFolder(Path(sys.argv[1]), {NAME!r}, make=True) as folder:
        folder.write("b", b"")
except PermissionError:
    print("read, not written")
"""
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are closed to other users
        with PrivateFolder(Path(top, "cache"), NAME, make=True) as folder:
            folder.write("a", b"contents")
        subprocess.run(["chmod", "-R", "a+rX", top], check=True)
        command = [sys.executable, "-c", code, os.path.join(top, "cache")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("read, not written\n", "")


def test_where_owners_say_nothing(tmp_path, monkeypatch):
    """Without checks of owners, as on Windows, files are written and read."""
    monkeypatch.setattr(ownership, "CHECKED", False)
    with PrivateFolder(tmp_path / "above" / "cache", NAME, make=True) as folder:
        folder.write("a", b"1")
        folder.write("a", b"2")
        assert folder.read("a") == b"2"
        folder.remove("a")
    os.chmod(tmp_path, 0o777)
    with PrivateFolder(tmp_path / "above" / "cache", NAME) as folder, pytest.raises(FileNotFoundError):
        folder.read("a")
