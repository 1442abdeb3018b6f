"""Functions for Numba that differ in their number of operands: written out, since Numba has no loop over arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any


def function_of(source: str, name: str, module: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function `name` of `source`, which may refer to `names`, as if `module` defined it.

    Its qualified name has a digest of the source: what keeps kernels tells functions apart by that.
    """
    space = {"__name__": module, **names}
    exec(compile(source, f"<{name} of {module}>", "exec"), space)
    function: Callable[..., Any] = space[name]
    function.__qualname__ = f"{name}_{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    return function
