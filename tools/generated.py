"""Parts of the documentation that programs write: between two comments that name them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent


def block(name: str, text: str) -> str:
    """Return the part called `name`, with its comments around it."""
    return f"<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->"


def replace(file: str, text: str, program: str) -> int:
    """Make `text` the contents of a file, or with `--check` only compare; return the exit code."""
    path = ROOT / file
    if path.exists() and path.read_text() == text:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{file} is out of date; run python -m {program}", file=sys.stderr)
        return 1
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return 0


def update(file: str, name: str, text: str, program: str) -> int:
    """Replace the part called `name` by `text`, or with `--check` only compare; return the exit code."""
    path = ROOT / file
    contents = path.read_text()
    before, _, rest = contents.partition(f"<!-- {name}: begin -->")
    _, end, after = rest.partition(f"<!-- {name}: end -->")
    if not end:
        raise ValueError(f"{file} has no part called {name!r}")
    updated = before + block(name, text) + after
    if updated == contents:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{file}: the {name} is out of date; run python -m {program}", file=sys.stderr)
        return 1
    path.write_text(updated)
    return 0
