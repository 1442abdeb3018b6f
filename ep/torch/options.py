"""What a user may choose: the options of `torch.compile(model, backend="ep", options={...})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ep.common.checks import as_truth
from ep.include.device_type import DeviceType
from ep.include.shown import shown


@dataclass(frozen=True)
class Options:
    """The options of a compiled model.

    device: the device that computes. strict: whether a step that PyTorch computes is an error. round_each: whether each
    operator rounds its result to its type, as PyTorch does, also inside of a kernel.
    """

    device: DeviceType = DeviceType.kCPU
    strict: bool = False
    round_each: bool = False


def as_options(given: Mapping[str, Any] | None) -> Options:
    """Return options that are given by name: device as a DeviceType or its tag, the others as True or False.

    Raises TypeError for an unknown name, and for values of other types; ValueError for an unknown device.
    """
    found, known = dict(given or {}), [one.name for one in fields(Options)]
    if unknown := [name for name in found if name not in known]:
        raise TypeError(f"options has {shown(unknown[0])}; backend ep knows {', '.join(known)}")
    device = found.pop("device", DeviceType.kCPU)
    if not isinstance(device, str | DeviceType):
        raise TypeError(f"options: device is {shown(device)}; it must be a device type or its tag, such as 'cpu'")
    device_type = DeviceType.FromTag(device) if isinstance(device, str) else device
    return Options(device_type, **{name: as_truth(value, f"options: {name}") for name, value in found.items()})
