"""Writes the tables of elementary functions of the CPU's README: `python -m tools.vector_math_table`.

The functions are those of `names.py`. The gains of their extra forms are those that `python -m benchmarks.forms --json`
wrote to benchmarks/results/forms.json.
"""

from __future__ import annotations

import json
from typing import Final

from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64
from tools.generated import ROOT, updated, write

_FILE: Final = "ep/cpu/vector_math/README.md"
_MEASURED: Final = "benchmarks/results/forms.json"


def files() -> dict[str, str]:
    """Return the contents of the file with the tables."""
    return updated((_FILE, "functions", _functions()), (_FILE, "gains", _gains()))


def _functions() -> str:
    rows = [
        "| function | arithmetic | any processor | with tables | ordinary elements | bound |",
        "|---" * 6 + "|",
    ]
    for name in sorted(FLOAT64.keys() | FLOAT32.keys()):
        for arithmetic, names in (("float32", FLOAT32), ("float64", FLOAT64)):
            if forms := names.get(name):
                its = forms.names
                shown = its["computed"], its["tabled"], its["tabled_ordinary"] or its["ordinary"]
                places = " | ".join(_place(each) if each else "" for each in shown)
                rows.append(f"| {name} | {arithmetic} | {places} | {forms.ulps:g} |")
    return "\n".join(rows)


def _gains() -> str:
    """Return the gain of each form, at both numbers of elements, with AVX-512 and without it."""
    measured = json.loads((ROOT / _MEASURED).read_text())
    found: dict[tuple[str, str, str, str], dict[bool, str]] = {}
    for gain in measured["gains"]:
        key = gain["name"], gain["arithmetic"], gain["form"], gain["without"]
        found.setdefault(key, {})[gain["avx512"]] = ", ".join(f"{each:.0%}" for each in gain["gains"])
    small, large = (f"{count:,}" for count in measured["counts"])
    where = f"{measured['machine']['processor']}, Numba {measured['versions']['numba']}, {measured['date'][:10]}"
    rows = [
        f"{where}; of {small} and of {large} elements.\n",
        "| function | arithmetic | form | over | gains with AVX-512 | without |",
        "|---" * 6 + "|",
    ]
    for key, gains in sorted(found.items()):
        rows.append(f"| {' | '.join((*key, gains.get(True, ''), gains.get(False, '')))} |")
    return "\n".join(rows)


def _place(name: str) -> str:
    """Return the module of a function, as a path in the package."""
    return name.rpartition(".")[0].replace(".", "/")


if __name__ == "__main__":
    write(files())
