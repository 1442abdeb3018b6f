"""The kernels of a device type on disk: one file each, named after the computation and the digest of ep's sources."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ep import source_files
from ep.common import environment
from ep.common.kernel_cache import record
from ep.common.kernel_cache.container import pack, unpack
from ep.common.kernel_cache.origins import are_known
from ep.common.kernel_cache.ownership import PARTIAL, PrivateFolder, UntrustedError
from ep.common.kernel_cache.sources import PACKAGE
from ep.common.kernel_cache.versions import with_python
from ep.common.lazy import lazy
from ep.include.compiled_kernels import KEPT, CompiledKernels, KernelsOnDisk, Read, T
from ep.include.errors import EnvironmentVariableError

_log: Final = logging.getLogger("ep")
_NO_SOURCES: Final = "the sources of ep are not files in a folder"


def user_cache_folder() -> Path:
    """Return ep's folder in the user's cache: `EP_CACHE_DIR` if set, else one in the platform's folder of caches."""
    if override := environment.CACHE_DIR.value():
        return override
    if sys.platform == "win32":
        return (environment.LOCALAPPDATA.value() or Path.home() / "AppData" / "Local") / "ep"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ep"
    return (environment.XDG_CACHE_HOME.value() or Path.home() / ".cache") / "ep"


class Usage(NamedTuple):
    """What is in a folder: the number of kernels, that of files which are not finished, and the bytes of all files."""

    kernels: int
    unfinished: int
    size: int


def usage(folder: Path) -> Usage:
    """Return what is in and below `folder`. Inaccessible files are left out."""
    kernels, unfinished, size = 0, 0, 0
    for inside, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(inside, name)).st_size
            except OSError:  # removed meanwhile, or not accessible
                continue
            kernels += name.endswith(".kernel")
            unfinished += name.endswith(PARTIAL)
    return Usage(kernels, unfinished, size)


def _alike(common: str, kind: str) -> re.Pattern[str]:
    """Return the pattern of names that differ by 16 digits alone."""
    return re.compile(rf"{re.escape(common)}-[0-9a-f]{{16}}\.{re.escape(kind)}")


