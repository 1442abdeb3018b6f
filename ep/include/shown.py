"""Values in messages, and texts for people."""

from typing import Any, Final

_MOST: Final = 200


def shown(value: Any) -> str:
    """Return a short `repr(value)` for a message: type, shape and dtype for an array; a long text is cut."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and hasattr(value, "dtype"):
        return f"{type(value).__qualname__} of shape {tuple(shape)}, {value.dtype}"
    text = repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


class Lines(str):
    """A text of several lines, which a prompt of Python or of IPython shows as lines."""

    def __repr__(self) -> str:
        return str(self)
