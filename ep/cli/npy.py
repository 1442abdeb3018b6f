"""Arrays in .npy files: read through a memory map, and written completely or not at all; or written to stdout."""

from __future__ import annotations

import glob
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from ep.cli import npy_header, text
from ep.cli.parser import CommandError
from ep.common.file_locks import locks
from ep.include.data_type import DataType

Array: TypeAlias = np.ndarray[Any, Any]


def read(path: str, data_type: DataType | None = None) -> Array:
    """Return the array in the file `path`, memory-mapped; CommandError if there is none.

    data_type: the type of its elements. Raw bytes of that size, in which NumPy stores types that it has no name for,
        are read as that type; an array of another data type is refused.
    """
    try:
        if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
            raise OSError("it is no regular file, which can be mapped into memory")
        with open(path, "rb") as file:
            npy_header.check(file)
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # NumPy may refuse more than the check does
        raise CommandError(f"{path} is no .npy file that can be read: {error}") from error
    raw = array.dtype.kind == "V" and array.dtype.names is None
    if raw and data_type is not None and data_type.itemsize == array.dtype.itemsize:
        return array.view(data_type.dtype)
    if raw and data_type is None:
        hint = "; if they are bfloat16, add --read-as bfloat16" if array.dtype.itemsize == 2 else ""
        raise CommandError(f"{path} holds raw elements of {array.dtype.itemsize} bytes{hint}")
    if data_type is not None and array.dtype != data_type.dtype:
        raise CommandError(f"{path} holds {array.dtype}, not {data_type.dtype}")
    return array


@dataclass(frozen=True)
class Target:
    """The destination of a result. name: as the user gave it; path: the file; None for stdout."""

    name: str
    path: Path | None

    @property
    def is_file(self) -> bool:
        """Whether it is, or will be, a regular file; others, such as a pipe or /dev/null, are written directly."""
        return self.path is not None and (self.path.is_file() or not self.path.exists())


def target(name: str) -> Target:
    """Return the destination `name`, `-` for stdout; CommandError if no array can be written there."""
    if name == "-":
        if text.is_terminal():
            raise CommandError("stdout is a terminal, which no array is written to: redirect it, or name a file")
        return Target("stdout", None)
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"{name} cannot be written: it is a folder")
    if path.exists() and not path.is_file():
        return Target(name, path)
    path = Path(os.path.realpath(name))  # the file that a link points to is replaced, not the link
    if not path.parent.is_dir():
        raise CommandError(f"{name} cannot be written: there is no folder {path.parent}")
    return Target(name, path)


def targets(name: str, several: bool, count: int) -> list[Target]:
    """Return the destinations of results: `name`; for several results, y.npy means y.0.npy, y.1.npy and so on."""
    if not several:
        return [target(name)]
    if name == "-":
        raise CommandError("there are several results, and stdout takes one: name a file")
    path = Path(name)
    return [target(str(path.with_name(f"{path.stem}.{number}{path.suffix}"))) for number in range(count)]


def write(place: Target, array: Array) -> None:
    """Write `array` as a .npy file; an existing file is replaced once the new one is complete."""
    if place.path is None:
        _write_to(sys.stdout.buffer, array)
        sys.stdout.flush()
        return
    partial = place.path.with_name(f"{place.path.name}.{os.getpid()}.partial") if place.is_file else None
    try:
        with (partial or place.path).open("wb") as file:
            if partial is not None:
                locks(file.fileno())
                _remove_unfinished(place.path, partial.stat().st_mtime)
            _write_to(file, array)
        if partial is not None:
            os.replace(partial, place.path)
    except OSError as error:
        raise CommandError(f"{place.name} cannot be written: {error.strerror or error}") from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def _remove_unfinished(path: Path, now: float) -> None:
    """Remove what killed processes have left of a file, which nobody has locked since a minute."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.*[0-9].partial"):
        with suppress(OSError):
            if left.stat().st_mtime < now - 60:
                with left.open("rb") as file:
                    is_free = locks(file.fileno())
                if is_free:
                    left.unlink()


def write_results(targets: Sequence[Target], results: Sequence[Array], took: str, quiet: bool) -> None:
    """Write each result to its destination, and print one line for each unless `quiet`; took: its last words."""
    for place, array in zip(targets, results, strict=True):
        write(place, array)
        if not quiet:
            shape, size = " x ".join(map(str, array.shape)) or "scalar", text.megabytes(array.nbytes)
            said = f"{place.name}: {array.dtype.name}, {shape} ({size}), {took}"
            print(said, file=sys.stdout if place.path else sys.stderr)


class SharedFile:
    """A .npy file of which several processes write parts; it appears under its name when it is complete."""

    def __init__(self, place: Target, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """place: a file. shape, dtype: of the whole array."""
        assert place.path is not None
        self._place, self._path = place, place.path
        self._partial = self._path.with_name(f"{self._path.name}.partial")
        self._shape, self._dtype = shape, np.dtype("V2") if dtype == DataType.kBFloat16.dtype else dtype

    def create(self) -> None:
        """Create the file that the parts are written to; only one process calls it."""
        with self._errors(), self._partial.open("wb") as file:
            header = {"descr": self._dtype.str, "fortran_order": False, "shape": self._shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + self._dtype.itemsize * math.prod(self._shape))

    def fill(self, region: tuple[slice, ...], part: Array) -> None:
        """Write a part, after the file was created."""
        if part.size:
            with self._errors():
                whole = np.lib.format.open_memmap(self._partial, mode="r+")
                whole[region] = part.view(self._dtype)
                whole.flush()

    def publish(self) -> None:
        """Give the file its name, after all parts are written; only one process calls it."""
        with self._errors():
            os.replace(self._partial, self._path)

    def discard(self) -> None:
        """Remove the file unless it has been given its name."""
        self._partial.unlink(missing_ok=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandError(f"{self._place.name} cannot be written: {error.strerror or error}") from error


def _write_to(file: BinaryIO, array: Array) -> None:
    raw = array.dtype == DataType.kBFloat16.dtype  # NumPy has no name for it
    # for a file, NumPy asks for the position, which a pipe does not have: it gets an object that can only write
    np.lib.format.write_array(_Writer(file.write), array.view("V2") if raw else array, allow_pickle=False)


@dataclass(frozen=True)
class _Writer:
    write: Callable[[bytes], int]
