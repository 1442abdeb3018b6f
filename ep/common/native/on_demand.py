"""Modules of Numba and LLVM that are imported when something of them is first used.

They take a tenth of a second and 90 MB. A process whose kernels are all on disk uses none of them, though it imports
the modules that the kernels are written in. (`llvmlite.ir` is small, and imports no LLVM.)
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Final


class OnDemand(ModuleType):
    """A module of the same name that is imported when one of its attributes is first used."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # a question about the module itself, not a use of it
            raise AttributeError(attribute)
        return getattr(import_module(self.__name__), attribute)


binding: Final[Any] = OnDemand("llvmlite.binding")
numba: Final[Any] = OnDemand("numba")
registry: Final[Any] = OnDemand("numba.core.registry")
types: Final[Any] = OnDemand("numba.types")