class KernelCache(CompiledKernels):
    """The kernels of one device type on disk."""

    def __init__(
        self,
        tag: str,
        tools: Sequence[str],
        rooms: tuple[str, ...],
        versions: Callable[[Sequence[str]], object] = with_python,
        portable: KernelCache | None = None,
    ) -> None:
        """tag: of the device type; tools: the packages that take part in compiling.

        rooms: the folders of ep whose sources kernels are made of, with the compiler's.
        versions: gives what kernels depend on besides sources, by the names of the tools; it is asked once.
        portable: those kernels of the device type that are valid in other Pythons, too. It is the cache of a tag that
            begins with `tag` and "-".
        """
        self._tag, self._rooms, self._versions = tag, rooms, partial(versions, tuple(tools))
        self._packages = frozenset(f"ep.{room}" for room in rooms)
        self._parts = (self,) if portable is None else (self, portable)
        self._said: set[str] = set()
        self._keeps = True
        self._has_record = self._has_tidied = False
        self._record: str | None = None

    def folder(self) -> Path:
        """Return the folder of the kernels that these versions of the tools compile."""
        return user_cache_folder() / self._folder_name

    @lazy
    def _folder_name(self) -> str:
        return f"{self._tag}-{hashlib.sha256(repr(self._versions()).encode()).hexdigest()[:16]}"

    def file_name(self, kernel: str, variant: str, function: object) -> str | None:
        """Return the name of a kernel's file, or None if its sources are unknown.

        kernel: identifies the computation; variant: the target of the compilation. Both are valid in a file name.
        function: what is compiled, or a tuple of it. It may be of ep, and call what is of Python and the tools.
        """
        if not are_known(function, self._packages):
            self._say_once("foreign", logging.INFO, "kernels with functions of other packages are not kept")
            return None
        sources = self._digest_of(self._rooms)
        if sources is None:
            why = "a source of ep was edited under this process" if PACKAGE.states else _NO_SOURCES
            self._say_once("unknown", logging.INFO, f"{why}: kernels are not kept")
            return None
        return f"{kernel}-{variant}-{sources[:16]}.kernel"

    def digest(self) -> str | None:
        return self._digest_of(("",))

    def _digest_of(self, rooms: tuple[str, ...]) -> str | None:
        """Return the digest of the sources in some folders of ep, from the record on disk if it has it."""
        if not self._has_record:
            self._has_record = True
            self._record = record.name_of(PACKAGE, source_files.TAKEN_NS)
            PACKAGE.digests.update(self.read(self._record, record.unpacked) or {})
        known = len(PACKAGE.digests)
        digest = PACKAGE.digest(rooms)
        if self._record is not None and len(PACKAGE.digests) > known:
            try:
                self._replace(self._record, record.packed(PACKAGE))
            except (UntrustedError, OSError):  # the next process reads the sources
                self._record = None
        return digest

    def read(self, name: str | None, form: Callable[[bytes], T | None]) -> T | None:
        if name is None:
            return None
        with self.reading() as read:
            found: T | None = read(name, form)
        return found

    @contextmanager
    def reading(self) -> Iterator[Read]:
        folder = self._tried(lambda: PrivateFolder(user_cache_folder(), self._folder_name))
        with folder or nullcontext():
            yield lambda name, form: None if folder is None else self._read_in(folder, name, form)

    def _tried(self, work: Callable[[], T]) -> T | None:
        """Return the result of work with files; None, and say why once, if they cannot be read or trusted."""
        try:
            return work()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UntrustedError as error:
            self._say_once("folder", logging.WARNING, "a compiled kernel on disk is not trusted: %s", error)
        except OSError as error:
            self._say_once("folder", logging.WARNING, "compiled kernels cannot be read: %s", error)
        return None

    def _read_in(self, folder: PrivateFolder, name: str, form: Callable[[bytes], T | None]) -> T | None:
        packed = self._tried(lambda: folder.read(name))
        if packed is None:
            return None
        contents = unpack(self._full_name(name), packed)
        held = None if contents is None else form(contents)
        if held is None:
            path = self.folder() / name
            self._say_once("damaged", logging.WARNING, "%s is damaged and ignored; a new one is written", path)
        return held

    def write(self, name: str | None, contents: bytes, kept: int | None = KEPT) -> None:
        # the first file that cannot be written causes a warning, later ones do not
        if name is None or not self._keeps:
            return
        try:
            self._replace(name, contents, kept)
        except (UntrustedError, OSError) as error:
            self._keeps = False
            message = "compiled kernels cannot be kept for the next process: %s"
            self._say_once("folder", logging.WARNING, message, error)

    def names(self, common: str, kind: str) -> list[str]:
        with suppress(UntrustedError, OSError), PrivateFolder(user_cache_folder(), self._folder_name) as folder:
            return folder.newest_first(_alike(common, kind))
        return []

    def remove(self, names: Iterable[str]) -> None:
        with suppress(UntrustedError, OSError), PrivateFolder(user_cache_folder(), self._folder_name) as folder:
            for name in names:
                folder.remove(name)

    def _replace(self, name: str, contents: bytes, kept: int | None = KEPT) -> None:
        with PrivateFolder(user_cache_folder(), self._folder_name, make=True) as folder:
            folder.write(name, pack(self._full_name(name), contents))
            if not self._has_tidied:
                self._has_tidied = True
                folder.remove_unfinished(name)
            if kept is None:
                return
            for other in folder.newest_first(_alike(name.rpartition("-")[0], name.rpartition(".")[2]))[kept:]:
                folder.remove(other)

    def _full_name(self, name: str) -> str:
        return f"{self._folder_name}/{name}"

    def _say_once(self, what: str, level: int, message: str, *args: object) -> None:
        if what not in self._said:
            self._said.add(what)
            _log.log(level, message, *args)

    def folders(self) -> list[Path]:
        """Return all kernel folders of the device type in the user's cache, including other versions'.

        Empty if inaccessible.
        """
        try:
            with os.scandir(user_cache_folder()) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(user_cache_folder() / name for name in names if name.startswith(f"{self._tag}-"))

    def on_disk(self) -> KernelsOnDisk:
        folder = None
        try:
            folder, *portable = folders = [part.folder() for part in self._parts]
            for part in self._parts:
                if why := part.why_untrusted() or part.why_unreadable():
                    return KernelsOnDisk(folder, why_unusable=why)
            kernels, unfinished, size = map(sum, zip(*map(usage, folders), strict=True))
            leftovers = [usage(other).size for other in self.folders() if other not in folders]
            return KernelsOnDisk(
                folder,
                kernels,
                size,
                len(leftovers),
                sum(leftovers),
                unfinished=unfinished,
                portable_folder=portable[0] if portable else None,
            )
        except (OSError, RuntimeError, EnvironmentVariableError) as error:  # RuntimeError: there is no home folder
            return KernelsOnDisk(folder, why_unusable=str(error))

    def clear(self) -> int:
        freed = 0
        for folder in self.folders():
            freed += usage(folder).size
            shutil.rmtree(folder)
        return freed

    def why_untrusted(self) -> str | None:
        """Return who else could have written the cache, and advice to the user.

        None if nobody else could, or if there is no cache yet.
        """
        try:
            with PrivateFolder(user_cache_folder(), self._folder_name) as folder:
                for name in folder.newest_first(re.compile(r".*\.(kernel|sources|target|plan)")):
                    folder.check(name)
        except UntrustedError as error:
            return str(error)
        except OSError:
            return None
        return None

    def why_unreadable(self) -> str | None:
        """Return the reason why the cache cannot be accessed. None if it can be, or if there is none yet."""
        for folder in (user_cache_folder(), self.folder()):
            try:
                os.listdir(folder)
            except FileNotFoundError:
                return None
            except OSError as error:
                return f"{folder} cannot be read: {error.strerror}"
        return None

    def why_unwritable(self) -> str | None:
        if not PACKAGE.states:
            return _NO_SOURCES
        # writes small files, and removes them
        name = f"trial.{os.getpid()}{PARTIAL}"  # is removed later if this process is killed before
        try:
            for part in self._parts:
                with PrivateFolder(user_cache_folder(), part._folder_name, make=True) as folder:
                    folder.write(name, b"")
                    folder.remove(name)
        except (UntrustedError, OSError) as error:
            return str(error)
        return None
