"""Values in messages, and texts for people."""

from collections.abc import Callable, Sequence
from typing import Any, Final

_MOST: Final = 200
_MOST_BITS: Final = 1 << 13
"""Of an integer that is shown: Python makes no text of one with more than 4,300 digits."""


def shown(value: Any) -> str:
    """Return a short `repr(value)` for a message: type, shape and dtype for an array; a long text is cut."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and hasattr(value, "dtype"):
        return f"{type(value).__qualname__} of shape {tuple(shape)}, {value.dtype}"
    return in_short(value, repr)


def in_short(value: Any, in_text: Callable[[Any], str] = str) -> str:
    """Return the text of a value for a message; a long one is cut."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    text = in_text(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def shape_in_words(shape: Sequence[int | str | None] | None) -> str:
    """Return a shape for people: `(rows, 3, ?)`, where a size is unknown."""
    if shape is None:
        return "(any shape)"
    sizes = ["?" if one is None else str(one) for one in shape]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


class Lines(str):
    """A text of several lines, which a prompt of Python or of IPython shows as lines."""

    def __repr__(self) -> str:
        return str(self)
