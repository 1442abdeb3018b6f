"""The builds of Python that cannot run the kernels."""

from __future__ import annotations

import sys


def why_unsupported() -> str | None:
    """Return the reason why no device works in the running build of Python, or None if they do."""
    if "free-threading build" in sys.version:  # `sysconfig` knows it, too, but reads the configuration of the build
        return (
            f"this is a free-threaded build of Python {sys.version.split()[0]}, in which ep has never been tested; "
            "it needs a build with the GIL"
        )
    return None
