"""Writes the measurements into the documents: `python -m tools.performance_table`.

It reads benchmarks/results/NAME/host.json and avx2.json, which `python -m benchmarks.record NAME` wrote for each
machine. It writes a page for each machine, the list of machines, the README's figures, and its picture.
"""

from __future__ import annotations

import textwrap
from typing import Final

from benchmarks import report
from benchmarks.instructions import HOST
from tools.generated import updated, write
from tools.performance.page import page
from tools.performance.picture import picture
from tools.performance.records import newest, records

_FILE: Final = "docs/performance.md"
_PAGES: Final = "docs/performance"
_PICTURE: Final = "docs/pictures/ratios.svg"
_COLUMNS: Final = 118


def files() -> dict[str, str]:
    """Return the contents of the documents, of the page of each machine, and of the picture."""
    names = dict.fromkeys(record.name for record in records())
    parts = [("README.md", "encoder", _model()), ("README.md", "speed", _headline()), (_FILE, "machines", _machines())]
    return {f"{_PAGES}/{name}.md": page(name) for name in names} | {_PICTURE: picture(newest())} | updated(*parts)


def _headline() -> str:
    """Return the figure of the newest records of all primitives."""
    of_isa = newest()
    host = of_isa[HOST]
    avx2 = of_isa.get("avx2")
    only = f" With AVX2 only, against {len(avx2.document['peers'])} of them, it is {avx2.mean():.2f}." if avx2 else ""
    return textwrap.fill(
        f"For float32 arrays of at least {report.FROM:,} elements, the fastest of {len(host.document['peers'])} other "
        f"libraries takes {host.mean():.2f} times as long as `ep`: the geometric mean of "
        f"{len(host.primitives('float32'))} cases of all primitives, with {host.document['threads']} threads on an "
        f"{host.processor}.{only}",
        _COLUMNS,
    )


def _model() -> str:
    """Return a comparison of the newest record of the encoder with other libraries."""
    record = next(record for record in records() if record.isa == HOST and record.document.get("encoder"))
    times = [case["seconds"] for case in record.document["encoder"]["times"]]
    shares = {name: [one["ep"] / one[name] for one in times] for name in ("onnxruntime", "torch")}
    runtime, torch = (f"{min(found):.2f} to {max(found):.2f}" for found in shares.values())
    return textwrap.fill(
        f"`examples/encoder` runs a real model, MiniLM, on these primitives: on an {record.processor} it takes "
        f"{runtime} of the time of ONNX Runtime, and {torch} of the time of PyTorch.",
        _COLUMNS,
    )


def _machines() -> str:
    """Return a row for each record."""
    lines = [
        "| machine | instructions | measured | float32: cases, ratio, below 0.95 | kernels |",
        "|---|---|---|---|---|",
    ]
    for record in records():
        rated = record.primitives("float32")
        slow = sum(result["ratio"] < report.WANTED for result in rated)
        cells = (
            f"[{record.name}](performance/{record.name}.md), {record.processor}",
            "all" if record.isa == HOST else record.isa.upper(),
            record.document["date"][:10],
            f"{len(rated)}, {record.mean():.2f}, {slow}" if rated else "",
            "changed since" if record.kernels_changed else "as they are",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write(files())
