"""Where a model comes from: a path, the contents of a file, or a ModelProto."""

from __future__ import annotations

import hashlib
import os
from os import PathLike
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING
from weakref import finalize

from ep.common.lazy import lazy
from ep.onnx.errors import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto


class Source:
    """A model as `load` gets it.

    is_file: whether it is a path or the contents of a file; anything else should be a ModelProto, which is `model`
    until it is forgotten. path: the path, if it is one. A file stays open, so that it may be removed or replaced
    while the model is used.
    """

    def __init__(self, source: str | PathLike[str] | bytes | ModelProto) -> None:
        """Open the file. Raises OSError."""
        self.is_file = isinstance(source, bytes | str | PathLike)
        self.model: ModelProto | None = None
        self.path: Path | None = None
        self._contents: bytes | None = None
        self._file = -1
        if isinstance(source, bytes):
            self._contents = source
        elif isinstance(source, str | PathLike):
            self.path = Path(source)
            with self.path.open("rb", buffering=0) as file:
                self._contents = file.read()
                # a pipe cannot be read again; on Windows, a file that is open cannot be removed
                if hasattr(os, "pread") and S_ISREG(os.fstat(file.fileno()).st_mode):
                    self._file = os.dup(file.fileno())
                    finalize(self, os.close, self._file)
        else:
            self.model = source

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes of a copy: it has the contents, since the file is closed with this object."""
        return {**self.__dict__, "_contents": self.contents() if self.is_file else None, "_file": -1}

    @lazy
    def digest(self) -> str:
        """The SHA-256 of the contents of the file; empty for a ModelProto."""
        return "" if self._contents is None else _digest(self._contents)

    def contents(self) -> bytes:
        """Return the contents of the file. Raises OSError, and ModelError if they are not those of the digest."""
        contents = self._contents
        if contents is None:
            contents = _read(self._file)
            if _digest(contents) != self.digest:
                raise ModelError(f"{self.path} has changed since the model was loaded")
        return contents

    def forget(self) -> None:
        """Free the ModelProto, and the contents of a file that is open, which are read again if they are needed."""
        self.model = None
        if self._file >= 0 and self.digest:
            self._contents = None


def _read(file: int) -> bytes:
    """Return the contents of a file. Several threads and processes may read it at once."""
    parts, end, size = list[bytes](), 0, os.fstat(file).st_size
    while end < size and (part := os.pread(file, size - end, end)):
        parts.append(part)
        end += len(part)
    return b"".join(parts)


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()
