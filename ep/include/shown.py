"""Values in messages."""

from typing import Any, Final

_MOST: Final = 200


def shown(value: Any) -> str:
    """Return `repr(value)` for a message, short: an array is its type, shape and dtype, and a long text is cut."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and hasattr(value, "dtype"):
        return f"{type(value).__qualname__} of shape {tuple(shape)}, {value.dtype}"
    text = repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
