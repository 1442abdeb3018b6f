"""Suggestions for names that were not found."""

from collections.abc import Callable, Iterable
from importlib import import_module

import numpy as np

from ep.include.process import exclusively


def did_you_mean(name: str, known: Iterable[str], *, similar: bool = True) -> str:
    """Return `"; did you mean 'x' or 'y'?"` for the names in `known` closest to `name`, or an empty string.

    similar: whether names with a similar spelling are suggested, too.

    A name that another library has for a known one suggests that: "concatenate" means "concat". A name of up to three
    letters suggests only names with the same first letter: "gpu" does not mean "cpu".
    """
    difflib = exclusively(lambda: import_module("difflib"))  # not at the top: only errors need it
    folded, known = name.casefold(), [*known]
    synonyms = exclusively(lambda: import_module("ep.include.synonyms")).SYNONYMS
    if synonyms.get(folded) in known:
        return f"; did you mean {synonyms[folded]!r}?"
    if not similar:
        return ""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    near = [one for one in by_folded if len(folded) > 3 or one[:1] == folded[:1]]
    matches = [by_folded[match] for match in difflib.get_close_matches(folded, near, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def function_meant(name: str, known: Iterable[str]) -> str:
    """Return `did_you_mean` for the name of a function.

    A name of NumPy's suggests only a function that does the same: "cumsum" does not mean "sum".
    """
    return did_you_mean(name, known, similar=not hasattr(np, name))


def unknown_attribute(
    module: str, name: str, known: Iterable[str], meant: Callable[[str, Iterable[str]], str] = did_you_mean
) -> AttributeError:
    """Return the error for a name that a module does not have; see `did_you_mean`.

    A name that begins with an underscore suggests nothing: tools ask every module for names such as `__wrapped__`.
    """
    hint = "" if name.startswith("_") else meant(name, known)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
