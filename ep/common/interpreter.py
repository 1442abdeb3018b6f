"""The builds of Python that cannot run the kernels."""

from __future__ import annotations

import platform
import sysconfig
from functools import cache

from ep.include.process import exclusively


@cache
def why_unsupported() -> str | None:
    """Return the reason why no device works in the running build of Python, or None if they do."""
    # it imports the configuration of the build
    if exclusively(lambda: sysconfig.get_config_var("Py_GIL_DISABLED")):
        return (
            f"this is a free-threaded build of Python {platform.python_version()}, in which ep has never been tested; "
            "it needs a build with the GIL"
        )
    return None
