"""Functions compiled from text at run time. Tracebacks and debuggers show their lines."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Mapping
from typing import Any


def function_of(source: str, name: str, module: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function `name` of `source`, which may refer to `names`, as if `module` defined it.

    Its qualified name has a digest of the source, by which symbols of compiled code tell functions apart.
    """
    space = {"__name__": module, **names}
    exec(compile(source, kept_text(source, module, name), "exec", dont_inherit=True), space)
    function: Callable[..., Any] = space[name]
    function.__qualname__ = f"{name}_{digest_of(source)}"
    return function


def digest_of(source: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def kept_text(source: str, module: str, name: str) -> str:
    """Keep the text of a function for tracebacks, and return the file name to compile it with."""
    file_name = f"<{name} of {module}, {digest_of(source)}>"
    # no modification time: it would mean that there is a file to check
    linecache.cache[file_name] = len(source), None, source.splitlines(keepends=True), file_name
    return file_name
