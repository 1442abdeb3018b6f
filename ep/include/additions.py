"""What other packages have added to ep in this process. Plans on disk were made without it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from weakref import ref

_ADDED: Final[list[str]] = []
_OWNERS: Final[list[ref[Any]]] = []


def note_addition(made: Any) -> None:
    """Note a kernel or a factory, by its class or function, unless it is one of ep's own."""
    function = made
    while isinstance(function, partial):
        function = function.func
    if getattr(function, "__module__", "").partition(".")[0] != "ep":
        _ADDED.append(str(made))
        for one in [*_OWNERS]:
            if (owner := one()) is not None:
                owner.forget()


def has_additions() -> bool:
    """Return whether other packages have registered kernels of operators, or factories of primitives."""
    return bool(_ADDED)


def forget_when_added(owner: Any) -> None:
    """Call the method `forget` of an object, as long as it lives, whenever another package has registered a kernel or a
    factory."""
    _OWNERS.append(ref(owner, _OWNERS.remove))
