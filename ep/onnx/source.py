"""Where a model comes from: a path, the contents of a file, or a ModelProto."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ep.common.lazy import lazy
from ep.onnx.errors import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto


class Source:
    """A model as `load` gets it.

    model: the ModelProto, if it is one. path: the path, if it is one.
    """

    def __init__(self, source: str | PathLike[str] | bytes | ModelProto) -> None:
        self.model: ModelProto | None = None
        self.path: Path | None = None
        self._contents: bytes | None = None
        if isinstance(source, bytes):
            self._contents = source
        elif isinstance(source, str | PathLike):
            self.path = Path(source)
        else:
            self.model = source

    @lazy
    def digest(self) -> str:
        """The SHA-256 of the contents of the file; empty for a ModelProto."""
        return "" if self.model is not None else _digest(self._read())

    def contents(self) -> bytes:
        """Return the contents of the file. Raises OSError, and ModelError if they are not those of the digest."""
        if self._contents is None and _digest(self._read()) != self.digest:
            self._contents = None
            raise ModelError(f"{self.path} has changed since the model was loaded")
        return self._read()

    def forget(self) -> None:
        """Free the contents of a path. They are read again if they are needed."""
        if self.path is not None:
            self._contents = None

    def _read(self) -> bytes:
        if self._contents is None:
            assert self.path is not None
            self._contents = self.path.read_bytes()
        return self._contents


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()
