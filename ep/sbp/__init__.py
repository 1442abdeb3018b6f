"""SBP: the layout of a tensor on the ranks of a mesh: split along an axis, broadcast, or partial.

Along each axis of a mesh, a tensor has one SBP: `Split(0)`, `Broadcast()`, `PartialSum()`, `PartialMax()` or
`PartialMin()`, written and parsed as `S(0)`, `B`, `P`, `PMax` and `PMin`. Operators list their signatures: the
combinations of SBPs with which every rank can work on its own pieces and the result is right.
"""

from ep.sbp.boxing import Move, bytes_moved, moves
from ep.sbp.choice import Choice, choices, choose, problem_on_axis, signatures_on_axis
from ep.sbp.pieces import assemble, piece_shape, piece_sizes, pieces, span
from ep.sbp.reshaping import reshaped_sbps
from ep.sbp.routes import Step, piece_shape_on, region_on, route, sent
from ep.sbp.sbp import Broadcast, Partial, PartialMax, PartialMin, PartialSum, Sbp, Split, parse, parse_many
from ep.sbp.signature import Problem, SbpSignature, all_broadcast, follows_from, parse_signature

__all__ = [
    "Broadcast",
    "Choice",
    "Move",
    "Partial",
    "PartialMax",
    "PartialMin",
    "PartialSum",
    "Problem",
    "Sbp",
    "SbpSignature",
    "Split",
    "Step",
    "all_broadcast",
    "assemble",
    "bytes_moved",
    "choices",
    "choose",
    "follows_from",
    "moves",
    "parse",
    "parse_many",
    "parse_signature",
    "piece_shape",
    "piece_shape_on",
    "piece_sizes",
    "pieces",
    "problem_on_axis",
    "region_on",
    "reshaped_sbps",
    "route",
    "sent",
    "signatures_on_axis",
    "span",
]


def __dir__() -> list[str]:
    return __all__
