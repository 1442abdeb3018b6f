"""Parts of the documentation that programs write: whole files, and parts between two comments that name them.

Each program has a function `files`, and `python -m` writes them. `tests/test_project.py` compares all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent


def updated(*parts: tuple[str, str, str]) -> dict[str, str]:
    """Return files with other texts in parts of them. parts: a file, the name of the part, and its text."""
    found: dict[str, str] = {}
    for file, name, text in parts:
        begin, end = (f"<!-- {name}: {word} -->" for word in ("begin", "end"))
        before, _, rest = (found.get(file) or (ROOT / file).read_text(encoding="utf-8")).partition(begin)
        _, has_end, after = rest.partition(end)
        if not has_end:
            raise ValueError(f"{file} has no part called {name!r}")
        found[file] = f"{before}{begin}\n{text}\n{end}{after}"
    return found


def write(files: Mapping[str, str]) -> None:
    """Write the contents of files."""
    for file, text in files.items():
        (ROOT / file).parent.mkdir(exist_ok=True)
        (ROOT / file).write_text(text, encoding="utf-8")
