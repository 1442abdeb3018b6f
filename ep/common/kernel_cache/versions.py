"""The versions of what compiles kernels: of Python and of packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

_WHEEL: Final = ".dist-info"


def versions_of(tools: Sequence[str]) -> list[str]:
    """Return the versions of packages."""
    return [f"{tool} {version(tool)}" for tool in tools]


def with_python(tools: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the versions of Python and of packages."""
    return sys.implementation.cache_tag, versions_of(tools)


def version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    beside = _versions_beside(package)
    if len(beside) == 1:
        return beside[0]
    from importlib import metadata  # not at the top: it imports forty modules, in 9 ms

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _versions_beside(package: str) -> list[str]:
    """Return the versions in the names of the folders that installers of wheels put beside a package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    try:
        names = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    except OSError:  # the package is in an archive
        return []
    parts = [name.removesuffix(_WHEEL).partition("-") for name in names if name.endswith(_WHEEL)]
    return [number for name, _, number in parts if name.lower() == package]
