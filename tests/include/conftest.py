"""A device type that lives for one test."""

import pytest

from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.primitive.registry import _REGISTRY


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> DeviceType:
    """A device type without manager and factories; what a test registers is forgotten after it."""
    load_all_providers()  # what is registered below is undone, and the real devices must not be
    monkeypatch.setattr(_REGISTRY, "entries", dict(_REGISTRY.entries))
    monkeypatch.setattr(_REGISTRY, "factories", {place: list(made) for place, made in _REGISTRY.factories.items()})
    monkeypatch.setattr(DeviceManagerRegistry, "_factories", dict(DeviceManagerRegistry._factories))
    monkeypatch.setattr(DeviceManagerRegistry, "_managers", dict(DeviceManagerRegistry._managers))
    monkeypatch.setattr(DeviceType, "_by_name", dict(DeviceType._by_name))
    monkeypatch.setattr(DeviceType, "kToy", None, raising=False)
    return DeviceType.Register("kToy", "toy")
