"""The versions of the tools that compile kernels: those of Python and of packages."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.util import find_spec
from typing import Final

_WHEEL: Final = ".dist-info"


@cache
def digest_of_versions(tools: tuple[str, ...]) -> str:
    """Return a digest of the versions of Python and of the tools."""
    versions = (sys.implementation.cache_tag, [f"{tool} {version(tool)}" for tool in tools])
    return hashlib.sha256(repr(versions).encode()).hexdigest()[:16]


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
