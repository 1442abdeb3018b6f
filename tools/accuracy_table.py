"""Writes the accuracy tables of the documentation from measurements: `python -m tools.accuracy_table`.

It reads the results of `python -m benchmarks.accuracy --json` in benchmarks/results/accuracy-float32.json and
accuracy-float64.json, and those of `python -m benchmarks.accuracy.sums --json` in accuracy-sums.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.testing import tolerances
from tools.generated import ROOT, updated, write

_DTYPES: Final = ("float32", "float64")
_NAMES: Final = ("ep", "numpy", "torch")
_TITLES: Final = {"ep": "ep", "numpy": "NumPy", "torch": "PyTorch"}


def files() -> dict[str, str]:
    """Return the contents of the files with the tables."""
    measured = {dtype: _read(dtype) for dtype in _DTYPES}
    tables = [("docs/accuracy.md", f"accuracy in {dtype}", _whole(measured[dtype])) for dtype in _DTYPES]
    tables.append(("docs/accuracy.md", "accuracy of softmaxes and sums", _sums(_read("sums"))))
    return updated(("docs/accuracy.md", "bounds of accuracy", _bounds()), *tables)


def _bounds() -> str:
    """Return the ops by their bounds in float32 and float64."""
    ops: dict[tuple[float, float], list[str]] = {}
    for op in tolerances.VECTOR_MATH_ULPS:
        float32, float64 = (
            tolerances.unary_ulps(op, scalar_type, tolerances.Library.VECTOR_MATH)
            for scalar_type in (np.float32, np.float64)
        )
        ops.setdefault((float32, float64), []).append(op.name)
    rows = [[", ".join(names), *(f"{bound:g}" for bound in bounds)] for bounds, names in sorted(ops.items())]
    return _markdown(("ops", *_DTYPES), rows)


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/accuracy-{name}.json").read_text())
    return document


def _whole(document: dict[str, Any]) -> str:
    """Return the largest and mean errors of all ops, and ep's worst argument."""
    columns = [
        "op",
        *(f"{_TITLES[name]} {figure}" for name in _NAMES for figure in ("max", "mean")),
        "ep's worst argument",
    ]
    rows = [
        [
            f"{result['op']}{' (*)' if result['slow_reference'] else ''}",
            *(_figure(result, name, figure) for name in _NAMES for figure in ("maximum", "mean")),
            repr(result["errors"]["ep"]["worst_argument"]),
        ]
        for result in document["results"]
    ]
    return f"{_about(document)}\n\n{_markdown(columns, rows)}"


def _sums(document: dict[str, Any]) -> str:
    """Return the largest errors of softmaxes, sums and means, in both types."""
    columns = ["of", *(f"{dtype} {_TITLES[name]}" for dtype in _DTYPES for name in _NAMES)]
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for result in document["results"]:
        label = f"{result['name']}, {result['of']}"
        found.setdefault(label, {})[result["dtype"]] = result
    rows = [
        [label, *(_figure(by_dtype[dtype], name, "maximum") for dtype in _DTYPES for name in _NAMES)]
        for label, by_dtype in found.items()
    ]
    about = f"Rows of {_listed(document['cols'])} columns; {_made_with(document)}"
    return f"{about}\n\n{_markdown(columns, rows)}"


def _listed(numbers: Sequence[int]) -> str:
    *most, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _about(document: dict[str, Any]) -> str:
    slow = [result["samples"] for result in document["results"] if result["slow_reference"]]
    counts = f"{document['samples']:,} arguments of each op"
    if slow:
        counts += f", {min(slow):,} where (*) says that the reference is evaluated number by number"
    return f"{counts}; {_made_with(document)}"


def _made_with(document: dict[str, Any]) -> str:
    versions = document["versions"]
    return (
        f"{document['machine']['processor']}, NumPy {versions['numpy']}, PyTorch {versions['torch']}, "
        f"Numba {versions['numba']}, {document['date'][:10]}."
    )


def _figure(result: dict[str, Any], name: str, figure: str) -> str:
    found = result["errors"].get(name)
    return f"{float(found[figure]):.3g}" if found else ""


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = "|---" + "|--:" * (len(columns) - 1) + "|"
    return "\n".join([f"| {' | '.join(columns)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    write(files())
