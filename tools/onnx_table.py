"""Writes the table of the supported ONNX operators: `python -m tools.onnx_table`."""

from __future__ import annotations

from typing import Final

import onnx

from ep.onnx.table import BY_DOMAIN, OPERATORS
from tools.generated import updated, write

_FILE: Final = "docs/onnx.md"
_OLDEST: Final = 7


def files() -> dict[str, str]:
    """Return the contents of the file with the table."""
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
    for domain, of_domain in sorted(BY_DOMAIN.items()):
        if domain:
            lines.append(f"| {', '.join(sorted(of_domain))} | of {domain}, all |")
    return updated((_FILE, "operators of ONNX", "\n".join(lines)))


if __name__ == "__main__":
    write(files())
