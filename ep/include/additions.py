"""What other packages have added to ep in this process. Plans on disk were made without it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from weakref import ref

from ep.include.device_type import DeviceType

_ADDED: Final[set[DeviceType | None]] = set()
"""The device types that something was added for; None for all."""
_OWNERS: Final[list[ref[Any]]] = []


def note_addition(made: Any, device_type: DeviceType | None = None) -> None:
    """Note a kernel or a factory, by its class or function, unless it is one of ep's own. device_type: the only one
    that it is for, if that is known."""
    function = made
    while isinstance(function, partial):
        function = function.func
    if getattr(function, "__module__", "").partition(".")[0] != "ep":
        _ADDED.add(device_type)
        for one in [*_OWNERS]:
            if (owner := one()) is not None:
                owner.forget()


def has_additions(device_type: DeviceType) -> bool:
    """Return whether other packages have registered kernels of operators, or factories of primitives, that plans on a
    device may use. What depends on constants is computed on the CPU."""
    return not _ADDED.isdisjoint((None, DeviceType.kCPU, device_type))


def forget_when_added(owner: Any) -> None:
    """Call the method `forget` of an object, as long as it lives, whenever another package has registered a kernel or a
    factory."""
    _OWNERS.append(ref(owner, _OWNERS.remove))
