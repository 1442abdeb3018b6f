"""The cases that a device has primitives for. A device may have only a few primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ep.bench.case import Case
from ep.bench.trial import Trial, set_up
from ep.cli import names, output, present, text
from ep.include.device import Device
from ep.include.errors import EnvironmentVariableError
from ep.include.primitive import NewPrimitive, registered

T = TypeVar("T")


class Coverage:
    """The cases on a device: those that ran, those that failed, and those without a primitive."""

    def __init__(self, device: Device, cases: Sequence[Case], *, chosen: bool = False) -> None:
        """cases: to run, if the device has their primitives. chosen: whether the user chose them among all cases."""
        self.device, self.cases, self.label = device, cases, present.label(device)
        self._chosen = chosen
        self.ran: list[Case] = []
        self.left_out: list[Case] = []
        self.failures: list[str] = []

    def run(self, do: Callable[[Case, Trial], T], *, one_of_each: bool = False) -> list[T]:
        """Return the result of `do` for each case once it is set up; a case that raises is a failure, in one line.

        one_of_each: run only the first case of each primitive that the device has, and of each group of its cases.
        """
        made = []
        for case in self.cases:
            if one_of_each and any(_family(case) == _family(other) for other in self.ran):
                continue
            factory = names.factory_of(case.primitive)
            with output.status(f"{self.label}: {case.name}"):
                try:
                    if NewPrimitive(factory, self.device.device_type(), *case.key) is None:
                        self.left_out.append(case)
                        continue
                    trial = set_up(case, self.device, factory)
                except EnvironmentVariableError:
                    raise
                except Exception as error:  # a broken case must not hide the others
                    self._failed(case, error)
                    continue
                self.ran.append(case)
                made.append(do(case, trial))
        return made

    def _failed(self, case: Case, error: Exception) -> None:
        self.ran.append(case)
        self.failures.append(f"{case.primitive.__name__} ({case.name}): {present.one_line(error)}")

    def in_words(self) -> str:
        """Return the work that was not run, after `run`; an empty text if the cases and the device cover each other."""
        implemented = list(dict.fromkeys(entry.interface for entry in registered(self.device.device_type())))
        covered = {case.primitive for case in self.cases}
        if not self.ran:
            if not implemented:
                return f"{self.label} has no primitives"
            verb = "fits" if covered & set(implemented) else "covers"
            it = "it" if len(implemented) == 1 else "them"
            return f"{self.label} has {_listed(implemented)}; no case here {verb} {it}"
        said = [f"no primitives for {_in_words(self.left_out)}"] if self.left_out else []
        if rest := [interface for interface in implemented if interface not in covered and not self._chosen]:
            said.append(f"{_listed(rest)}, which no case here covers")
        return f"{self.label} has {'; and '.join(said)}" if said else ""


def _family(case: Case) -> tuple[type, str]:
    return case.primitive, case.group


def _listed(interfaces: Sequence[type]) -> str:
    return text.listed([interface.__name__ for interface in interfaces])


def _in_words(cases: Sequence[Case]) -> str:
    """Return cases as a text: `Gather (rows of 64, single elements), Expand (attention mask)`."""
    found: dict[str, list[str]] = {}
    for case in cases:
        found.setdefault(names.short_name(case.primitive), []).append(case.name)
    return ", ".join(f"{primitive} ({', '.join(of_it)})" for primitive, of_it in found.items())


def why_nothing_ran(coverages: Sequence[Coverage]) -> str:
    """Return why no device ran anything; an empty text if one did."""
    if any(coverage.ran for coverage in coverages):
        return ""
    return "nothing was run: " + "; ".join(coverage.in_words() for coverage in coverages)
