"""Arrays in .npy files: read through a memory map, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ep.cli.parser import CommandError
from ep.include.data_type import DataType

Array: TypeAlias = np.ndarray[Any, Any]


def read(path: str, data_type: DataType | None = None) -> Array:
    """The array in the file `path`, memory-mapped; CommandError where there is none.

    data_type: what its elements are. Raw bytes of that size, as NumPy stores what it has no name for, are taken as
    such; an array of another data type is refused.
    """
    try:
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise CommandError(f"{path} is no .npy file that can be read: {error}") from error
    raw = array.dtype.kind == "V" and array.dtype.names is None
    if raw and data_type is not None and data_type.itemsize == array.dtype.itemsize:
        return array.view(data_type.dtype)
    if raw and data_type is None:
        hint = "; if they are bfloat16, add --dtype bfloat16" if array.dtype.itemsize == 2 else ""
        raise CommandError(f"{path} holds raw elements of {array.dtype.itemsize} bytes{hint}")
    if data_type is not None and array.dtype != data_type.dtype:
        raise CommandError(f"{path} holds {array.dtype}, not {data_type.dtype}")
    return array


def check_writable(path: str) -> Path:
    """The file to write `path` to; CommandError where that is no place for a file."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise CommandError(f"{path} cannot be written: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise CommandError(f"{path} cannot be written: it is not a regular file")
    return target


def write(target: Path, array: Array) -> None:
    """Write `array` as a .npy file; a file of that name is replaced once the new one is whole."""
    raw = array.dtype == DataType.kBFloat16.dtype  # NumPy has no name for it
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            np.save(file, array.view("V2") if raw else array, allow_pickle=False)
        os.replace(partial, target)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
