"""Where compiled kernels are kept between processes, and under which key. Imports no compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from ep.common import environment

_PACKAGE: Final = Path(__file__).resolve().parent.parent


def user_cache_folder() -> Path:
    """The folder for ep in the user's cache: `EP_CACHE_DIR` where set, else where the platform keeps caches."""
    if override := environment.CACHE_DIR.value():
        return override
    if sys.platform == "win32":
        return (environment.LOCALAPPDATA.value() or Path.home() / "AppData" / "Local") / "ep"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ep"
    return (environment.XDG_CACHE_HOME.value() or Path.home() / ".cache") / "ep"


def usage(folder: Path) -> tuple[int, int]:
    """Return the number of files in `folder` and below, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return len(sizes), sum(sizes)


class KernelCache:
    """The kernels of one device type on disk. Made when the device is imported: from then on it watches the sources."""

    def __init__(self, tag: str, tools: Sequence[str]) -> None:
        """tag: of the device type, whose kernels come from `ep/common` and `ep/<tag>`; tools: what compiles them."""
        self._tag, self._tools = tag, tuple(tools)
        self._made_at = time.time()
        self.folder: Callable[[], Path] = cache(self._folder)

    def _folder(self) -> Path:
        """The folder of the kernels that this very code compiles.

        Its name is a hash of the kernel sources and of the versions that take part in compiling; the processor is part
        of each file's name. So whatever changes the machine code leads to another file, and stale code never runs.
        """
        from ep.version import __version__

        digest = hashlib.sha256()
        versions = [f"{tool} {_version(tool)}" for tool in self._tools]
        digest.update(repr((__version__, sys.implementation.cache_tag, versions)).encode())
        for path in self._sources():
            digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode())
            digest.update(path.read_bytes())
        return user_cache_folder() / f"{self._tag}-{digest.hexdigest()[:16]}"

    def _sources(self) -> list[Path]:
        return [path for part in ("common", self._tag) for path in sorted((_PACKAGE / part).rglob("*.py"))]

    def sources_changed(self) -> bool:
        """Whether a kernel source was written since this was made, so that the process has code of either."""
        return any(path.stat().st_mtime > self._made_at for path in self._sources())

    def read(self, name: str) -> bytes | None:
        """Return the contents of the cached file `name`, or None where there is none that can be read or trusted."""
        if self.sources_changed():
            return None
        try:
            return (self.folder() / name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, contents: bytes) -> None:
        """Keep `contents` as the cached file `name`; raises OSError where the folder cannot be written.

        The file appears whole or not at all, so that any number of processes may share the folder. Nothing is kept
        where the sources changed under the process.
        """
        if self.sources_changed():
            return
        folder = self.folder()
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{name}.{os.getpid()}.{os.urandom(4).hex()}.partial"
        try:
            partial.write_bytes(contents)
            os.replace(partial, folder / name)
        finally:
            partial.unlink(missing_ok=True)

    def folders(self) -> list[Path]:
        """Every kernel folder of the device type in the user's cache, that of other versions too."""
        return sorted(path for path in user_cache_folder().glob(f"{self._tag}-*") if path.is_dir())

    def clear(self) -> int:
        """Remove every kernel folder, also those that other versions left; return how many bytes that freed."""
        freed = 0
        for folder in self.folders():
            freed += usage(folder)[1]
            shutil.rmtree(folder)
        return freed


def _version(tool: str) -> str | None:
    try:
        return metadata.version(tool)
    except metadata.PackageNotFoundError:
        return None
