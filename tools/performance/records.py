"""The measurements in benchmarks/results, one record for each machine and set of instructions."""

from __future__ import annotations

import json
import statistics
from functools import cache
from typing import Any, Final, NamedTuple

from benchmarks import machine, report
from benchmarks.options import ODD, PLACE, PRODUCTS, ROWS, SETS
from tools.generated import ROOT

Result = dict[str, Any]

EXTRA: Final = (ODD, PLACE, PRODUCTS, ROWS)
"""Groups with tables of their own."""

_RESULTS: Final = ROOT / "benchmarks/results"


class Record(NamedTuple):
    """The measurements on one machine with one set of instructions."""

    name: str
    isa: str
    document: dict[str, Any]
    results: list[Result]
    """One result for each case, from all runs."""

    @property
    def is_whole(self) -> bool:
        """Return whether every primitive was measured that any record has."""
        known = frozenset[str]().union(*(record.sets for record in records()))
        return self.sets >= known.intersection(SETS)

    @property
    def sets(self) -> frozenset[str]:
        """The sets whose cases were measured."""
        return frozenset(result["set"] for result in self.results)

    @property
    def kernels_changed(self) -> bool:
        """Return whether the kernels differ from those that were measured."""
        return bool(self.document.get("kernels") != machine.kernels())

    def primitives(self, dtype: str | None = None) -> list[Result]:
        """Return the results of primitives that have a ratio, without those of groups with tables of their own."""
        chosen = (result for result in self.results if result["ratio"] and result["set"] not in EXTRA)
        return [r for r in chosen if r["size"] >= report.FROM and dtype in (None, r["dtype"])]

    def mean(self) -> float:
        """Return the geometric mean of the ratios of all primitives in float32."""
        return statistics.geometric_mean(result["ratio"] for result in self.primitives("float32"))

    @property
    def processor(self) -> str:
        return " ".join(self.document["machine"]["processor"].replace("(R)", "").split())


@cache
def records() -> tuple[Record, ...]:
    """Return all records, the newest first."""
    found = []
    for path in sorted(_RESULTS.glob("*/*.json")):
        document = json.loads(path.read_text())
        found.append(Record(path.parent.name, path.stem, document, report.combined(document["runs"])))
    return tuple(sorted(found, key=lambda record: record.document["date"], reverse=True))


def newest() -> dict[str, Record]:
    """Return the newest records of all primitives on one machine, by set of instructions."""
    whole = [record for record in records() if record.is_whole]
    return {record.isa: record for record in whole if record.name == whole[0].name}
