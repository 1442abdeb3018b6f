"""The compiled kernels of a device type on disk, for `ep cache` and `ep doctor`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KernelsOnDisk:
    """The state of the kernels on disk.

    folder: the folder of the present versions' kernels; None if unknown.
    files, size: their number, and their total bytes.
    leftover_folders, leftover_size: the number of folders with kernels of other versions, and their bytes.
    why_unusable: the reason why kernels cannot be read, in words for users; the numbers are then 0.
    """

    folder: Path | None
    files: int = 0
    size: int = 0
    leftover_folders: int = 0
    leftover_size: int = 0
    why_unusable: str | None = None


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
