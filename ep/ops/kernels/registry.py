"""The registry of kernels: the kernels of each operator, and the choice of the one that matches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from ep.include.additions import note_addition
from ep.include.errors import DuplicateRegistrationError, UnsupportedPrimitiveError
from ep.include.process import Rank, new_lock
from ep.ops.kernels.conditions import Predicate, Subject, always
from ep.ops.kernels.kernel import Kernel

M = TypeVar("M", bound=Callable[[Subject], Kernel])


class Registration(NamedTuple):
    """One kernel of an operator.

    make: makes the kernel of a subject that matches.
    """

    operator: str
    name: str
    matches: Predicate
    priority: int
    make: Callable[[Subject], Kernel]

    def __str__(self) -> str:
        return f"{self.name} (priority {self.priority}): {self.matches}"


_KERNELS: Final[dict[str, list[Registration]]] = {}
_LOCK: Final = new_lock(Rank.TABLE)
_LISTENERS: Final[dict[str, Callable[[], None]]] = {}


def register_kernel(
    operator: str, *, matches: Predicate | None = None, priority: int = 0, name: str = ""
) -> Callable[[M], M]:
    """Return a decorator that registers a Kernel, or a function that makes one of a Subject, for an operator.

    operator: the operator's name, such as "gather"; it may be declared later.
    matches: the condition under which it can compute; always by default.
    priority: among the kernels that match, the one of the highest priority computes.
    name: its name in lists; by default that of the class.

    Raises DuplicateRegistrationError if another kernel of the operator has the same priority and a condition that is
    the same, or is always true: they would tie. Other ties are found when a kernel is chosen.
    """
    condition = always() if matches is None else matches
    if not isinstance(condition, Predicate):
        raise TypeError(f"matches must be a condition, such as device_type() == DeviceType.kCPU, not {matches!r}")

    def register(make: M) -> M:
        added = Registration(operator, name or getattr(make, "__qualname__", ""), condition, priority, make)
        with _LOCK:
            kernels = _KERNELS.get(operator, [])
            for other in kernels:
                same = str(other.matches) == str(condition) or str(always()) in (str(other.matches), str(condition))
                if other.priority == priority and same:
                    raise DuplicateRegistrationError(
                        f"the kernel {added} of {operator} ties with {other}; give one of them another priority"
                    )
            _KERNELS[operator] = sorted([*kernels, added], key=lambda kernel: -kernel.priority)
            _LISTENERS.get(operator, _nothing)()  # with the lock: the listener must use the latest kernels
        note_addition(make)
        return make

    return register


def kernels_of(operator: str) -> list[Registration]:
    """Return the kernels of an operator, those of higher priority first."""
    return list(_KERNELS.get(operator, ()))


def when_registered(operator: str, forget: Callable[[], None]) -> None:
    """Call `forget` now, and whenever a kernel of an operator is registered, since the choice may change then.

    It must acquire no lock.
    """
    with _LOCK:
        _LISTENERS[operator] = forget
        forget()


def choose(operator: str, subject: Subject, kernels: Sequence[Registration] | None = None) -> Registration:
    """Return the kernel of the highest priority that matches.

    kernels: those of the operator, as `kernels_of` returns them; by default, all that are registered now.

    Raises UnsupportedPrimitiveError, with the reason for each kernel, if none matches, and DuplicateRegistrationError
    if several of the highest priority match.
    """
    kernels = kernels_of(operator) if kernels is None else kernels
    for candidate in kernels:
        if candidate.matches.holds(subject):
            ties = [one for one in kernels if one.priority == candidate.priority and one.matches.holds(subject)]
            if len(ties) > 1:
                listed = "; ".join(map(str, ties))
                raise DuplicateRegistrationError(f"kernels of {operator} tie for {_in_words(subject)}: {listed}")
            return candidate
    raise UnsupportedPrimitiveError(partial(_why_none, operator, kernels, subject))


def _why_none(operator: str, kernels: Sequence[Registration], subject: Subject) -> str:
    reasons = [(kernel, _first_reason(kernel, subject)) for kernel in kernels]
    named = [reason for _, reason in reasons] if len(reasons) == 1 else [f"{one.name}: {why}" for one, why in reasons]
    return f"{operator} has no kernel for {_in_words(subject)}: {'; '.join(named) or 'it has none'}"


def _first_reason(kernel: Registration, subject: Subject) -> str:
    """Return why a kernel does not match: the first failed part that consists of no others.

    The parts of what holds, such as a condition that must not be met, are no reason.
    """
    holding: float = math.inf  # the depth of the last part that holds, whose own parts follow it
    for part in kernel.matches.explain(subject):
        if part.depth > holding:
            continue
        holding = part.depth if part.holds else math.inf
        if not part.holds and part.why:
            return part.why
    return f"{kernel.matches} does not hold"


def _in_words(subject: Subject) -> str:
    types = ", ".join(f"{name} {data_type.dtype}" for name, data_type in subject.data_types.items())
    values = ", ".join(f"{name}={value!r}" for name, value in subject.attributes.items())
    return f"{types}{', ' * bool(values)}{values} on {subject.device_type.tag}"


def _nothing() -> None:
    """Do nothing: used for a name under which no operator is declared yet."""


__all__: list[Any] = ["Registration", "choose", "kernels_of", "register_kernel", "when_registered"]
