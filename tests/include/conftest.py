"""A device type that exists for one test."""

import pytest

from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.registry import _REGISTRY, registered


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> DeviceType:
    """Return a device type without a manager or factories; registrations of the test are removed after it."""
    registered()  # now, so that the devices' own registrations are kept: later ones are undone
    monkeypatch.setattr(_REGISTRY, "tables", [*_REGISTRY.tables])
    monkeypatch.setattr(_REGISTRY, "factories", {place: list(made) for place, made in _REGISTRY.factories.items()})
    monkeypatch.setattr(DeviceManagerRegistry, "_factories", dict(DeviceManagerRegistry._factories))
    monkeypatch.setattr(DeviceManagerRegistry, "_managers", dict(DeviceManagerRegistry._managers))
    monkeypatch.setattr(DeviceType, "_by_name", dict(DeviceType._by_name))
    monkeypatch.setattr(DeviceType, "kToy", None, raising=False)
    return DeviceType.Register("kToy", "toy")
