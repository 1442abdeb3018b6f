"""The findings of `ep doctor`."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """One line of the report of `ep doctor`.

    what: the thing that was checked, in a word or two.
    verdict: "pass" or "fail"; empty if there is nothing to judge.
    """

    what: str
    verdict: Literal["pass", "fail", ""]
    details: str
