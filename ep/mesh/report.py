"""Reports of the operators that ran on a mesh and of the bytes moved, by the cost model and as handed to MPI."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ep.sbp import Sbp, SbpSignature, Step, sent

_log = logging.getLogger("ep")


class Change(NamedTuple):
    """The resharding of one tensor.

    name: the operator's input, such as "gather params"; "to" for a change that the user asked for.
    """

    name: str
    shape: tuple[int, ...]
    source: tuple[Sbp, ...]
    target: tuple[Sbp, ...]
    steps: Sequence[Step]

    @property
    def bytes(self) -> int:
        """The bytes that all ranks together send, by the cost model."""
        return sent(self.steps)

    @property
    def what(self) -> str:
        """A short description of the change."""
        return f"{self.name} {self.shape}: {','.join(map(str, self.source))} to {','.join(map(str, self.target))}"

    def __str__(self) -> str:
        ways = ", ".join(f"{step.move.name} along axis {step.axis} of the mesh" for step in self.steps)
        return f"{self.what} by {ways}: {self.bytes} bytes"


class Run(NamedTuple):
    """One operator that ran, and its signature along each axis of the mesh."""

    name: str
    signatures: tuple[SbpSignature, ...]

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(map(str, self.signatures))}"


@dataclass
class Report:
    """The events on this rank while `reporting` was open.

    events: operators and changes, in order.
    sent: the bytes that this rank handed to MPI for other ranks, counted once for each receiving rank.
    staged: the places of arrays that went through memory of the host because MPI does not accept them.
    """

    events: list[Run | Change] = field(default_factory=list)
    sent: int = 0
    staged: set[str] = field(default_factory=set)

    @property
    def changes(self) -> list[Change]:
        """The tensors that were resharded."""
        return [one for one in self.events if isinstance(one, Change)]

    @property
    def bytes(self) -> int:
        """The bytes that all ranks together send, by the cost model."""
        return sum(one.bytes for one in self.changes)

    def __str__(self) -> str:
        total = f"in all {self.bytes} bytes, of which this rank sent {self.sent}"
        through = [f"arrays on {place} went through memory of the host" for place in sorted(self.staged)]
        return "\n".join([*map(str, self.events), total, *through])


_open: list[Report] = []


@contextmanager
def reporting() -> Iterator[Report]:
    """Report the work of operators on a mesh in a block: `with reporting() as report: ...; print(report)`."""
    report = Report()
    _open.append(report)
    try:
        yield report
    finally:
        _open.remove(report)


def note(event: Run | Change) -> None:
    """Add an event to the open reports."""
    for report in _open:
        report.events.append(event)


def count(bytes: int) -> None:
    """Add bytes that were handed to MPI to the open reports."""
    for report in _open:
        report.sent += bytes


def staged(place: str) -> None:
    """Record in the open reports, and once in the log, that arrays go through memory of the host."""
    _say_once(place)
    for report in _open:
        report.staged.add(place)


@cache
def _say_once(place: str) -> None:
    _log.warning("this MPI takes no memory of %s: arrays go through memory of the host", place)
