"""The drawing of a signature: the part of each tensor that each rank has."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ep.bench.plot import check_path, pyplot
from ep.sbp import Broadcast, Sbp, Split
from ep.sbp.pieces import span

MOST_RANKS: Final = 16
_COLORS: Final = {"split": "#7fb3d5", "all of it": "#a9dfbf", "partial": "#f5cba7"}

Dims = tuple[int, ...]


def draw(tensors: Mapping[str, tuple[Dims, Sequence[Sbp]]], mesh: Dims, title: str, path: Path) -> None:
    """Write a drawing with a row for each tensor and a column for each rank to `path`, in the format of its suffix.

    tensors: the shape of each, and its SBP along each axis of the mesh. A tensor is drawn by two of its axes: split
        axes come first. Raises ValueError for more than 16 ranks, and the errors of `check_path`.
    """
    ranks = list(itertools.product(*map(range, mesh)))
    if len(ranks) > MOST_RANKS:
        raise ValueError(f"{len(ranks)} ranks are too many to draw; at most {MOST_RANKS} are possible")
    check_path(path)
    plt = pyplot()
    size = (1.6 * len(ranks) + 1.6, 1.7 * len(tensors) + 1)
    figure, axes = plt.subplots(len(tensors), len(ranks), figsize=size, squeeze=False)
    for row, (name, (shape, places)) in zip(axes, tensors.items(), strict=True):
        rows, columns = _drawn_axes(shape, places)
        kind = _kind(places)
        for cell, rank in zip(row, ranks, strict=True):
            part = _extents(shape, places, mesh, rank)
            (top, height), (left, width) = (part[axis] if axis is not None else (0.0, 1.0) for axis in (rows, columns))
            cell.add_patch(plt.Rectangle((0, 0), 1, 1, fill=False, edgecolor="0.7", ls=":"))
            hatch = "//" if kind == "partial" else None
            cell.add_patch(
                plt.Rectangle((left, top), width, height, facecolor=_COLORS[kind], edgecolor="0.3", hatch=hatch)
            )
            cell.set(xlim=(-0.05, 1.05), ylim=(1.05, -0.05), xticks=[], yticks=[], aspect="equal")
            cell.axis("off")
        lies = ", ".join(map(str, places))
        label = f"{name}\n{' x '.join(map(str, shape)) or 'scalar'}\n{lies}"
        row[0].text(-0.15, 0.5, label, ha="right", va="center", fontsize=10)
    for cell, rank in zip(axes[0], ranks, strict=True):
        cell.set_title(f"rank {', '.join(map(str, rank))}", fontsize=10)
    used = list(dict.fromkeys(_kind(places) for _, places in tensors.values()))
    patches = [plt.Rectangle((0, 0), 1, 1, facecolor=_COLORS[kind], edgecolor="0.3") for kind in used]
    figure.legend(patches, used, loc="lower center", ncol=len(used), frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)


def _kind(places: Sequence[Sbp]) -> str:
    """Return the kind of pieces: partial values, parts, or the whole."""
    if not all(isinstance(one, Split | Broadcast) for one in places):
        return "partial"
    return "split" if any(isinstance(one, Split) for one in places) else "all of it"


def _drawn_axes(shape: Dims, places: Sequence[Sbp]) -> tuple[int | None, int | None]:
    """Return the axes that go down and across: those that are split, then the first ones."""
    split = [one.axis for one in places if isinstance(one, Split)]
    chosen = sorted([*dict.fromkeys([*split, *range(len(shape))])][:2])
    if len(chosen) == 2:
        return chosen[0], chosen[1]
    return None, chosen[0] if chosen else None


def _extents(shape: Dims, places: Sequence[Sbp], mesh: Dims, rank: Dims) -> list[tuple[float, float]]:
    """Return the begin and the length of a rank's piece along each axis, as fractions of the whole."""
    extents = [(0, size) for size in shape]
    for one, ranks, own in zip(places, mesh, rank, strict=True):
        if isinstance(one, Split):
            first, size = extents[one.axis]
            begin, end = span(size, ranks, own)
            extents[one.axis] = first + begin, end - begin
    return [
        (first / size, part / size) if size else (0.0, 0.0) for (first, part), size in zip(extents, shape, strict=True)
    ]
