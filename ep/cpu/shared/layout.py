"""Memory that Python and compiled code share: words with names, which are numbers or addresses."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Final
from weakref import ref

import numpy as np

from ep.common.native.object_layout import data_address


class Width(int):
    """The number of words of a field that are not all numbers.

    addresses: the numbers of the words that are addresses, or 0. local: of those that no launch of a list reads, such
    as the addresses of types; they are 0 in other processes.
    """

    addresses: Sequence[int] = ()
    local: Sequence[int] = ()


def addresses(count: int) -> Width:
    """Return the width of a field of `count` addresses."""
    width = Width(count)
    width.addresses = range(count)
    return width


def several(fields: Any, count: int) -> Width:
    """Return the width of a field that has the words of a layout `count` times."""
    width = Width(fields.num_words * count)
    width.addresses = [fields.num_words * k + place for k in range(count) for place in fields.addresses]
    return width


ADDRESS: Final = addresses(1)
LOCAL: Final = Width(1)
LOCAL.local = range(1)


def layout(name: str, base: Any = None, /, **widths: int) -> Any:
    """Return a tuple with the number of the first word of each field, and `num_words`, the number of all words.

    base: a layout whose fields come first, so code written for `base` alone can read the new one too.
    widths: the number of words of each field: an int for numbers, a `Width` if some are addresses. What is an address
        is declared here alone, for all that `Words` may have; layouts of memory on the stack declare nothing. The
        attributes `addresses` and `local` have the numbers of these words (see `Width`).
    Compiled code treats `LAYOUT.field` as a constant.
    """
    places = {} if base is None else base._asdict()
    place = places.pop("num_words", 0)
    found, local = ([], []) if base is None else ([*base.addresses], [*base.local])
    for field, width in widths.items():
        places[field] = place
        if isinstance(width, Width):
            found += [place + one for one in width.addresses]
            local += [place + one for one in width.local]
        place += width
    made: Any = namedtuple(name, (*places, "num_words"))  # type: ignore[misc]
    made.addresses, made.local = tuple(found), tuple(local)
    return made(*places.values(), place)


def addresses_in(fields: Any, more: Any, count: int) -> Sequence[int]:
    """Return the numbers of the addresses in the words of a layout, which those of another one follow `count` times."""
    return [*fields.addresses, *(fields.num_words + place for place in several(more, count).addresses)]


ALL: Final[set[ref[Words]]] = set()
"""All words that there are."""


class Words:
    """An array that compiled code reads by its address.

    words: the array. addresses: the numbers of its words that are addresses, or 0. All else in it are numbers, whatever
    their values are. local: as for `Width`.
    """

    words: np.ndarray[Any, Any]
    addresses: Sequence[int]
    local: Sequence[int] = ()

    def __init__(self, words: np.ndarray[Any, Any], addresses: Sequence[int] = ()) -> None:
        self.words, self.addresses = words, addresses
        ALL.add(ref(self, ALL.discard))

    @property
    def address(self) -> int:
        """The address of the words."""
        return data_address(self.words)

    @staticmethod
    def all() -> list[Words]:
        """Return all words that there are."""
        return [one for reference in ALL.copy() if (one := reference()) is not None]
