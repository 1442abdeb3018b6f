"""Writes the table of the supported ONNX operators: `python -m tools.onnx_table`, or with `--check`."""

from __future__ import annotations

import sys
from typing import Final

import onnx

from ep.onnx.table import OPERATORS
from tools.generated import update

_FILE: Final = "docs/onnx.md"
_OLDEST: Final = 7


def parts() -> list[tuple[str, str, str]]:
    """Return (file, name of the part, text) of the table."""
    lines = ["| operator | opsets |", "|---|---|"]
    meanings: dict[tuple[tuple[int, ...], str], list[str]] = {}
    first: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            first[schema.name] = min(schema.since_version, first.get(schema.name, schema.since_version))
    for name, found in sorted(OPERATORS.items()):
        since = sorted({max(line.since, _OLDEST, first[name]) for line in found})
        newest = onnx.defs.get_schema(name)
        end = f"to {newest.since_version - 1}" if newest.deprecated else "on"
        meanings.setdefault((tuple(since), end), []).append(name)
    for (since, end), names in sorted(meanings.items()):
        later = "".join(f", another meaning from {opset} on" for opset in since[1:])
        lines.append(f"| {', '.join(names)} | from {since[0]} {end}{later} |")
    return [(_FILE, "operators of ONNX", "\n".join(lines))]


def main() -> int:
    """Write the table; return the exit code."""
    return max(update(file, name, text, "tools.onnx_table") for file, name, text in parts())


if __name__ == "__main__":
    sys.exit(main())
