"""Writes the table of elementary functions of the CPU's README, from their names: `python -m tools.vector_math_table`.

With `--check` it only looks.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64
from tools.generated import update

_FILE: Final = "ep/cpu/vector_math/README.md"
_PACKAGE: Final = "ep.cpu.vector_math."
_PROCESSORS: Final = ("computed", "tabled", "ordinary")


def parts() -> list[tuple[str, str, str]]:
    """(file, name of the part, text) of the table."""
    rows = [
        "| function | arithmetic | any processor | with tables | ordinary elements | bound | test |",
        "|---" * 7 + "|",
    ]
    for name in sorted(FLOAT64.keys() | FLOAT32.keys()):
        for arithmetic, names in (("float32", FLOAT32), ("float64", FLOAT64)):
            if forms := names.get(name):
                places = " | ".join(_place(getattr(forms, form)) for form in _PROCESSORS)
                rows.append(f"| {name} | {arithmetic} | {places} | {forms.ulps:g} | {forms.test} |")
    return [(_FILE, "functions", "\n".join(rows))]


def _place(function: Any) -> str:
    """The module that a compiled function is named in, as a path in the package."""
    if function is None:
        return ""
    modules = sorted(name for name in sys.modules if name.startswith(_PACKAGE))
    found = next(
        name
        for name in (function.__module__, *modules)
        if any(value is function for value in vars(sys.modules[name]).values())
    )
    return found.removeprefix(_PACKAGE).replace(".", "/")


def main() -> int:
    """Rewrite the table, or with `--check` say whether it is up to date; return the exit code."""
    return max(update(file, name, text, "tools.vector_math_table") for file, name, text in parts())


if __name__ == "__main__":
    raise SystemExit(main())
