"""Memory that Python and compiled code share: words with names."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def layout(name: str, base: Any = None, /, **widths: int) -> Any:
    """Return a tuple with the number of the first word of each field, and `num_words`, the number of all words.

    base: a layout whose fields come first, so code written for `base` alone can read the new one too.
    widths: the number of words of each field.
    Compiled code treats `LAYOUT.field` as a constant.
    """
    places = {} if base is None else base._asdict()
    place = places.pop("num_words", 0)
    for field, width in widths.items():
        places[field] = place
        place += width
    return namedtuple(name, (*places, "num_words"))(*places.values(), place)  # type: ignore[misc]
