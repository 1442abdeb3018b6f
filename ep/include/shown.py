"""Values in messages, and texts for people."""

from collections.abc import Sequence
from typing import Any, Final

_MOST: Final = 200


def shown(value: Any) -> str:
    """Return a short `repr(value)` for a message: type, shape and dtype for an array; a long text is cut."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and hasattr(value, "dtype"):
        return f"{type(value).__qualname__} of shape {tuple(shape)}, {value.dtype}"
    text = repr(value)
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
