"""The check of the owners of files that are read.

A file in a folder is opened in a way that ensures that the checked file is the one that is read.

Cached files are code. A file is read on condition that only this user and root could have put it there: the folder and
the file belong to one of the two, nobody else may write them, and nobody else may put another folder in their place.
Folders and files that are made here are private to this user, with any umask. Windows separates users by other means,
which are not checked.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path, PurePath
from types import TracebackType
from typing import Final

from ep.common.file_locks import locks

PARTIAL: Final = ".partial"
"""The end of the names of files that are being written."""

CHECKED: Final = hasattr(os, "geteuid")
"""Whether owners and modes show who can write a file. True except on Windows."""

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS: Final = 40
_MINUTE_NS: Final = 60 * 10**9
_CLOSED_FIRST: Final = os.name == "nt"  # an open file cannot be renamed there
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_READ_FOLDER: Final = os.O_RDONLY | _NO_LINK | getattr(os, "O_DIRECTORY", 0)
_READ: Final = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # no wait for a pipe
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)
_KERNELS: Final = re.compile(r"[a-z]+-[0-9a-f]+")
_ELSEWHERE: Final = "or set EP_CACHE_DIR to a folder of your own"


class UntrustedError(Exception):
    """Raised if somebody else could have written a file or folder. The message names it, and gives advice."""


class PrivateFolder:
    """The folder `root`/`name`, open. A context manager.

    Raises UntrustedError if the folder cannot be trusted, another OSError if it cannot be opened.
    """

    def __init__(self, root: Path, name: str, make: bool = False) -> None:
        """make: whether to make missing folders."""
        self._path = os.path.join(root, name)
        self._fd: int | None = None
        if not CHECKED:
            if make:
                os.makedirs(self._path, exist_ok=True)
            return
        real = real_folder(root, make)
        root_fd = _open_folder(real, None, real, of_kernels=False)
        try:
            self._path = os.path.join(real, name)
            if make:
                _make_folder(name, root_fd)
            self._fd = _open_folder(name, root_fd, self._path, of_kernels=True)
        finally:
            os.close(root_fd)

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def _at(self, name: str) -> str:
        """Return a file's path as the functions of `os` expect it together with the folder's descriptor."""
        return name if self._fd is not None else os.path.join(self._path, name)

    def read(self, name: str) -> bytes:
        """Return the contents of a file."""
        with open(self._open(name), "rb") as file:
            return file.read()

    def check(self, name: str) -> None:
        """Raise the error that reading a file would raise."""
        os.close(self._open(name))

    def _open(self, name: str) -> int:
        path = os.path.join(self._path, name)
        try:
            fd = os.open(self._at(name), _READ, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise UntrustedError(f"{path} is a link; remove it") from None
            raise
        try:
            if CHECKED:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise UntrustedError(f"{path} is not a file; remove it")
                _check_owner(path, status, "remove it")
                if status.st_mode & _OTHERS_WRITE:
                    raise UntrustedError(f"{path} may be written by others ({_mode(status)}); remove it")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def write(self, name: str, contents: bytes) -> None:
        """Write or replace a file atomically, so any number of processes may write."""
        partial = f"{name}.{os.getpid()}.{os.urandom(4).hex()}{PARTIAL}"
        fd = os.open(self._at(partial), _MAKE, 0o600, dir_fd=self._fd)
        try:
            with open(fd, "wb") as file:
                locks(fd)  # until the file is closed, or the process ends
                if CHECKED:
                    os.fchmod(fd, 0o600)
                file.write(contents)
                file.flush()
                if _CLOSED_FIRST:
                    file.close()
                os.replace(self._at(partial), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            self.remove(partial)
            raise

    def remove_unfinished(self, name: str) -> None:
        """Remove the files that killed processes have begun to write: those that nobody has locked, and that are older
        than the file `name` by a minute, in which a process may lock its own.
        """
        newest = self._written_at(name)
        for partial in self.newest_first(re.compile(rf".*{re.escape(PARTIAL)}")):
            if 0 < self._written_at(partial) < newest - _MINUTE_NS:
                with suppress(OSError, UntrustedError):
                    fd = self._open(partial)
                    try:
                        free = locks(fd)
                    finally:
                        os.close(fd)
                    if free:
                        self.remove(partial)

    def remove(self, name: str) -> None:
        """Remove a file if it exists and can be removed."""
        with suppress(OSError):  # another process removed it first, or, on Windows, is reading it
            os.unlink(self._at(name), dir_fd=self._fd)

    def newest_first(self, pattern: re.Pattern[str]) -> list[str]:
        """Return the names that match `pattern` as a whole, the file written last first."""
        names = os.listdir(self._path if self._fd is None else self._fd)
        times = {name: self._written_at(name) for name in names if pattern.fullmatch(name)}
        return sorted(times, key=times.__getitem__, reverse=True)

    def _written_at(self, name: str) -> int:
        try:
            return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0


def real_folder(path: Path, make: bool = False) -> str:
    """Return `path` without links.

    Raises UntrustedError if another user can put another folder in place of any part of it.
    make: whether to make missing folders, private to this user.
    """
    current, parts, links = os.sep, list(reversed(_parts(os.path.join(os.getcwd(), path)))), 0
    while parts:
        status = os.stat(current)
        if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            do = f"run 'chmod go-w {current}', {_ELSEWHERE}"
            raise UntrustedError(f"{current}, above {path}, may be written by others ({_mode(status)}); {do}")
        part = parts.pop()
        if part == os.pardir:
            current = os.path.dirname(current)
            continue
        below = os.path.join(current, part)
        try:
            status = os.lstat(below)
        except FileNotFoundError:
            if not make:
                raise
            _make_folder(below, None)
            status = os.lstat(below)
        if not stat.S_ISLNK(status.st_mode):
            current = below
            continue
        _check_owner(below, status, f"remove that link, {_ELSEWHERE}")
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = os.readlink(below)
        if os.path.isabs(target):
            current = os.sep
        parts += reversed(_parts(target))
    return current


def _parts(path: str) -> list[str]:
    return [part for part in PurePath(path).parts if part != os.sep]


def _make_folder(path: str, dir_fd: int | None) -> None:
    try:
        os.mkdir(path, 0o700, dir_fd=dir_fd)
    except FileExistsError:
        return
    os.chmod(path, 0o700, dir_fd=dir_fd)  # the umask may have removed the owner's permissions


def _open_folder(name: str, dir_fd: int | None, path: str, of_kernels: bool) -> int:
    """Open a folder that nobody else can write.

    If it is this user's own folder and others may write it, their permission is removed, but only if it holds nothing
    but kernels: EP_CACHE_DIR may name a folder of many other things by mistake.
    """
    try:
        fd = os.open(name, _READ_FOLDER, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR) and os.path.islink(path):
            raise UntrustedError(f"{path} is a link; remove it") from None
        raise
    try:
        status = os.fstat(fd)
        _check_owner(path, status, f"remove it, {_ELSEWHERE}")
        if status.st_mode & _OTHERS_WRITE:
            ours = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX
            if not ours or not (of_kernels or all(map(_KERNELS.fullmatch, os.listdir(fd)))):
                do = f"run 'chmod go-w {path}', {_ELSEWHERE}"
                raise UntrustedError(f"{path} may be written by others ({_mode(status)}); {do}")
            os.fchmod(fd, 0o700)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_owner(path: str, status: os.stat_result, do: str) -> None:
    user = os.geteuid()
    if status.st_uid not in (user, 0):
        ours = f"to user {user} or root" if user else "to root"
        raise UntrustedError(f"{path} belongs to user {status.st_uid}, not {ours}; {do}")


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"
