"""The header of an image: what it refers to. Addresses and copied words come after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.native.machine_code import Origin
from ep.common.native.target import Target
from ep.include.data_type import DataType

OBJECTS: Final[Mapping[str, Any]] = {"ndarray": np.ndarray, **{one.name: one.dtype for one in DataType}}
"""The objects of Python that words refer to, by name."""


class StoredIndexCheck(NamedTuple):
    """An `IndexCheck`. array: the number of an array of the call; or that of a target, and the first byte in it."""

    array: int | tuple[int, int]
    begin: int
    shape: tuple[int, ...]
    type_name: str
    size: int
    mode: str


class ImageHeader(NamedTuple):
    """What an image refers to.

    Its targets have numbers, in this order: the copied words; `memory`, constants, `functions` but for the first two,
    the settings of the device, `objects`, `checks`.

    target: of the machine code. words: the place of the list in the copied words, and its size. memory: for each piece
    the place in a cache line where it begins, and its bytes. functions: where they are on disk: those of the threads,
    that which runs lists, and those that launches call. named: those that machine code calls by name. addresses: how
    many words are addresses; for each, its first byte in the copied words, the number of a target, and the bytes from
    there are before the copied words. streams: whether launches may use non-temporal stores.
    """

    target: Target
    words: tuple[int, int]
    memory: tuple[tuple[int, int], ...]
    functions: tuple[Origin, ...]
    objects: tuple[str, ...]
    checks: tuple[StoredIndexCheck, ...]
    named: dict[str, Origin]
    addresses: int
    streams: bool
