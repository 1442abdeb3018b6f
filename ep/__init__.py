"""Execution-provider primitives: one contract per primitive, one registry, one implementation per device."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ep import source_files as source_files  # first: its record of a file is older than the import of the file
from ep.garbage import garbage_waits

with garbage_waits(all_is_kept=True):
    from ep.include import (
        ActiveDeviceGuard,
        AllocationOptions,
        ArgumentError,
        DataType,
        DeviceManagerRegistry,
        DeviceType,
        DeviceUnavailableError,
        DuplicateRegistrationError,
        EnvironmentVariableError,
        UnsupportedPrimitiveError,
    )
    from ep.include.primitive import (
        BinaryOp,
        BlasTransposeType,
        MemcpyKind,
        NewPrimitive,
        ReduceOp,
        RequirePrimitive,
        UnaryOp,
    )
    from ep.include.process import exclusively
from ep.version import __version__

__all__ = [
    "ActiveDeviceGuard",
    "AllocationOptions",
    "ArgumentError",
    "BinaryOp",
    "BlasTransposeType",
    "DataType",
    "DeviceManagerRegistry",
    "DeviceType",
    "DeviceUnavailableError",
    "DuplicateRegistrationError",
    "EnvironmentVariableError",
    "MemcpyKind",
    "NewPrimitive",
    "ReduceOp",
    "RequirePrimitive",
    "UnaryOp",
    "UnsupportedPrimitiveError",
    "__version__",
    "fuse",
    "grad",
    "lazy",
    "ops",
    "value_and_grad",
]

_EXPRESSIONS = ("fuse", "grad", "lazy", "value_and_grad")


def __getattr__(name: str) -> Any:
    if name == "ops":  # imported when first used: primitives alone do not need the operators
        return exclusively(lambda: import_module("ep.ops"))
    if name in _EXPRESSIONS:
        value = globals()[name] = getattr(exclusively(lambda: import_module("ep.expressions")), name)
        return value
    raise AttributeError(f"module 'ep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPRESSIONS, "ops"})
