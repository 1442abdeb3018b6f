"""Writes the constants of the elementary functions: `python -m tools.constants` (half a minute).

With `--check` it only compares. The last bits of the pieces depend on NumPy's libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import log2
from textwrap import fill
from typing import Any, Final

from tools.constants import pieces
from tools.constants.common import COMMON
from tools.constants.double import COMPUTED, TABLED
from tools.constants.fit import Polynomial, Rational, fit, fit_rational
from tools.constants.narrow import NARROW
from tools.constants.parts import Parts
from tools.constants.single import OF_ROOT, SINGLE
from tools.generated import ROOT

MODULES: Final[dict[str, Callable[[], Mapping[str, Polynomial | Rational | Parts]]]] = {
    "ep/cpu/vector_math/coefficients.py": lambda: COMPUTED,
    "ep/cpu/vector_math/root_coefficients.py": lambda: OF_ROOT,
    "ep/cpu/vector_math/tabled/coefficients.py": lambda: TABLED,
    "ep/cpu/vector_math/single/coefficients.py": lambda: SINGLE,
    "ep/common/functor/coefficients.py": lambda: COMMON,
    "ep/cuda/compile/coefficients.py": lambda: NARROW,
}
_HEAD: Final = '''"""Constants, written by `python -m tools.constants`.

Of a polynomial: the coefficients, the constant one first; what it is, and how large its error is at most.
"""

from typing import Final
'''


def constants(name: str, problem: Polynomial | Rational | Parts) -> dict[str, tuple[str, Any]]:
    """Return (text, numbers) of the constants whose names are `name` or begin with it."""
    if isinstance(problem, Parts):
        return {name: (problem.text, problem.numbers)}
    if isinstance(problem, Rational):
        above, below, error = fit_rational(problem)
        text = f"{problem.text}, a quotient; {_error(error, problem.of)}."
        return {f"{name}_ABOVE": (text, above), f"{name}_BELOW": ("", below)}
    fitted = fit(problem)
    found: dict[str, tuple[str, Any]] = {
        name: (f"{problem.text}; {_error(fitted.error, problem.of)}.", fitted.coefficients)
    }
    if problem.two_parts:
        found[f"{name}_REST"] = ("What the first of them lacks.", fitted.first_rest)
    return found


def _error(error: float, of: str) -> str:
    return f"error 2^{log2(error):.1f} of {of}"


def module(problems: Mapping[str, Polynomial | Rational | Parts]) -> str:
    """Return the text of a module with all their constants."""
    lines = [_HEAD]
    for name, problem in problems.items():
        for constant, (text, numbers) in constants(name, problem).items():
            if text:
                lines.append(fill(text, 120, initial_indent="# ", subsequent_indent="# "))
            lines.append(f"{constant}: Final = {_written(numbers)}")
    return "\n".join(lines) + "\n"


def _written(numbers: Any) -> str:
    if not isinstance(numbers, tuple):
        return f"0x{numbers:X}" if isinstance(numbers, int) else repr(numbers)
    short = f"({', '.join(map(_written, numbers))})"
    if len(short) < 80:
        return short
    return "".join(["(\n", *(f"    {_written(number)},\n" for number in numbers), ")"])


def main() -> int:
    """Rewrite the modules, or with `--check` report which are out of date; return the exit code."""
    code = 0
    texts = {file: module(problems()) for file, problems in MODULES.items()} | pieces.modules()
    for file, text in texts.items():
        path = ROOT / file
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{file} is out of date; run python -m tools.constants", file=sys.stderr)
            code = 1
        else:
            path.write_text(text)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
