"""Which CUDA packages are installed. Nothing is imported: Numba has a `numba.cuda` of its own, which proves nothing."""

from __future__ import annotations

from importlib import metadata
from typing import Final

PACKAGES: Final = ("numba-cuda", "cuda-bindings")
"""The distributions that the CUDA device cannot do without: the compiler, and the way to the driver."""


def version_of(package: str) -> str | None:
    """The installed version of a distribution; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def why_no_packages() -> str | None:
    """Which package is missing, and how to get it; None where all are here."""
    missing = [package for package in PACKAGES if version_of(package) is None]
    return f"{' and '.join(missing)} not installed; pip install 'ep[cuda]'" if missing else None
