"""Execution-provider primitives: one contract per primitive, one registry, one implementation per device."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from ep.include.array_types import Array, ArrayLike
    from ep.include.data_type import DTypeLike
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
    from ep.include.suggest import unknown_attribute
from ep.version import __version__

if TYPE_CHECKING:
    from ep import mesh as mesh
    from ep import onnx as onnx
    from ep import ops as ops
    from ep import sbp as sbp
    from ep.expressions import fuse, grad, lazy, value_and_grad

__all__ = [
    "ActiveDeviceGuard",
    "AllocationOptions",
    "ArgumentError",
    "Array",
    "ArrayLike",
    "BinaryOp",
    "BlasTransposeType",
    "DTypeLike",
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

_MODULES = ("mesh", "onnx", "ops", "sbp")  # some need an extra, so `from ep import *` does not import them
_EXPRESSIONS = ("fuse", "grad", "lazy", "value_and_grad")


if not TYPE_CHECKING:  # for checkers of types, other names are errors

    def __getattr__(name: str) -> Any:
        if name in _MODULES:  # imported when first used: primitives alone do not need them
            try:
                return exclusively(lambda: import_module(f"ep.{name}"))
            except ModuleNotFoundError as error:  # an AttributeError, so that hasattr and getmembers work
                raise AttributeError(f"module 'ep' has no {name!r} here: {error}") from error
        if name in _EXPRESSIONS:
            value = globals()[name] = getattr(exclusively(lambda: import_module("ep.expressions")), name)
            return value
        raise unknown_attribute("ep", name, __dir__())


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "include"})
