"""The compiled kernels that a device type keeps on disk, as `ep cache` and `ep doctor` see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KernelsOnDisk:
    """The kernels on disk. folder: where the kernels of the present versions are; None if not even that can be told.
    files, size: their number, and their bytes.
    leftover_folders, leftover_size: folders of kernels of other versions, and their bytes.
    why_unusable: what keeps kernels from being read, in words for a user; the numbers are 0 then.
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
        """Look at the kernels. Nothing is raised: what is wrong is part of the answer."""

    @abstractmethod
    def why_unwritable(self) -> str | None:
        """The reason why kernels cannot be kept between processes; None if they can."""

    @abstractmethod
    def clear(self) -> int:
        """Remove all kernels, those of other versions too, and return the bytes that freed.

        Raises OSError where some cannot be removed.
        """
