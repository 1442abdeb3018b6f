"""Writes ep/ops/__init__.pyi, which describes `ep.ops` to editors and type checkers: `python -m tools.ops_stub`.

The functions are made from declarations when `ep.ops` is imported.
"""

from __future__ import annotations

import inspect
import re
from typing import Final

import ep.ops
from ep.ops.declare.function import FUNCTIONS
from ep.ops.names import is_backward
from tools.generated import write

_FILE: Final = "ep/ops/__init__.pyi"
_HEAD: Final = '''"""The types of `ep.ops`. Written by tools/ops_stub.py."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

from ep.include.array_types import Array, ArrayLike, HostArray, HostArrayLike
from ep.include.data_type import DTypeLike
from ep.include.device_type import DeviceType
from ep.ops.indices import IndexMode
from ep.ops.resize import ResizeMode
from ep.ops.scatter_rows import Reduction
'''
_BLANKS: Final = "    "
_ARRAY: Final = re.compile(r"\bArray(Like)?\b")


def files() -> dict[str, str]:
    """Return the contents of the file."""
    others = sorted(set(ep.ops.__all__) - FUNCTIONS.keys())
    lines = [_HEAD.rstrip()]
    lines += [f"from {getattr(ep.ops, name).__module__} import {name} as {name}" for name in others]
    aliases = {name: function.__name__ for name, function in FUNCTIONS.items() if function.__name__ != name}
    for name in sorted(FUNCTIONS.keys() - aliases.keys(), key=lambda name: (is_backward(name), name)):
        meaning = (inspect.getdoc(FUNCTIONS[name]) or "").partition("\n\n")[0].replace("\n", f"\n{_BLANKS}")
        signature = inspect.signature(FUNCTIONS[name])
        definition = f"def {name}({_parameters(signature)}) -> {signature.return_annotation}:"
        if signature.return_annotation == "Array" and "ArrayLike" in definition:  # that of ndarrays is an ndarray
            lines += ["", "@overload", f"{_ARRAY.sub(_of_host, definition)}", f'{_BLANKS}"""{meaning}"""', "@overload"]
            lines += [f"{definition} ..."]
        else:
            lines += ["", definition, f'{_BLANKS}"""{meaning}"""']
    lines += ["", *(f"{alias} = {aliases[alias]}" for alias in sorted(aliases))]
    return {_FILE: "\n".join(lines) + "\n"}


def _of_host(array: re.Match[str]) -> str:
    return f"Host{array[0]}"


def _parameters(signature: inspect.Signature) -> str:
    found, keyword_only = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            keyword_only = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            found.append("*")
            keyword_only = True
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        found.append(f"{star}{parameter.name}: {parameter.annotation}{default}")
    return ", ".join(found)


if __name__ == "__main__":
    write(files())
