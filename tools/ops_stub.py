"""Writes ep/ops/__init__.pyi, by which editors and type checkers know the functions of ops: `python -m tools.ops_stub`.

The functions are made from the table of ops when `ep.ops` is imported. With `--check` it only looks.
"""

from __future__ import annotations

import inspect
import sys
from typing import Final

import ep.ops
from ep.ops import binary, unary
from ep.ops.names import ALIASES, function_name
from tools.generated import ROOT

_FILE: Final = "ep/ops/__init__.pyi"
_HEAD: Final = '''"""The types of `ep.ops`. Written by tools/ops_stub.py."""

from ep.include.arrays import Array as Array
from ep.include.arrays import ArrayLike
'''


def stub() -> str:
    """The contents of the file."""
    functions = unary.FUNCTIONS | binary.FUNCTIONS
    aliases = {alias: function_name(op) for op, alias in sorted(ALIASES.items(), key=lambda pair: pair[1])}
    others = sorted(set(ep.ops.__all__) - functions.keys() - aliases.keys())
    lines = [_HEAD.rstrip()]
    lines += [f"from {getattr(ep.ops, name).__module__} import {name} as {name}" for name in others]
    for name in sorted(functions):
        meaning = (functions[name].__doc__ or "").partition("\n\n")[0].replace("\n", "\n    ")
        lines += ["", f"def {name}({_parameters(inspect.signature(functions[name]))}) -> Array:"]
        lines += [f'    """{meaning}"""']
    lines += ["", *(f"{alias} = {name}" for alias, name in aliases.items())]
    return "\n".join(lines) + "\n"


def _parameters(signature: inspect.Signature) -> str:
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            found.append("*, out: Array | None = None")
        elif parameter.annotation is float:
            default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
            found.append(f"{parameter.name}: float{default}")
        else:
            found.append(f"{parameter.name}: ArrayLike")
    return ", ".join(found)


def main() -> int:
    """Rewrite the file, or with `--check` say whether it is up to date; return the exit code."""
    path = ROOT / _FILE
    if path.exists() and path.read_text() == stub():
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{_FILE} is out of date; run python -m tools.ops_stub", file=sys.stderr)
        return 1
    path.write_text(stub())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
