"""The lines in which steps of plans are shown, with the names of their values."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from ep.include.arrays import Placeholder
from ep.include.shown import shown
from ep.run.steps import VALUES, Call, Check, Launch, Step, Temporary, View, has_values, uses


def names_of(
    steps: Sequence[Step], returned: Sequence[Any] = (), given: Mapping[Any, str] | None = None
) -> dict[Any, str]:
    """Return the names of all values, and of arrays that are constants, by their id.

    returned: values that are used after the last step. given: names of operands and of constants, in this form.
    """
    found, made = dict(given or {}), 0
    for one in uses(steps, returned):
        if isinstance(one, Placeholder):
            found.setdefault(one, f"out{one.result or ''}" if one.number is None else f"x{one.number}")
        else:
            found[one] = f"{type(one).__name__[0].lower()}{made}"
            made += 1
    return found


def name_of(value: Any, names: Mapping[Any, str]) -> str:
    """Return the name of a value, or a constant as a text. names: as `names_of` returns them."""
    if has_values(value):
        return f"[{', '.join(name_of(one, names) for one in value)}]"
    if isinstance(value, VALUES):
        return names[value]
    return names.get(id(value)) or (shown(value) if getattr(value, "shape", ()) else str(value))


def lines_of(steps: Sequence[Step], names: Mapping[Any, str], before: Container[Any] = ()) -> Iterator[str]:
    """Yield a line for each step, and for each value that one makes, but those before. names: as of `names_of`."""
    found = uses(steps)
    values = [one for one in found if not isinstance(one, Placeholder) and one not in before][::-1]
    for number, step in enumerate(steps):
        while values and found[values[-1]][0] == number:
            one = values.pop()
            yield f"{names[one]} = {_made(one, names)}"
        if isinstance(step, Launch):
            yield f"{step.name}({', '.join(name_of(one, names) for one in step.arguments)})"
        elif isinstance(step, Call):
            operands, results = (f"[{', '.join(name_of(one, names) for one in some)}]" for some in step.arguments)
            yield f"{step.name}({operands}, {results})"


def _made(value: Any, names: Mapping[Any, str]) -> str:
    if isinstance(value, Temporary):
        return f"empty({value.shape}, {value.dtype})"
    if isinstance(value, Check):
        return f"check({name_of(value.indices, names)}, {value.size}, {value.mode!r})"
    source = name_of(value.source, names)
    if not isinstance(value, View):
        return f"{'filled' if value.is_number else 'as_buffer'}({source})"
    reshaped = value.places is value.axes is None
    return f"view({source}, {value.shape if reshaped else f'{value.places}, {value.axes}, {value.shape}'})"
