"""The compiled kernels of a device type on disk, and other files beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Read: TypeAlias = Callable[[str, Callable[[bytes], Any]], Any]
"""The function `CompiledKernels.read`."""

KEPT: Final = 4
"""How many files of one kernel are kept, each from another state of its sources."""


@dataclass(frozen=True)
class KernelsOnDisk:
    """The state of the kernels on disk.

    folder: the folder of the present versions' kernels; None if unknown.
    files, size: their number, and their total bytes.
    leftover_folders, leftover_size: the number of folders with kernels of other versions, and their bytes.
    why_unusable: the reason why kernels cannot be read, in words for users; the numbers are then 0.
    unfinished: the number of files in the folder that are being written, or that killed processes have left.
    portable_folder: the folder of those kernels that are valid in other Pythons, too; None if they are in `folder`. All
    numbers are of both.
    """

    folder: Path | None
    files: int = 0
    size: int = 0
    leftover_folders: int = 0
    leftover_size: int = 0
    why_unusable: str | None = None
    unfinished: int = 0
    portable_folder: Path | None = None


class CompiledKernels(ABC):
    """The compiled kernels of a device type."""

    @abstractmethod
    def on_disk(self) -> KernelsOnDisk:
        """Return the state of the kernels. Raises nothing: problems are part of the result."""

    @abstractmethod
    def why_unwritable(self) -> str | None:
        """Return the reason why kernels cannot be kept between processes, or None if they can."""

    @abstractmethod
    def clear(self) -> int:
        """Remove all kernels, including other versions', and return the number of bytes freed.

        Raises OSError if some cannot be removed.
        """

    def digest(self) -> str | None:
        """Return a digest of ep's sources, as this process runs them; None if they are unknown, or nothing is kept."""
        return None

    def read(self, name: str, form: Callable[[bytes], T | None]) -> T | None:
        """Return the decoded contents of the file `name`, or None if there is no file that can be read and trusted.

        form: decodes contents; returns None for another format, which counts as damage.
        """
        return None

    def reading(self) -> AbstractContextManager[Read]:
        """Return a block with the function `read`, for many files: it opens their folder once."""
        return nullcontext(self.read)

    def write(self, name: str, contents: bytes, kept: int | None = KEPT) -> None:  # noqa: B027, a device need not keep files
        """Write `contents` to the file `name`, which ends with "-", 16 hexadecimal digits, and ".kind".

        kept: how many files remain of those whose names differ only by these digits: the ones written last; None for
        all.
        """

    def names(self, common: str, kind: str) -> list[str]:
        """Return the names of files, `common` followed by "-", 16 hexadecimal digits, and ".kind"."""
        return []

    def remove(self, names: Iterable[str]) -> None:  # noqa: B027
        """Remove files that exist and can be removed."""
