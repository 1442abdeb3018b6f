"""Readers of SBPs and sizes in the arguments of a command."""

from __future__ import annotations

from argparse import ArgumentTypeError

from ep.sbp import Sbp, parse_many


def as_sbps(given: str) -> tuple[Sbp, ...]:
    """Return one SBP for each axis of a mesh, read from a text such as "S(0),B"."""
    try:
        return parse_many(given)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


class Sizes:
    """A reader of sizes with x between them."""

    def __init__(self, example: str) -> None:
        self._example = example

    def __call__(self, given: str) -> tuple[int, ...]:
        if not all(part.isdigit() for part in given.split("x")):
            raise ArgumentTypeError(f"{given!r} must be sizes with x between, such as {self._example}")
        return tuple(map(int, given.split("x")))
